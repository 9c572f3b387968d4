"""Groups of at least K points, disjoint and outermost first: the stuff of k-anonymous hulls.

Neighbours are found and taken away one after another, in a tree of boxes: the points are sorted so
that neighbours are near each other, runs of a few make the leaves, and every node has the box
around its points. Unlike SciPy's trees it knows the hyperbolic distance and allows removals.
"""

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import ArrayLike

from fedhull.disc.maps import centroid, distance
from fedhull.disc.points import as_ball_points, as_point_rows, check_count, check_curvature

_LEAF = 8
_ROOT = 1


class BoxTree(NamedTuple):
    """Node i has the children 2i and 2i+1; the root is 1.

    points : (n, d), gap : (n,), 1 − k‖x‖², in the tree's order; number : (n,), the points' rows in
    the set; present : (n,), not yet taken out. lowest, highest : (m, d), the boxes; widest : (m,),
    the largest gap in each; live : (m,), the number of points present.
    """

    points: np.ndarray
    gap: np.ndarray
    number: np.ndarray
    lowest: np.ndarray
    highest: np.ndarray
    widest: np.ndarray
    live: np.ndarray
    present: np.ndarray


def build_tree(points: np.ndarray, gap: np.ndarray) -> BoxTree:
    """The tree of points (n, d) of the ball with their gaps (n,)."""
    n, d = points.shape
    order = _along_a_curve(points)
    first_leaf = 1 << max(0, (-(-n // _LEAF) - 1).bit_length())
    tree = BoxTree(
        np.ascontiguousarray(points[order]),
        gap[order],
        order,
        np.full((2 * first_leaf, d), np.inf),
        np.full((2 * first_leaf, d), -np.inf),
        np.zeros(2 * first_leaf),
        np.zeros(2 * first_leaf, dtype=np.int64),
        np.ones(n, dtype=bool),
    )
    _fill(tree)
    return tree


def _along_a_curve(points: np.ndarray) -> np.ndarray:
    """An order in which neighbours are near each other: the coordinates' ranks, bits interleaved.

    Ranks, because they tell points apart at the rim as well as anywhere.
    """
    n, d = points.shape
    bits = min(63 // d, max(1, (n - 1).bit_length()))
    code = np.zeros(n, dtype=np.uint64)
    for axis in range(d):
        rank = np.empty(n, dtype=np.uint64)
        rank[np.argsort(points[:, axis], kind="stable")] = np.arange(n, dtype=np.uint64)
        rank >>= np.uint64(max(0, (n - 1).bit_length() - bits))
        for bit in range(bits):
            code |= ((rank >> np.uint64(bit)) & np.uint64(1)) << np.uint64(bit * d + axis)
    return np.argsort(code, kind="stable")


@njit(cache=True)
def _fill(tree: BoxTree) -> None:  # pragma: no cover - compiled
    first_leaf = len(tree.live) // 2
    n, d = tree.points.shape
    for i in range(n):
        node = first_leaf + i // _LEAF
        tree.live[node] += 1
        tree.widest[node] = max(tree.widest[node], tree.gap[i])
        for axis in range(d):
            tree.lowest[node, axis] = min(tree.lowest[node, axis], tree.points[i, axis])
            tree.highest[node, axis] = max(tree.highest[node, axis], tree.points[i, axis])
    for node in range(first_leaf - 1, 0, -1):
        left, right = 2 * node, 2 * node + 1
        tree.live[node] = tree.live[left] + tree.live[right]
        tree.widest[node] = max(tree.widest[left], tree.widest[right])
        for axis in range(d):
            tree.lowest[node, axis] = min(tree.lowest[left, axis], tree.lowest[right, axis])
            tree.highest[node, axis] = max(tree.highest[left, axis], tree.highest[right, axis])


@njit(cache=True)
def take_out(tree: BoxTree, place: int) -> None:  # pragma: no cover - compiled
    """Remove the point at this place of the tree's order."""
    tree.present[place] = False
    node = len(tree.live) // 2 + place // _LEAF
    while node >= _ROOT:
        tree.live[node] -= 1
        node //= 2


@njit(cache=True)
def nearest(
    tree: BoxTree, centre: np.ndarray, places: np.ndarray, away: np.ndarray
) -> None:  # pragma: no cover - compiled
    """Fill `places` with the places of the points nearest to `centre`, nearest first; of points
    equally near, that of the smaller number. `away` is room for their distances.

    At least as many points as `places` has room for must be there. For one centre c the distance to
    x grows with ‖x−c‖²/(1−k‖x‖²), of which a box with its widest gap gives a lower bound, in floats
    as well: all operations are monotone.
    """
    first_leaf = len(tree.live) // 2
    away[:] = np.inf
    places[:] = -1
    last = len(places) - 1
    stack = np.empty(2 * 64, dtype=np.int64)
    bounds = np.empty(2 * 64)
    stack[0], bounds[0], height = _ROOT, 0.0, 1
    while height:
        height -= 1
        node = stack[height]
        if bounds[height] > away[last]:
            continue
        if node < first_leaf:
            near, far = 2 * node, 2 * node + 1
            near_bound, far_bound = _bound(tree, near, centre), _bound(tree, far, centre)
            if far_bound < near_bound:
                near, far = far, near
                near_bound, far_bound = far_bound, near_bound
            for child, bound in ((far, far_bound), (near, near_bound)):
                if tree.live[child] and bound <= away[last]:
                    stack[height], bounds[height] = child, bound
                    height += 1
            continue
        begin = (node - first_leaf) * _LEAF
        for place in range(begin, min(begin + _LEAF, len(tree.points))):
            if tree.present[place]:
                square = 0.0
                for axis in range(len(centre)):
                    square += (tree.points[place, axis] - centre[axis]) ** 2
                _insert(tree.number, places, away, place, square / tree.gap[place])


@njit(cache=True)
def _bound(tree: BoxTree, node: int, centre: np.ndarray) -> float:  # pragma: no cover - compiled
    square = 0.0
    for axis in range(len(centre)):
        beside = max(
            0.0, tree.lowest[node, axis] - centre[axis], centre[axis] - tree.highest[node, axis]
        )
        square += beside**2
    return square / tree.widest[node] if tree.live[node] else np.inf


@njit(cache=True)
def _insert(
    number: np.ndarray, places: np.ndarray, away: np.ndarray, place: int, distance: float
) -> None:  # pragma: no cover - compiled
    at = len(places)
    while at > 0 and (
        distance < away[at - 1]
        or (
            distance == away[at - 1]
            and (places[at - 1] < 0 or number[place] < number[places[at - 1]])
        )
    ):
        at -= 1
    if at == len(places):
        return
    for i in range(len(places) - 1, at, -1):
        places[i], away[i] = places[i - 1], away[i - 1]
    places[at], away[at] = place, distance


def microaggregate(
    points: ArrayLike, size: int, curvature: float = 1.0, weights: ArrayLike | None = None
) -> np.ndarray:
    """The group, numbered from 0, of each of the points (n, d): (n,). Every group holds at least
    `size` points, or all of them if there are fewer.

    The point farthest from the centroid of all, weighed by `weights`, makes a group with its
    nearest neighbours; again and again, until fewer than twice `size` are left, which are the last
    group. Groups depend on where points lie, not on the order of rows, and move with every
    isometry.

    This is MDAV (Domingo-Ferrer and Torra, 2005) with a fixed centroid: points are sorted once and
    neighbours come from a tree, O(n·log n). The outermost groups, of which hulls are made, are the
    tightest; what neighbours are short of is left in the middle, where no hull has a corner.

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
    neighbours, away = np.empty(size - 1, dtype=np.int64), np.empty(size - 1)
    left, group = n, 0
    for i in order:
        if left < 2 * size:
            break
        if groups[i] >= 0:
            continue
        groups[i] = group
        take_out(tree, int(place_of[i]))
        if size > 1:
            nearest(tree, tree.points[place_of[i]], neighbours, away)
        for place in neighbours:
            groups[tree.number[place]] = group
            take_out(tree, int(place))
        left -= size
        group += 1
    for i in range(n):
        if groups[i] < 0:
            groups[i] = group
    return groups
