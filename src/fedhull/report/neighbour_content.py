"""What pages of encoder studies of three sums show."""

import math

import numpy as np

from fedhull.errors import InvalidInput
from fedhull.report.class_content import Disc
from fedhull.report.content import Page, Part


class NeighbourSum(Part, frozen=True, kw_only=True):
    """A sum: what it is of, how many sites are in it and how many cells stand behind it, where
    whoever writes the page knows."""

    of: str
    sites: int | None = None
    cells: int | None = None


class Kept(Part, frozen=True, kw_only=True):
    """Of the anchors that are nearest to held-out cells, how many still are in the disc."""

    kept: int
    of: int

    def __post_init__(self) -> None:
        if not 0 <= self.kept <= self.of or self.of == 0:
            raise InvalidInput(f"of {self.of} anchors, {self.kept} cannot be kept")

    @property
    def percent(self) -> float:
        """The share in percent."""
        return 100.0 * self.kept / self.of


class AnchorQuality(Part, frozen=True, kw_only=True):
    """How well the disc shows distances between anchors, and how many of an anchor's nearest
    anchors still are; of distances nothing is known where all are alike."""

    neighbours_kept: float
    distance_correlation: float | None = None
    distortion: float | None = None


class NeighbourPage(Page, frozen=True, kw_only=True):
    """What all pages of encoder studies of three sums show. Of the `listed` genes so many were
    chosen. `anchors` are their points in the disc, float32 pairs. Behind each stand at least
    `group` cells; of a site, no gene leaves that fewer than `min_cells` of its cells express."""

    space: Disc
    encoder: str
    listed: int
    genes: int
    axes: int
    group: int
    min_cells: int
    sums: list[NeighbourSum]
    anchors: bytes
    kept: Kept | None

    def __post_init__(self) -> None:
        if not self.anchors or len(self.anchors) % 8:
            raise InvalidInput("anchors must be pairs of float32 numbers, one pair at least")
        rim = 1.0 / math.sqrt(self.space.curvature)
        if not (np.hypot(*self.points.T) <= rim).all():
            raise InvalidInput("anchors must lie in the disc")

    @property
    def points(self) -> np.ndarray:
        """Where the anchors are, (m, 2)."""
        return np.frombuffer(self.anchors, dtype="<f4").reshape(-1, 2)

    @property
    def n_anchors(self) -> int:
        """How many anchors there are."""
        return len(self.points)


class NeighbourCoordinatorPage(
    NeighbourPage, frozen=True, kw_only=True, tag="neighbour-coordinator"
):
    """What the coordinator has: anchors, nobody knows whose, and how good they are."""

    quality: AnchorQuality


class NeighbourSitePage(NeighbourPage, frozen=True, kw_only=True, tag="neighbour-site"):
    """What a site has: the same encoder, and which of its own cells and genes are in it. It lacks
    `missing` of the chosen genes, and too few of its cells express `rare` genes. So many
    `earlier_sessions` over the same data came before this one."""

    name: str
    earlier_sessions: int = 0
    cells: int
    held_out: int
    missing: int
    rare: int

    @property
    def private(self) -> bool:
        """It says how many cells the site holds, and how well the encoder does on them."""
        return True
