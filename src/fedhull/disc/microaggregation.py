"""Groups of at least K points, disjoint and outermost first: what k-anonymous hulls are made of."""

import numpy as np
from numba import njit
from numpy.typing import ArrayLike

from fedhull.disc.box_tree import BoxTree, build_tree, nearest, take_out
from fedhull.disc.centroid import centroid
from fedhull.disc.maps import distance
from fedhull.disc.points import as_ball_points, as_point_rows, check_count, check_curvature


def microaggregate(
    points: ArrayLike, size: int, curvature: float = 1.0, weights: ArrayLike | None = None
) -> np.ndarray:
    """The group, numbered from 0, of each of the points (n, d): (n,). Every group holds at least
    `size` points, or all of them if there are fewer.

    The point farthest from the centroid of all, weighed by `weights`, makes a group with its
    nearest neighbours; again and again with the points that are left, until there are fewer than
    twice `size`, which are the last group. Groups depend on where points lie, not on the order of
    rows, and move with every isometry.

    MDAV (Domingo-Ferrer and Torra, 2005) looks for the farthest point anew before each group and
    takes O(n²/size). Here the centroid stays, as in its fixed-centroid variants, so that the points
    are sorted once, and neighbours come from a tree that points can be taken out of: O(n·log n).
    The outermost groups, of which hulls are made, come first and are the tightest; what neighbours
    are short of is left in the middle, where no hull has a corner.

    >>> microaggregate([[0.1, 0.0], [0.6, 0.0], [0.0, 0.1], [0.7, 0.0]], 2)
    array([1, 0, 1, 0])
    """
    k = check_curvature(curvature)
    size = check_count(size, "size")
    x, gap = as_ball_points(as_point_rows(points), k)
    # equal points are alike, so that this order, and all that follows, is that of the places
    order = np.lexsort((np.zeros(len(x)) if weights is None else np.asarray(weights), *x.T))
    x, gap = x[order], gap[order]
    if len(x) < 2 * size:
        return np.zeros(len(x), dtype=np.int64)
    middle = centroid(x, None if weights is None else np.asarray(weights)[order], k)
    outermost_first = np.argsort(-distance(x, middle, k), kind="stable")
    groups = np.empty(len(x), dtype=np.int64)
    groups[order] = _peel(build_tree(x, gap), outermost_first, size)
    return groups


@njit(cache=True)
def _peel(tree: BoxTree, order: np.ndarray, size: int) -> np.ndarray:  # pragma: no cover - compiled
    n = len(order)
    groups = np.full(n, -1)
    place_of = np.empty(n, dtype=np.int64)
    place_of[tree.number] = np.arange(n)
    found, away = np.empty(size - 1, dtype=np.int64), np.empty(size - 1)
    left, group = n, 0
    for i in order:
        if left < 2 * size:
            break
        if groups[i] >= 0:
            continue
        groups[i] = group
        take_out(tree, int(place_of[i]))
        if size > 1:
            nearest(tree, tree.points[place_of[i]], found, away)
        for place in found:
            groups[tree.number[place]] = group
            take_out(tree, int(place))
        left -= size
        group += 1
    for i in range(n):
        if groups[i] < 0:
            groups[i] = group
    return groups
