"""The paper's Poincaré Graham scan (Alg. 1–2), kept readable: the reference for the fast path."""

from functools import cmp_to_key

import numpy as np

from fedhull.disc.orientation import UNDECIDED, ExactDisc, turn_filtered, unit_scale
from fedhull.disc.scan import farthest_from_origin


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
