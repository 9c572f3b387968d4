"""All that a report page may show, as types: what has no field here cannot get onto a page.

The coordinator's page has no place for points. A site's page has one, for the site's own; it is
filled when the page is written and never stored in a result.
"""

import json
import math
from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np

from fedhull.disc.hull import minimal_hull
from fedhull.disc.points import check_curvature
from fedhull.disc.quantize import Quantizer
from fedhull.errors import InvalidInput
from fedhull.text import shortened

VERSION = 1
_LARGEST = 2**53


class _Part(msgspec.Struct, kw_only=True, frozen=True, forbid_unknown_fields=True):
    """A part of a page: unknown fields are refused."""


class Space(_Part, frozen=True, kw_only=True):
    """The disc and its bins."""

    epsilon: float
    radius: float
    curvature: float

    def __post_init__(self) -> None:
        if not 0.0 < self.radius * math.sqrt(check_curvature(self.curvature)) < 1.0:
            raise InvalidInput(f"radius must lie in the disc, got {self.radius!r}")
        assert self.quantizer.n_bins > 0  # made here, so that bad bins are refused here

    @property
    def quantizer(self) -> Quantizer:
        """The bins."""
        return Quantizer(self.epsilon, self.radius, self.curvature)


class Hull(_Part, frozen=True, kw_only=True):
    """A quantized hull: its label, the unnamed place that the label belongs to, the
    classifier's column for its class, its bins counter-clockwise."""

    label: int
    place: int
    column: int
    bins: list[int]


class SiteLine(_Part, frozen=True, kw_only=True):
    """A site and what became of it; counts of points only where whoever writes the page knows."""

    name: str
    fate: str
    taking_part: bool
    points_held: int | None = None
    points_guarded: int | None = None
    points_sent: int | None = None


class Check(_Part, frozen=True, kw_only=True):
    """Something that was checked, in words."""

    words: str
    passed: bool


class Sums(_Part, frozen=True, kw_only=True):
    """What travelled: so many power sums modulo a prime. Numbers beyond 2^53 are written out.
    Sites drew their places at random, or else agreed on an order."""

    n_sums: int
    field_bits: int
    modulus: str
    label_code: str
    labels: int
    places_drawn: bool = False


class SharedBin(_Part, frozen=True, kw_only=True):
    """A bin of the sum and how its value splits into label codes."""

    bin: str
    value: str
    labels: list[int]
    codes: list[str]


class Score(_Part, frozen=True, kw_only=True):
    """Test accuracy of a method in percent: mean, half width of the 95 % interval, trials."""

    name: str
    mean: float
    ci95: float
    trials: int


class Reliability(_Part, frozen=True, kw_only=True):
    """Test points on which the classifier was about equally sure: how sure, how often right."""

    confidence: float
    accuracy: float
    points: int


class Testing(_Part, frozen=True, kw_only=True):
    """How test points were classified: counts, rows the true class, columns the predicted one."""

    names: list[str]
    confusion: list[list[int]]
    reliability: list[Reliability]


class Tradeoff(_Part, frozen=True, kw_only=True):
    """The same study with another width of bins."""

    epsilon: float
    accuracy: float
    points_sent: int
    points_total: int


class ClassRow(_Part, frozen=True, kw_only=True):
    """A class at a site, in the site's own words: its cells, those kept for testing and left out by
    the guard, the groups that its hull is made of, its corners, the cells of the smallest group,
    and how many cells left with their own position; or why it was withheld."""

    name: str
    cells: int
    tested: int
    guarded: int
    groups: int
    corners: int
    smallest: int
    single: int
    withheld: str


class OwnPoints(_Part, frozen=True, kw_only=True):
    """A site's own points, float32 pairs, and the classifier's column of each, one byte."""

    xy: bytes
    columns: bytes
    of: int

    def __repr__(self) -> str:
        return f"OwnPoints({len(self.columns):,} of {self.of:,})"


class Table(_Part, frozen=True, kw_only=True):
    """A small table of plain text; a column of numbers is set flush right."""

    columns: list[str]
    rows: list[list[str]]

    def __post_init__(self) -> None:
        for row in self.rows:
            if len(row) != len(self.columns):
                raise InvalidInput(
                    f"a row must have as many cells as the table has columns, "
                    f"{len(self.columns)}, got {len(row)}"
                )


class Bar(_Part, frozen=True, kw_only=True):
    """A bar: its name, its length, compared with the other bars, and what is written beside it."""

    name: str
    value: float
    text: str

    def __post_init__(self) -> None:
        if not 0 <= self.value < math.inf:
            raise InvalidInput(f"a bar must have a length >= 0, got {self.value}")


class Section(_Part, frozen=True, kw_only=True):
    """A piece of a page: paragraphs, then a table, then bars, as far as it has them. All of it is
    shown as the text that it is; there is no way to put HTML in."""

    title: str
    paragraphs: list[str] = []
    table: Table | None = None
    bars: list[Bar] = []


class Page(_Part, frozen=True, kw_only=True, tag_field="page"):
    """What all pages show."""

    version: int = VERSION
    title: str
    study_hash: str
    made_at: str
    made_by: str
    parameters: dict[str, str]
    threshold: int
    sites: list[SiteLine]
    checks: list[Check]
    bytes_up: int | None = None
    bytes_down: int | None = None
    seconds: dict[str, float] = {}

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}({self.title!r}, {self.n_in_sum} of {len(self.sites)} sites, "
            f"study {self.study_hash[:12]}…)"
        )

    @property
    def private(self) -> bool:
        """Whether the page is for the eyes of one site only."""
        return False

    @property
    def n_in_sum(self) -> int:
        """How many sites took part to the end of the upload."""
        return sum(site.taking_part for site in self.sites)

    @property
    def n_gone(self) -> int:
        """How many sites on the roster are not in the sum."""
        return len(self.sites) - self.n_in_sum


class HullPage(Page, frozen=True, kw_only=True):
    """What all pages of studies of hulls show."""

    space: Space
    classes: list[str]
    model: dict[str, Any]
    hulls: list[Hull]
    sums: Sums
    shared_bin: SharedBin | None = None

    def __post_init__(self) -> None:
        n_bins = self.space.quantizer.n_bins
        for hull in self.hulls:
            if not 0 <= hull.column < len(self.classes):
                raise InvalidInput(
                    f"a hull must be of one of {len(self.classes)} classes, got {hull.column}"
                )
            if not all(1 <= j <= n_bins for j in hull.bins):
                raise InvalidInput(f"the bins of a hull must lie between 1 and {n_bins}")

    @property
    def points_sent(self) -> int:
        """Corners of all hulls on the page."""
        return sum(len(hull.bins) for hull in self.hulls)


class CoordinatorPage(HullPage, frozen=True, kw_only=True, tag="coordinator"):
    """What the coordinator has at the end of a study."""

    correct: int | None
    tested: int | None
    evaluators: int


class SitePage(HullPage, frozen=True, kw_only=True, tag="site"):
    """What a site has: its own hulls, and, when the page is written, its own points."""

    name: str
    points_held: int
    points_guarded: int
    correct: int
    tested: int
    testing: Testing | None = None
    points: OwnPoints | None = None
    by_class: list[ClassRow] = []

    @property
    def private(self) -> bool:
        """It says which hulls are the site's, and shows its points."""
        return True


class SimulationPage(HullPage, frozen=True, kw_only=True, tag="simulation"):
    """What a simulation knows: the coordinator's view, and how well it does on test points."""

    points_total: int
    points_guarded: int
    scores: list[Score]
    testing: Testing
    grouping_correct: float
    tradeoff: list[Tradeoff] = []


AnyHullPage = CoordinatorPage | SitePage | SimulationPage


class EncoderRound(_Part, frozen=True, kw_only=True):
    """A round of an encoder study: how many sites are in its sum, their mean loss per cell and
    gene, and what only one side knows: their cells together, or the site's own loss. A loss that
    is no finite number is None."""

    sites: int
    loss: float | None
    cells: int | None = None
    own_loss: float | None = None


class EncoderPage(Page, frozen=True, kw_only=True):
    """What all pages of encoder studies show."""

    start: str
    encoder: str
    weights: int
    genes: int
    rounds: list[EncoderRound]


class EncoderCoordinatorPage(EncoderPage, frozen=True, kw_only=True, tag="encoder-coordinator"):
    """What the coordinator has at the end of an encoder study."""


class EncoderSitePage(EncoderPage, frozen=True, kw_only=True, tag="encoder-site"):
    """What a site has: the same encoder, and its own loss."""

    name: str
    cells: int

    @property
    def private(self) -> bool:
        """It says how many cells the site holds, and its own loss."""
        return True


AnyPage = AnyHullPage | EncoderCoordinatorPage | EncoderSitePage


def page_to_json(page: AnyPage) -> dict[str, Any]:
    """Plain values, for the `report` key of a result."""
    return msgspec.to_builtins(page)


def page_from_json(content: Any, name: str) -> AnyPage:
    """The inverse of `page_to_json`, strictly checked."""
    if content is None:
        raise InvalidInput(
            f"{name} is not a fedhull result; name a result.json that demo, simulate, server or "
            f"client has written"
        )
    found = content.get("version") if isinstance(content, dict) else None
    if found != VERSION:
        raise InvalidInput(
            f"{name} holds no report that this fedhull can show: version {VERSION} is needed, "
            f"got {shortened(found)}; run the study or simulation again"
        )
    try:
        # a page can hold neither NaN nor halves of characters
        json.dumps(content, allow_nan=False, ensure_ascii=False).encode()
        _check_whole_numbers(content)
        return msgspec.convert(content, AnyPage)
    except (msgspec.ValidationError, ValueError, RecursionError) as problem:
        raise InvalidInput(f"the report in {name} is damaged: {problem}") from None


def _check_whole_numbers(content: Any) -> None:
    """Raise InvalidInput for a number that a page would round: larger ones are written out."""
    inner = content.values() if isinstance(content, dict) else content
    if isinstance(content, int) and abs(content) > _LARGEST:
        raise InvalidInput(f"whole numbers must be at most 2^53, got {shortened(content)}")
    if isinstance(content, dict | list):
        for value in inner:
            _check_whole_numbers(value)


def around(bins: Sequence[int], quantizer: Quantizer) -> list[int]:
    """The bins of a hull, counter-clockwise."""
    numbers = np.array(bins, dtype=np.int64)
    corners = minimal_hull(quantizer.decode(numbers), quantizer.curvature)
    return [int(number) for number in numbers[corners]]
