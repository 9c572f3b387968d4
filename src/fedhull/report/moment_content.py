"""What pages of studies of moments show: no points, no hulls, no bins, no labels."""

from fedhull.errors import InvalidInput
from fedhull.report.class_content import (
    ClassCoordinatorPage,
    ClassSimulationPage,
    ClassSitePage,
)
from fedhull.report.content import Part


class MaskedSum(Part, frozen=True, kw_only=True):
    """A masked sum: how many numbers each site sent, of how many bits each, and how many sites are
    in it; None if whoever writes the page does not know."""

    numbers: int | None
    bits: int
    sites: int | None


class NoiseLine(Part, frozen=True, kw_only=True):
    """What is read with noise in it: the standard deviation of the noise in each number, and how
    long a change one cell can make."""

    what: str
    deviation: float
    change: float


class Promise(Part, frozen=True, kw_only=True):
    """What noise hides, in words, and how much of it there is."""

    epsilon: float
    delta: float
    unit: str
    words: list[str]
    noise: list[NoiseLine]


class MomentFacts(Part, frozen=True, kw_only=True):
    """What was summed: in `match` what classes are like, unless names were agreed, in `centres`
    where classes are over all sites, each time that sites aligned themselves, in `learn` the
    moments of all cells. `cells` are the cells of each class over all sites, in the order of the
    page's classes, and `fewest` are those behind anything that left; None where whoever writes the
    page does not know. `promise` is what noise hides, if there is any."""

    features: int
    match: MaskedSum | None
    learn: MaskedSum
    centres: MaskedSum | None = None
    cells: list[int] | None = None
    fewest: int | None = None
    promise: Promise | None = None


class MomentPage:
    """What all pages of studies of moments have."""

    __slots__ = ()
    classes: list[str]
    moments: MomentFacts

    def __post_init__(self) -> None:
        cells = self.moments.cells
        if cells is not None and len(cells) != len(self.classes):
            raise InvalidInput(
                f"cells must be those of the {len(self.classes)} classes, got {len(cells)} numbers"
            )


class MomentCoordinatorPage(
    MomentPage, ClassCoordinatorPage, frozen=True, kw_only=True, tag="moment-coordinator"
):
    """What the coordinator has at the end of a study of moments."""

    moments: MomentFacts


class MomentSitePage(MomentPage, ClassSitePage, frozen=True, kw_only=True, tag="moment-site"):
    """What a site has."""

    moments: MomentFacts


class MomentSimulationPage(
    MomentPage, ClassSimulationPage, frozen=True, kw_only=True, tag="moment-simulation"
):
    """What a simulation of a study of moments knows."""

    moments: MomentFacts


AnyMomentPage = MomentCoordinatorPage | MomentSitePage | MomentSimulationPage
