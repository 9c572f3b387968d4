"""What pages of studies of hulls show."""

from collections.abc import Sequence

import msgspec
import numpy as np

from fedhull.disc.hull import minimal_hull
from fedhull.disc.quantize import Quantizer
from fedhull.errors import InvalidInput
from fedhull.report.class_content import (
    ClassCoordinatorPage,
    ClassSimulationPage,
    ClassSitePage,
    Disc,
)
from fedhull.report.content import Part


class Space(Disc, frozen=True, kw_only=True):
    """The disc and its bins."""

    radius: float
    epsilon: float

    def __post_init__(self) -> None:
        super().__post_init__()
        assert self.quantizer.n_bins > 0  # made here, so that bad bins are refused here

    @property
    def quantizer(self) -> Quantizer:
        """The bins."""
        return Quantizer(self.epsilon, self.radius, self.curvature)


class Hull(Part, frozen=True, kw_only=True):
    """A quantized hull: its label, the unnamed place that the label belongs to, the
    classifier's column for its class, its bins counter-clockwise."""

    label: int
    place: int
    column: int
    bins: list[int]


class Sums(Part, frozen=True, kw_only=True):
    """What travelled: so many power sums modulo a prime. Numbers beyond 2^53 are written out.
    Sites drew their places at random, or else agreed on an order."""

    n_sums: int
    field_bits: int
    modulus: str
    label_code: str
    labels: int
    places_drawn: bool


class SharedBin(Part, frozen=True, kw_only=True):
    """A bin of the sum and how its value splits into label codes."""

    bin: str
    value: str
    labels: list[int]
    codes: list[str]


class Tradeoff(Part, frozen=True, kw_only=True):
    """The same study with another width of bins."""

    epsilon: float
    accuracy: float
    points_sent: int
    points_total: int


class HullPage:
    """What all pages of studies of hulls have. Structs cannot have two bases with fields, so each
    page lists these fields itself."""

    __slots__ = ()
    space: Space
    classes: list[str]
    hulls: list[Hull]
    sums: Sums
    shared_bin: SharedBin | None

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


class CoordinatorPage(HullPage, ClassCoordinatorPage, frozen=True, kw_only=True, tag="coordinator"):
    """What the coordinator has at the end of a study of hulls."""

    space: Space
    hulls: list[Hull]
    sums: Sums
    shared_bin: SharedBin | None = None


class SitePage(HullPage, ClassSitePage, frozen=True, kw_only=True, tag="site"):
    """What a site has: its own hulls."""

    space: Space
    hulls: list[Hull]
    sums: Sums
    shared_bin: SharedBin | None = None
    points_guarded: int


class SimulationPage(HullPage, ClassSimulationPage, frozen=True, kw_only=True, tag="simulation"):
    """What a simulation of a study of hulls knows."""

    space: Space
    hulls: list[Hull]
    sums: Sums
    shared_bin: SharedBin | None = None
    points_guarded: int
    tradeoff: list[Tradeoff] = msgspec.field(default_factory=list)


AnyHullPage = CoordinatorPage | SitePage | SimulationPage


def around(bins: Sequence[int], quantizer: Quantizer) -> list[int]:
    """The bins of a hull, counter-clockwise."""
    numbers = np.array(bins, dtype=np.int64)
    corners = minimal_hull(quantizer.decode(numbers), quantizer.curvature)
    return [int(number) for number in numbers[corners]]
