"""The study file: public, human-readable, identical for all participants. It *is* the settings.

Whatever can be chosen has its name, its rule and its default here and nowhere else; `simulate`,
`plan` and the command line take them from here.
"""

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Annotated, Any, ClassVar, NamedTuple

import msgspec
import numpy as np
from msgspec import Meta

from fedhull.codes.coding import Coding, check_code_name, choose_coding
from fedhull.disc.quantize import Quantizer
from fedhull.errors import InvalidInput
from fedhull.learn.grouping import GROUPINGS
from fedhull.learn.guard import Guard
from fedhull.learn.model import CLASSIFIERS
from fedhull.protocol.agreement import Agreement, Cohort, Part
from fedhull.registry import Registry
from fedhull.study.dp import Privacy
from fedhull.study.promise import check_disc, check_names, check_promise, check_texts

# What sites can send of their classes, by name: subclasses of `rounds.learning.Summary`.
SUMMARIES: Registry[Any] = Registry("summary", "fedhull.summaries")
# fedhull's own; the first is the one that rounds points to bins.
HULLS, MOMENTS = "hulls", "moments"
_ROUNDED_TO = 8
# n sites draw their places from n²·2^20, if bins and labels can still be numbered, or at least
# n²·2^10: two of them draw the same once in 2^21 sessions, or 2^11.
_RARE_BITS, _RARE_BITS_LEAST = 20, 10

Sha256 = Annotated[str, Meta(pattern=r"^[0-9a-f]{64}\Z")]
# a number that TOML and JSON can both write: not infinity
Positive = Annotated[float, Meta(gt=0, le=1.7976931348623157e308)]
MOST_BINS = 1_000_000
Count = Annotated[int, Meta(ge=1, le=1_000_000)]
Seed = Annotated[int, Meta(ge=0, le=2**32 - 1)]


class Attachment(NamedTuple):
    """A file that every kit has beside the study, which names it by its SHA-256: the table and key
    where that stands, what the file is called in a kit, and how to pass it on."""

    table: str
    key: str
    file: str
    words: str


class Embedding(Part, frozen=True, kw_only=True):
    """Source of the points: SHA-256 of the encoder file with which all sites place cells."""

    encoder: Sha256


class Geometry(Part, frozen=True, kw_only=True, dict=True):
    """The region of the points and the width of a bin. Only hulls have bins; studies of them must
    give a radius that holds all points."""

    epsilon: Annotated[Positive, Meta(description="Width of a bin, ε.")] = 0.01
    radius: Annotated[
        float,
        Meta(ge=0, le=1.7976931348623157e308, description="All points lie within this radius, R."),
    ] = 0.0
    curvature: Annotated[Positive, Meta(description="k; the space has curvature −k.")] = 1.0

    def __post_init__(self) -> None:
        check_disc(self.radius, self.curvature)

    @cached_property
    def quantizer(self) -> Quantizer:
        """The bins that all participants number alike."""
        return Quantizer(self.epsilon, self.radius, self.curvature)


class Labels(Part, frozen=True, kw_only=True):
    """Maximum number of classes of a site, and the code of their labels."""

    classes: Count
    code: Annotated[str, Meta(description="auto, pairs, binary or bose-chowla:H.")] = "auto"

    def __post_init__(self) -> None:
        check_code_name(self.code)


class Classes(Part, frozen=True, kw_only=True):
    """The names of all classes, if the sites have agreed on them: then nobody has to find out which
    site's class is which other's. Otherwise classes are numbered, and each site names them in its
    own words."""

    names: list[Annotated[str, Meta(min_length=1, max_length=200)]] = msgspec.field(
        default_factory=list
    )

    def __post_init__(self) -> None:
        if len(set(self.names)) < len(self.names):
            raise InvalidInput("[classes] names must be different from each other")

    def count_or(self, n: int) -> int:
        """The number of agreed names, or n if there are none."""
        return len(self.names) or n

    def name_of(self, number: int) -> str:
        """The name of a class that has this number, from 0."""
        return self.names[number] if self.names else f"class {number + 1}"

    def in_words(self, numbers: np.ndarray) -> np.ndarray:
        """The agreed names of classes (n,), or their numbers as they are."""
        return np.array(self.names)[numbers] if self.names else numbers

    def labels_for(
        self, classes: Sequence[Any], labels: range, lots: Mapping[int, bytes]
    ) -> list[int]:
        """The labels of a site's classes: those of their names, or as many as there are classes in
        the order of lots, so that the order of the site's classes tells nothing."""
        if self.names:
            return [labels[self.names.index(name)] for name in classes]
        return sorted(labels, key=lots.__getitem__)[: len(classes)]

    def numbers_of_labels(self, positions: Sequence[int]) -> list[int] | None:
        """The classes of labels that stand at these positions among those of their places; None if
        that has to be found out."""
        return list(positions) if self.names else None

    def numbers_of(
        self, classes: Sequence[Any], several: Mapping[str, Sequence[str]]
    ) -> list[list[int]]:
        """The numbers of the agreed names that each of a site's classes stands for."""
        return [[self.names.index(n) for n in several.get(name, [name])] for name in classes]


class Rules(Cohort, frozen=True, kw_only=True):
    """Settings of the protocol over hulls."""

    spare_sums: Annotated[int, Meta(ge=2, le=1000)] = 4
    most_bins: Annotated[int, Meta(ge=1, le=MOST_BINS)] = 20_000


class Disclosure(Part, frozen=True, kw_only=True):
    """The rules by which classes and cells are withheld, whatever the coordinator asks for: every
    point that leaves is the mean of at least `group` cells, and classes with too few cells or
    donors do not leave at all."""

    min_cells: Annotated[
        Count, Meta(description="Minimum number of cells behind anything a site sends.")
    ] = 5
    group: Annotated[
        int, Meta(ge=0, le=1_000_000, description="Cells behind a point; 0: --min-cells.")
    ] = 0
    min_donors: Annotated[
        Count, Meta(description="Minimum number of donors, where they are known.")
    ] = 2
    max_share: Annotated[
        float, Meta(gt=0, le=1, description="Maximum share of points that leave, of cells.")
    ] = 1.0

    @property
    def group_size(self) -> int:
        """The fewest cells behind any point that leaves."""
        return self.group or self.min_cells


class Learning(Part, frozen=True, kw_only=True):
    """Settings for what sites send of their classes and hold out, and for learning.

    `classes` is the number of classes over all sites; with 0 it is found. Sites hold cells out if
    that makes 20 or more at a site. `summary`, `method`, `grouping` and `guard` are names of
    registered parts; except for the first, a rehearsal may be given the parts themselves.
    """

    summary: Annotated[str, Meta(description="hulls, moments, or one you installed.")] = HULLS
    classes: Annotated[int, Meta(ge=0, le=1_000_000)] = 0
    features: Annotated[int, Meta(ge=2, le=4_096, description="Maximum number of features, D.")] = (
        128
    )
    align: Annotated[
        int, Meta(ge=-1, le=2, description="Rounds of alignment; -1: two with moments, else none.")
    ] = -1
    method: Annotated[
        Any, Meta(description="lorentz, poincare-svm, euclidean-svm, or one you installed.")
    ] = "lorentz"
    grouping: Annotated[
        Any, Meta(description="matching, kernighan-lin, spectral, or one you installed.")
    ] = "matching"
    guard: Annotated[
        Any, Meta(description="none, or parts joined by +: edit, trim:F, group:K, your own.")
    ] = "edit+trim:0.1+group"
    strength: Annotated[Positive, Meta(description="λ of the paper's SVMs.")] = 0.1
    holdout: Annotated[
        float, Meta(ge=0, lt=1, description="Share of cells held out for testing.")
    ] = 0.15
    ballot: Annotated[
        bool, Meta(description="Let sites judge candidates before a model is published.")
    ] = True
    seed: Seed = 0

    def __post_init__(self) -> None:
        check_names(method=self.method, grouping=self.grouping, guard=self.guard)
        SUMMARIES.check(self.summary)
        CLASSIFIERS.check(self.method)
        GROUPINGS.check(self.grouping)
        Guard.of(self.guard)


class Study(Agreement, frozen=True, kw_only=True, dict=True):
    """A study that learns a classifier from what sites send of their classes."""

    attachment: ClassVar[Attachment] = Attachment(
        "embedding", "encoder", "encoder.npz", "its encoder's file: --encoder FILE"
    )

    geometry: Geometry = Geometry()
    labels: Labels
    classes: Classes = Classes()
    protocol: Rules = Rules()
    disclosure: Disclosure = Disclosure()
    learning: Learning = Learning()
    embedding: Embedding | None = None
    privacy: Privacy | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        check_texts(self)
        check_promise(self)

    @property
    def attached(self) -> str | None:
        """The SHA-256 of the encoder that sites place their cells with, if there is one."""
        return None if self.embedding is None else self.embedding.encoder

    @property
    def donors(self) -> str | None:
        """The column that says whose cells they are, if those of a donor are protected together."""
        return None if self.privacy is None else self.privacy.donors

    @property
    def has_bins(self) -> bool:
        """True if sites send points, rounded to bins."""
        return self.learning.summary == HULLS

    @property
    def alignments(self) -> int:
        """Number of times sites align themselves to the centres of all classes: 0 where noise would
        have to hide a cell at the rim, which outweighs hundreds in the middle."""
        chosen = self.learning.align
        return chosen if chosen >= 0 else 0 if self.has_bins or self.privacy else 2

    @property
    def quantizer(self) -> Quantizer:
        """The bins that all participants number alike."""
        return self.geometry.quantizer

    @property
    def n_classes(self) -> int:
        """Number of classes over all sites; 0 if that is to be found."""
        return self.learning.classes

    @property
    def guard(self) -> Guard:
        """The rule for what hulls leave out, and for the groups in which cells leave."""
        return Guard.of(self.learning.guard).grouping(self.disclosure.group_size)

    @cached_property
    def coding(self) -> Coding:
        """The label code and field: `classes` labels for every site on the roster, from a space in
        which two sites that draw a place at random hardly ever draw the same."""
        n_labels = self.labels.classes * len(self.clients)
        return choose_coding(n_labels, self.quantizer.n_bins, self.labels.code, self.spread)

    @property
    def spread(self) -> tuple[int, int]:
        """Ratio of labels to draw from to labels used, at least and at most."""
        n = len(self.clients)
        return n << _RARE_BITS_LEAST, n << _RARE_BITS

    @property
    def places(self) -> int:
        """Number of places for sites, each with as many labels as a site has classes; fewer where
        labels and bins have to be numbered together."""
        most = len(self.clients) * self.spread[1]
        return self.coding.space // self.labels.classes if self.has_bins else most

    @property
    def draws_places(self) -> bool:
        """True if sites draw their places at random, so that nobody knows whose is whose; otherwise
        the sites agree on an order (App. B), which is hidden from the server only."""
        return self.places > len(self.clients)

    @property
    def tolerated(self) -> int:
        """As in any study; but a site that knows the order can say whose hulls are whose."""
        return super().tolerated if self.draws_places else 0

    def place_of(self, label: int) -> int:
        """The place that a label belongs to, from 0."""
        return label // self.labels.classes

    def labels_of(self, place: int) -> range:
        """The labels of a place."""
        return range(place * self.labels.classes, (place + 1) * self.labels.classes)

    @property
    def most_corners(self) -> int:
        """Maximum number of corners that all sites may announce together."""
        return announced_corners(self.protocol.most_bins) * len(self.clients)

    def sums_for(self, corners: int) -> int:
        """Number of power sums that determine, and check, hulls with this many `corners` in all."""
        return self.coding.length(corners, self.protocol.spare_sums)


def announced_corners(n_corners: int) -> int:
    """A site's number of corners, rounded up, as it enters the total that all sites learn."""
    return -(-n_corners // _ROUNDED_TO) * _ROUNDED_TO
