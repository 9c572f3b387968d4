"""What pages of studies of classes show, whatever the sites send of them: the disc, the classifier,
whose class was taken for whose, and how well the classifier does."""

import math
from typing import Annotated, Any

import msgspec
import numpy as np

from fedhull.disc.isometry import Isometry
from fedhull.disc.maps import distance
from fedhull.disc.points import check_curvature
from fedhull.errors import InvalidInput
from fedhull.report.content import Page, Part


class Disc(Part, frozen=True, kw_only=True):
    """The disc, and which radius holds all points, if the study says so."""

    radius: float | None
    curvature: float

    def __post_init__(self) -> None:
        rim = 1.0 / math.sqrt(check_curvature(self.curvature))
        if self.radius is not None and not 0.0 < self.radius < rim:
            raise InvalidInput(f"radius must lie in the disc, got {self.radius!r}")


class Score(Part, frozen=True, kw_only=True):
    """Test accuracy of a method in percent: mean, half width of the 95 % interval, trials."""

    name: str
    mean: float
    ci95: float
    trials: int


class Reliability(Part, frozen=True, kw_only=True):
    """Test points on which the classifier was about equally sure: how sure, how often right."""

    confidence: float
    accuracy: float
    points: int


class Testing(Part, frozen=True, kw_only=True):
    """How test points were classified: counts, rows the true class, columns the predicted one."""

    names: list[str]
    confusion: list[list[int]]
    reliability: list[Reliability]


class ClassRow(Part, frozen=True, kw_only=True):
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


class OwnPoints(Part, frozen=True, kw_only=True):
    """A site's own points, float32 pairs, and the classifier's column of each, one byte."""

    xy: bytes
    columns: bytes
    of: int

    def __repr__(self) -> str:
        return f"OwnPoints({len(self.columns):,} of {self.of:,})"


class FoundClass(Part, frozen=True, kw_only=True):
    """A class as the coordinator knows it: how many sites have it, their cells together, how
    certain the least certain match is, in percent, and how many are doubtful."""

    name: str
    sites: int
    cells: int
    least: int | None
    doubtful: int


class OwnMatch(Part, frozen=True, kw_only=True):
    """What became of a site's own class: its number, which counts from 0, how many sites have it,
    and how certain that is, in percent."""

    name: str
    number: int
    sites: int
    certainty: int | None
    doubtful: bool


class SlotMatch(Part, frozen=True, kw_only=True):
    """A class of a site, by the site's own name, and whether it was put where it belongs."""

    site: str
    name: str
    right: bool
    certainty: int | None
    doubtful: bool


class MapRow(Part, frozen=True, kw_only=True):
    """A numbered class, what it turned out to be, and whose class went there."""

    number: int
    name: str
    slots: list[SlotMatch]


class AlignedRound(Part, frozen=True, kw_only=True):
    """How far a site's class centres were from those of all sites, root mean square: of its cells
    as they were measured, and as it moves them after this round."""

    before: float
    after: float


class SiteAlignment(Part, frozen=True, kw_only=True):
    """How a site has aligned itself: round by round, and by which isometry its cells are moved."""

    site: str
    rounds: list[AlignedRound]
    curvature: float
    shift: list[float]
    turn: list[list[float]]

    def __post_init__(self) -> None:
        if len(self.isometry.shift) != 2 or self.isometry.reflects:
            raise InvalidInput("a site must be aligned by a move and a turn of the disc")

    @property
    def isometry(self) -> Isometry:
        """By what the site's cells are moved."""
        return Isometry(np.array(self.shift), np.array(self.turn), self.curvature)

    @property
    def moved(self) -> float:
        """How far the middle of the disc is moved."""
        return float(distance(np.zeros(2), self.isometry.shift, self.curvature))

    @property
    def turned(self) -> float:
        """By what angle the disc is turned, in degrees, counterclockwise."""
        return math.degrees(math.atan2(self.turn[1][0], self.turn[0][0]))


class ClassScore(Part, frozen=True, kw_only=True):
    """A class of the model on all sites' held-out cells: how many it has, and recall and precision
    in percent, where there is something to go by."""

    name: str
    cells: int
    recall: float | None
    precision: float | None


class Verdict(Part, frozen=True, kw_only=True):
    """What all sites' held-out cells have said of the model: how many of them, and of how many the
    site holds too few to name their class, by how many counts may be off, which of so many
    `candidates` it is, and in what it was found to be right. Logits were divided by `temperature`;
    at most one held-out cell in a hundred is farther than `reach` from all classes."""

    cells: int
    unnamed: int
    tolerance: int
    candidates: int
    candidate: str
    is_default: bool
    accuracy: float
    log_loss: float
    temperature: float
    calibration_error: float
    reach: float
    classes: list[ClassScore]


class ClassPage(Page, frozen=True, kw_only=True):
    """What all pages of studies of classes show. `agreed` names need not be matched; so many times
    sites had `alignments` to the centres of all classes. `verdict` is what sites have said of the
    model before it was published, or else `unjudged` says why they have not."""

    space: Disc
    classes: list[str]
    model: dict[str, Any]
    agreed: bool = False
    alignments: int = 0
    verdict: Verdict | None = None
    unjudged: str = ""

    @property
    def placed(self) -> bool:
        """Whether sites said where their classes lie, instead of sending sketches of them."""
        return self.alignments > 0 and not self.agreed


class ClassCoordinatorPage(ClassPage, frozen=True, kw_only=True):
    """What the coordinator has at the end of a study; `testing` is counted over all sites."""

    correct: int | None
    tested: int | None
    evaluators: int
    testing: Testing | None = None
    scatter: list[float] = msgspec.field(default_factory=list)
    found: list[FoundClass] = msgspec.field(default_factory=list)


class ClassSitePage(ClassPage, frozen=True, kw_only=True):
    """What a site has: its own classes, and, when the page is written, its own points. So many
    `earlier_sessions` over the same data came before this one."""

    name: str
    earlier_sessions: int = 0
    points_held: int
    correct: int
    tested: int
    testing: Testing | None = None
    points: OwnPoints | None = None
    alignment: SiteAlignment | None = None
    by_class: list[ClassRow] = msgspec.field(default_factory=list)
    matches: list[OwnMatch] = msgspec.field(default_factory=list)

    @property
    def private(self) -> bool:
        """It says which classes are the site's, and shows its points."""
        return True


class ClassSimulationPage(ClassPage, frozen=True, kw_only=True):
    """What a simulation knows: the coordinator's view, and how well it does on test points."""

    points_total: int
    scores: Annotated[list[Score], msgspec.Meta(min_length=1)]
    testing: Testing
    grouping_correct: float
    scatter: list[float] = msgspec.field(default_factory=list)
    aligned: list[SiteAlignment] = msgspec.field(default_factory=list)
    match_map: list[MapRow] = msgspec.field(default_factory=list)


AnyClassPage = ClassCoordinatorPage | ClassSitePage | ClassSimulationPage
