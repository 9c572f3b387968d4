"""fedhull's own parts of guards.

A hull is made of outliers. *Edit* drops the points that the client's own classifier gets wrong,
*trim* the outermost few of each class. Fewer identifiable points leave, and the hulls of different
classes overlap less. *Group* replaces the points of each class by centroids of several: what is
then sent is no cell's own position.
"""

from dataclasses import dataclass

import numpy as np

from fedhull.disc.centroid import centroid, centroids
from fedhull.disc.maps import distance
from fedhull.errors import InvalidInput

_LOCAL_STRENGTH = 1e3

Triple = tuple[np.ndarray, np.ndarray, np.ndarray]


@dataclass(frozen=True)
class Edit:
    """Leave out what a classifier fitted to all points gets wrong, unless that is a whole class."""

    def __call__(self, x: np.ndarray, y: np.ndarray, cells: np.ndarray, curvature: float) -> Triple:
        """What is left."""
        # slow to import, and not needed where a guard is only named
        from fedhull.learn.lorentz import LorentzClassifier

        classes = np.unique(y)
        if len(classes) < 2:
            return x, y, cells
        local = LorentzClassifier(
            _LOCAL_STRENGTH, curvature=curvature, fit_intercept=True, calibrate=False
        )
        kept = local.fit(x, y).predict(x) == y
        for label in classes:
            if not kept[y == label].any():
                kept[y == label] = True
        return x[kept], y[kept], cells[kept]

    def __str__(self) -> str:
        return "edit"


@dataclass(frozen=True)
class Trim:
    """Leave out the outermost `share` of each class, rounded down."""

    share: float

    def __call__(self, x: np.ndarray, y: np.ndarray, cells: np.ndarray, curvature: float) -> Triple:
        """What is left."""
        kept = np.ones(len(x), dtype=bool)
        for label in np.unique(y):
            members = np.flatnonzero(y == label)
            n_trimmed = int(self.share * len(members))
            kept[members[outermost(x[members], n_trimmed, curvature)]] = False
        return x[kept], y[kept], cells[kept]

    def __str__(self) -> str:
        return f"trim:{np.format_float_positional(self.share, trim='-')}"


@dataclass(frozen=True)
class Group:
    """Put the points of each class into disjoint groups of at least `size`, outermost first, and
    replace each group by its centroid on the hyperboloid.

    A class with fewer than twice as many points is one group, however few they are. Where points
    already stand for several cells, they weigh as much, and the cells of a group add up. Without a
    size, groups are as large as the study in which the guard stands asks for.
    """

    size: int | None = None

    def __call__(self, x: np.ndarray, y: np.ndarray, cells: np.ndarray, curvature: float) -> Triple:
        """The centroids, class after class, each class's outermost first."""
        # slow to import, and not needed where a guard is only named
        from fedhull.disc.microaggregation import microaggregate

        if self.size is None:
            raise InvalidInput("group needs how many cells to put together, as in group:5")
        labels, of_label = np.unique(y, return_inverse=True)
        # sums are rounded in the order of rows, which must not matter
        order = np.lexsort((cells, *x.T, of_label))
        x, of_label, cells = x[order], of_label[order], cells[order]
        groups, owners = np.empty(len(x), dtype=np.int64), np.empty(0, dtype=np.int64)
        for number in range(len(labels)):
            members = of_label == number
            found = microaggregate(x[members], self.size, curvature, cells[members])
            groups[members] = len(owners) + found
            owners = np.append(owners, np.full(found.max() + 1, number))
        behind = np.zeros(len(owners), dtype=cells.dtype)
        np.add.at(behind, groups, cells)
        return centroids(x, groups, cells, curvature), labels[owners], behind

    def __str__(self) -> str:
        return "group" if self.size is None else f"group:{self.size}"


def make_edit(argument: str | None) -> Edit:
    """The part ``edit``, which takes no argument."""
    if argument is not None:
        raise InvalidInput(f"edit takes no argument, got {argument!r}")
    return Edit()


def make_trim(argument: str | None) -> Trim:
    """The part ``trim:F``.

    >>> make_trim("0.02")
    Trim(share=0.02)
    """
    try:
        share = float(argument or "")
    except ValueError:
        share = float("nan")
    if not 0.0 <= share < 1.0:
        raise InvalidInput(
            f"trim needs the share of each class to leave out, 0 ≤ F < 1, as in trim:0.02, got "
            f"{argument!r}"
        )
    return Trim(share)


def make_group(argument: str | None) -> Group:
    """The part ``group:K``, or ``group``, which takes K from the study.

    >>> make_group("5")
    Group(size=5)
    """
    if argument is None:
        return Group()
    try:
        size = int(argument)
    except ValueError:
        size = 0
    if size < 1:
        raise InvalidInput(
            f"group needs how many cells to put together, a whole number K ≥ 1, as in group:5, got "
            f"{argument!r}"
        )
    return Group(size)


def outermost(points: np.ndarray, n: int, curvature: float) -> np.ndarray:
    """Indices of the n outermost points: hull after hull is peeled off; of a hull that is only
    partly needed, the corners farthest from the centroid."""
    # slow to import, and not needed where a guard is only named
    from fedhull.disc.hull import minimal_hull

    left, found = np.arange(len(points)), np.empty(0, dtype=np.int64)
    while len(found) < n:
        layer = minimal_hull(points[left], curvature)
        if len(found) + len(layer) > n:
            middle = centroid(points, curvature=curvature)
            away = distance(points[left[layer]], middle, curvature)
            layer = layer[np.argsort(-away, kind="stable")][: n - len(found)]
        found = np.concatenate((found, left[layer]))
        left = np.delete(left, layer)
    return found
