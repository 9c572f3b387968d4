"""The corners of a few thousand points, decided exactly.

`chain_hull` is a monotone chain in the Klein model: the points are sorted along the hull's longest
direction, and a scan each way drops every point that is not a strict counter-clockwise turn. Sort
and scan run on floats and ask for exact arithmetic only where rounding could change the answer.
`graham_hull` is the paper's Poincaré Graham scan (Alg. 1–2), kept readable: the reference.
"""

from functools import cmp_to_key

import numpy as np
from numba import njit

from fedhull.disc.orientation import UNDECIDED, ExactDisc, turn_filtered, unit_scale
from fedhull.disc.rim import square_norm

# |computed − true| of a sort key is below γ₈ times the sum of its terms' magnitudes
_KEY_ERROR = 8 * 2.0**-53
_KEY_UNDERFLOW = 1e-300


def chain_hull(points: np.ndarray, curvature: float) -> np.ndarray:
    """Indices of the hull's corners, counter-clockwise, from the point farthest from the origin."""
    exact = ExactDisc(points, curvature)
    start = farthest_from_origin(points, exact)
    scale, unit_curvature = unit_scale(curvature)
    scaled = points * scale if scale != 1.0 else points
    order = _sorted_along_hull(points, scaled, unit_curvature, start, exact)
    if len(order) == 1:
        return np.array([start])
    lower = _chain(scaled, unit_curvature, order, exact)
    upper = _chain(scaled, unit_curvature, order[::-1].copy(), exact)
    corners = np.concatenate((lower[:-1], upper[:-1]))
    first = np.flatnonzero((points[corners] == points[start]).all(axis=1))[0]
    return np.roll(corners, -first)


def farthest_from_origin(points: np.ndarray, exact: ExactDisc) -> int:
    """The first of the points at the largest distance from the origin."""
    largest = np.abs(points).max()
    if largest == 0.0:
        return 0
    # by a power of two, so that squares neither round nor underflow
    unit = np.ldexp(points, -int(np.frexp(largest)[1]))
    squares = unit[:, 0] ** 2 + unit[:, 1] ** 2
    candidates = np.flatnonzero(squares >= squares.max() * (1.0 - 2.0**-50))
    if len(candidates) > 1:
        # all corners of a quantized hull may lie on one ring: look at 100 bits, then at all
        squares, corrections = square_norm(unit[candidates])
        excess = (squares - squares.max()) + corrections
        candidates = candidates[excess >= excess.max() - 2.0**-98]
    return max(_first_of_equal(points, candidates), key=exact.norm)


def _first_of_equal(points: np.ndarray, indices: np.ndarray) -> list[int]:
    first: dict[tuple[float, ...], int] = {}
    for i in indices.tolist():
        first.setdefault(tuple(points[i].tolist()), i)
    return list(first.values())


def _sorted_along_hull(
    points: np.ndarray, scaled: np.ndarray, curvature: float, start: int, exact: ExactDisc
) -> np.ndarray:
    """Distinct points (the first of equal ones) in order of their Klein coordinate along the line
    from `start` to the point farthest from it; ties in order across that line."""
    x, y = scaled[:, 0], scaled[:, 1]
    weights = 1.0 + curvature * (x * x + y * y)
    x, y = x / weights, y / weights
    away_x, away_y = x - x[start], y - y[start]
    end = np.argmax(np.maximum(np.abs(away_x), np.abs(away_y)))
    direction = np.array([away_x[end], away_y[end]])
    length = np.abs(direction).max()
    # any direction gives the same hull; a long one gives fewer ties
    direction = direction / length if length > 0.0 else np.array([1.0, 0.0])
    x, y = x * direction[0], y * direction[1]
    keys = x + y
    order = np.argsort(keys, kind="stable")
    order = _without_repeats(points, order)
    tolerance = 2.0 * _KEY_ERROR * (np.abs(x) + np.abs(y)).max() + _KEY_UNDERFLOW
    close = np.diff(keys[order]) <= tolerance
    if close.any():
        order = _resort_close_runs(order, close, direction, exact)
        order = _without_repeats(points, order)
    return order


def _without_repeats(points: np.ndarray, order: np.ndarray) -> np.ndarray:
    x, y = points[order, 0], points[order, 1]
    new = np.ones(len(order), dtype=bool)
    new[1:] = (x[1:] != x[:-1]) | (y[1:] != y[:-1])
    return order[new]


def _resort_close_runs(
    order: np.ndarray, close: np.ndarray, direction: np.ndarray, exact: ExactDisc
) -> np.ndarray:
    """Sort exactly each run of neighbours whose float keys cannot be told apart."""
    ratios = [float(v).as_integer_ratio() for v in direction]
    d0, d1 = (n * max(d for _, d in ratios) // d for n, d in ratios)

    def compare(a: int, b: int) -> int:
        return exact.along((d0, d1), b, a) or exact.along((-d1, d0), b, a) or a - b

    order = order.copy()
    edges = np.diff(np.concatenate(([False], close, [False])).astype(np.int8))
    for begin, end in zip(np.flatnonzero(edges == 1), np.flatnonzero(edges == -1), strict=True):
        order[begin : end + 1] = sorted(order[begin : end + 1].tolist(), key=cmp_to_key(compare))
    return order


def _chain(points: np.ndarray, curvature: float, order: np.ndarray, exact: ExactDisc) -> np.ndarray:
    """The counter-clockwise chain from the first to the last point of `order`."""
    stack = np.empty(len(order), dtype=np.int64)
    depth = position = 0
    verdict = UNDECIDED
    while position < len(order):
        depth, position = _scan(points, curvature, order, stack, depth, position, verdict)
        if position < len(order):
            verdict = exact.turn(stack[depth - 2], stack[depth - 1], order[position])
    return stack[:depth].copy()


@njit(cache=True)
def _scan(
    points: np.ndarray,
    curvature: float,
    order: np.ndarray,
    stack: np.ndarray,
    depth: int,
    position: int,
    verdict: int,
) -> tuple[int, int]:  # pragma: no cover - compiled
    """Advance the scan to the end, or to the first turn that the float filter cannot decide.

    Called again with the exact `verdict` on that turn, it goes on where it stopped.
    """
    while position < len(order):
        while depth >= 2:
            if verdict == UNDECIDED:
                verdict = turn_filtered(
                    points, stack[depth - 2], stack[depth - 1], order[position], curvature
                )
                if verdict == UNDECIDED:
                    return depth, position
            if verdict > 0:
                verdict = UNDECIDED
                break
            verdict = UNDECIDED
            depth -= 1
        stack[depth] = order[position]
        depth += 1
        position += 1
    return depth, position


def graham_hull(points: np.ndarray, curvature: float) -> np.ndarray:
    """Indices of the hull's corners, counter-clockwise, from the point farthest from the origin.

    Alg. 1 sorts the points by the angle at which the farthest point b sees them and walks around,
    dropping what is not a counter-clockwise turn. Alg. 2 takes the sign of a turn from log maps;
    the determinant of `orientation` has the same sign and is exact.
    """
    exact = ExactDisc(points, curvature)
    scale, unit_curvature = unit_scale(curvature)
    scaled = points * scale

    def ccw(x: int, t: int, z: int) -> int:
        sign = turn_filtered(scaled, x, t, z, unit_curvature)
        return exact.turn(x, t, z) if sign == UNDECIDED else sign

    b = farthest_from_origin(points, exact)

    def by_angle_then_distance(p: int, q: int) -> int:
        return -ccw(b, p, q) or -exact.nearer(b, p, q)

    # all points lie on one side of the geodesic through b across ob (Lemma 1), so the angles at b
    # span less than π and "q is counter-clockwise of p, seen from b" is an order
    others = sorted(_distinct(points, without=b), key=cmp_to_key(by_angle_then_distance))
    stack = [b]
    for v in others:
        # of points at the same angle the farthest comes last and removes the others
        while len(stack) > 1 and ccw(stack[-2], stack[-1], v) <= 0:
            stack.pop()
        stack.append(v)
    return np.array(stack)


def _distinct(points: np.ndarray, without: int) -> list[int]:
    """The first index of each different point, except the point `without`."""
    first: dict[tuple[float, float], int] = {}
    for i, (x, y) in enumerate(points.tolist()):
        first.setdefault((x, y), i)
    first.pop(tuple(points[without].tolist()))
    return list(first.values())
