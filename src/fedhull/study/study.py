"""The study file: public, human-readable, identical for all participants. It *is* the settings.

Whatever can be chosen has its name, its rule and its default here and nowhere else; `simulate`,
`plan` and the command line take them from here.
"""

from functools import cached_property
from typing import Annotated, Any, ClassVar, NamedTuple

import msgspec

from fedhull.codes.coding import Coding, check_code_name, choose_coding
from fedhull.disc.quantize import Quantizer
from fedhull.errors import InvalidInput
from fedhull.learn.grouping import GROUPINGS
from fedhull.learn.guard import Guard
from fedhull.learn.model import CLASSIFIERS
from fedhull.protocol.agreement import Agreement, Cohort, Part
from fedhull.study.privacy import Privacy
from fedhull.study.promise import check_disc, check_names, check_promise, check_texts
from fedhull.study.summaries import HULLS, SUMMARIES

_ROUNDED_TO = 8
# n sites draw their places from n²·2^20, if bins and labels can still be numbered, or at least
# n²·2^10: two of them draw the same once in 2^21 sessions, or 2^11.
_RARE_BITS, _RARE_BITS_LEAST = 20, 10

Sha256 = Annotated[str, msgspec.Meta(pattern=r"^[0-9a-f]{64}\Z")]
# a number that TOML and JSON can both write: not infinity
Positive = Annotated[float, msgspec.Meta(gt=0, le=1.7976931348623157e308)]
MOST_BINS = 1_000_000
Count = Annotated[int, msgspec.Meta(ge=1, le=1_000_000)]
Seed = Annotated[int, msgspec.Meta(ge=0, le=2**32 - 1)]


class Attachment(NamedTuple):
    """A file that every kit has beside the study, which names it by its SHA-256: the table and key
    where that stands, what the file is called in a kit, and how to pass it on."""

    table: str
    key: str
    file: str
    words: str


class Embedding(Part, frozen=True, kw_only=True):
    """Where points come from: the SHA-256 of the encoder file that all sites place cells with."""

    encoder: Sha256


class Geometry(Part, frozen=True, kw_only=True, dict=True):
    """Where the points lie and how wide a bin is. Only hulls have bins; studies of them must say
    which radius holds all points."""

    epsilon: Positive = 0.01
    radius: Annotated[float, msgspec.Meta(ge=0, le=1.7976931348623157e308)] = 0.0
    curvature: Positive = 1.0

    def __post_init__(self) -> None:
        check_disc(self.radius, self.curvature)

    @cached_property
    def quantizer(self) -> Quantizer:
        """The bins that all participants number alike."""
        return Quantizer(self.epsilon, self.radius, self.curvature)


class Labels(Part, frozen=True, kw_only=True):
    """How many classes a site may have, and how their labels are coded."""

    classes: Count
    code: str = "auto"

    def __post_init__(self) -> None:
        check_code_name(self.code)


class Classes(Part, frozen=True, kw_only=True):
    """The names of all classes, if the sites have agreed on them: then nobody has to find out which
    site's class is which other's."""

    names: list[Annotated[str, msgspec.Meta(min_length=1, max_length=200)]] = msgspec.field(
        default_factory=list
    )

    def __post_init__(self) -> None:
        if len(set(self.names)) < len(self.names):
            raise InvalidInput("[classes] names must be different from each other")


class Rules(Cohort, frozen=True, kw_only=True):
    """How the protocol runs over hulls."""

    spare_sums: Annotated[int, msgspec.Meta(ge=2, le=1000)] = 4
    most_bins: Annotated[int, msgspec.Meta(ge=1, le=MOST_BINS)] = 20_000


class Disclosure(Part, frozen=True, kw_only=True):
    """What a site lets out at all, whatever the coordinator asks for.

    Nothing leaves that is made of fewer than `min_cells` cells, or of cells of fewer than
    `min_donors` donors where the data say whose they are: such classes are withheld. Every point
    that leaves is the mean of at least `group` cells; 0 stands for as many as `min_cells`. No more
    points leave than the share `max_share` of the cells that the site holds.
    """

    min_cells: Count = 5
    group: Annotated[int, msgspec.Meta(ge=0, le=1_000_000)] = 0
    min_donors: Count = 2
    max_share: Annotated[float, msgspec.Meta(gt=0, le=1)] = 1.0

    @property
    def group_size(self) -> int:
        """How many cells stand behind every point that leaves, at least."""
        return self.group or self.min_cells


class Learning(Part, frozen=True, kw_only=True):
    """What sites send of their classes and keep for testing, and how the coordinator learns.

    `summary` is what they send: hulls, which leave out what `guard` says and of whose corners
    `method` learns, with the `strength` λ of the paper's SVMs; or moments of so many `features`.
    So many times sites `align` themselves to the centres of all classes before that; −1 stands for
    twice with moments and never with hulls, which then take one sum, as in the paper.
    Of every class, sites hold the share `holdout` of their cells out, if that makes 20 cells or
    more at a site, and with a `ballot` judge candidates on them before a model is published.
    `classes` is the number of classes over all sites; with 0 it is found. `summary`, `method`,
    `grouping` and `guard` are names of registered parts; except for the first, a rehearsal may be
    given the parts themselves.
    """

    summary: str = HULLS
    classes: Annotated[int, msgspec.Meta(ge=0, le=1_000_000)] = 0
    features: Annotated[int, msgspec.Meta(ge=2, le=4_096)] = 128
    align: Annotated[int, msgspec.Meta(ge=-1, le=2)] = -1
    method: Any = "lorentz"
    grouping: Any = "matching"
    guard: Any = "edit+trim:0.1+group"
    strength: Positive = 0.1
    holdout: Annotated[float, msgspec.Meta(ge=0, lt=1)] = 0.15
    ballot: bool = True
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
    def has_bins(self) -> bool:
        """Whether sites send points, rounded to bins."""
        return self.learning.summary == HULLS

    @property
    def alignments(self) -> int:
        """How many times sites align themselves to the centres of all classes: never, where noise
        would have to hide a cell at the rim, which outweighs hundreds in the middle."""
        chosen = self.learning.align
        return chosen if chosen >= 0 else 0 if self.has_bins or self.privacy else 2

    @property
    def quantizer(self) -> Quantizer:
        """The bins that all participants number alike."""
        return self.geometry.quantizer

    @property
    def agreed(self) -> list[str]:
        """The names of all classes, if the sites have agreed on them."""
        return self.classes.names

    @property
    def n_classes(self) -> int:
        """How many classes there are over all sites; 0 if that is to be found."""
        return self.learning.classes

    @property
    def guard(self) -> Guard:
        """What sites leave out of hulls, and in what groups their cells leave."""
        return Guard.of(self.learning.guard).grouping(self.disclosure.group_size)

    @cached_property
    def coding(self) -> Coding:
        """The label code and field: `classes` labels for every site on the roster, from a space in
        which two sites that draw a place at random hardly ever draw the same."""
        n_labels = self.labels.classes * len(self.clients)
        return choose_coding(n_labels, self.quantizer.n_bins, self.labels.code, self.spread)

    @property
    def spread(self) -> tuple[int, int]:
        """How many times as many labels there are as are used, at least and at most."""
        n = len(self.clients)
        return n << _RARE_BITS_LEAST, n << _RARE_BITS

    @property
    def places(self) -> int:
        """How many places there are for sites: each has as many labels as a site has classes. They
        are fewer where labels and bins have to be numbered together."""
        most = len(self.clients) * self.spread[1]
        return self.coding.space // self.labels.classes if self.has_bins else most

    @property
    def draws_places(self) -> bool:
        """Whether sites draw their places at random, so that nobody knows whose is whose; otherwise
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
        """How many corners all sites may announce together."""
        return announced_corners(self.protocol.most_bins) * len(self.clients)

    def sums_for(self, corners: int) -> int:
        """How many power sums determine, and check, hulls with so many corners in all."""
        return self.coding.length(corners, self.protocol.spare_sums)


def announced_corners(n_corners: int) -> int:
    """What a site adds to the total that all sites learn: how many corners it has, rounded up."""
    return -(-n_corners // _ROUNDED_TO) * _ROUNDED_TO
