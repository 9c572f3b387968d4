"""Slow and independent answers to compare with: exact rationals, 50 digits, brute force."""

from typing import Any

import flint
import mpmath
import numpy as np
from flint import fmpq

from fedhull.disc.isometry import Isometry
from fedhull.disc.link import separates, shortest_link
from fedhull.disc.maps import distance, geodesic_midpoint, log_map
from fedhull.disc.points import check_count, check_curvature
from fedhull.learn import horocycles
from fedhull.protocol.shares import PRIME, weighted, weights


def exact(value: float) -> fmpq:
    """A float as a rational, by FLINT: faster than Python's fractions, and not used by what it is
    to test."""
    return fmpq(*value.as_integer_ratio())


def klein_fractions(points: np.ndarray, curvature: float) -> list[tuple[fmpq, fmpq]]:
    """x/(1+k‖x‖²) without rounding (half the Klein coordinate over √k)."""
    k = exact(float(curvature))
    rational = [(exact(x), exact(y)) for x, y in points.tolist()]
    return [(x / (1 + k * (x * x + y * y)), y / (1 + k * (x * x + y * y))) for x, y in rational]


def turn(a, b, c) -> int:
    cross = (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])
    return (cross > 0) - (cross < 0)


def brute_force_hull(points: np.ndarray, curvature: float) -> list[int]:
    """Gift wrapping in exact rationals, with the contract of `minimal_hull`."""
    klein = klein_fractions(points, curvature)
    first: dict = {}
    for i, position in enumerate(klein):
        first.setdefault(position, i)
    indices = sorted(first.values())
    norms = [exact(x) ** 2 + exact(y) ** 2 for x, y in points.tolist()]
    start = max(indices, key=lambda i: (norms[i], -i))
    hull = [start]
    while len(indices) > 1:
        here = klein[hull[-1]]
        best = next(i for i in indices if i != hull[-1])
        for i in indices:
            a, b = klein[best], klein[i]
            side = turn(here, a, b)
            if i != hull[-1] and (side < 0 or (side == 0 and _nearer(here, a, b))):
                best = i
        if best == start:
            break
        hull.append(best)
    return hull


def _nearer(here, a, b) -> bool:
    return _square(here, a) < _square(here, b)


def _square(a, b) -> fmpq:
    return (a[0] - b[0]) ** 2 + (a[1] - b[1]) ** 2


def reference_distance(x: np.ndarray, y: np.ndarray, curvature: float) -> mpmath.mpf:
    """Eq. 4 as it stands in the paper, with enough digits that cancellation does no harm."""
    with mpmath.workdps(120):
        k = mpmath.mpf(curvature)
        x = [mpmath.mpf(v) for v in x]
        y = [mpmath.mpf(v) for v in y]
        dot = -mpmath.fdot(x, y)
        xx, yy = mpmath.fdot(x, x), mpmath.fdot(y, y)
        denominator = 1 + 2 * k * dot + k * k * xx * yy
        total = [
            ((1 + 2 * k * dot + k * yy) * -a + (1 - k * xx) * b) / denominator
            for a, b in zip(x, y, strict=True)
        ]
        norm = mpmath.sqrt(mpmath.fdot(total, total))
        return 2 / mpmath.sqrt(k) * mpmath.atanh(mpmath.sqrt(k) * norm)


def reference_centroid(points: np.ndarray, weights: np.ndarray, curvature: float) -> list:
    """Σ wX on the hyperboloid, brought back to the sheet and to the ball, with 60 digits."""
    with mpmath.workdps(60):
        k = mpmath.mpf(curvature)
        time, space = mpmath.mpf(0), [mpmath.mpf(0)] * len(points[0])
        for point, weight in zip(points.tolist(), weights, strict=True):
            x = [mpmath.mpf(v) for v in point]
            square, w = k * mpmath.fdot(x, x), mpmath.mpf(float(weight))
            time += w * (1 + square) / (1 - square)
            space = [s + w * 2 * v / (1 - square) for s, v in zip(space, x, strict=True)]
        norm = mpmath.sqrt(time**2 - k * mpmath.fdot(space, space))
        return [s / (time + norm) for s in space]


def reference_busemann(point: np.ndarray, direction: np.ndarray, curvature: float) -> mpmath.mpf:
    """log((1−k‖x‖²)/‖√k·x−ω‖²), ω being the direction at length one, with 60 digits."""
    with mpmath.workdps(60):
        k = mpmath.mpf(float(curvature))
        x = [mpmath.mpf(v) for v in point.tolist()]
        w = [mpmath.mpf(v) for v in direction.tolist()]
        norm = mpmath.sqrt(mpmath.fdot(w, w))
        away = [mpmath.sqrt(k) * a - b / norm for a, b in zip(x, w, strict=True)]
        return mpmath.log((1 - k * mpmath.fdot(x, x)) / mpmath.fdot(away, away))


def largest_prime_below(bound: int) -> int:
    return next(n for n in range(bound - 1, 1, -1) if flint.fmpz(n).is_prime())


def restore(shares: dict[int, int], prime: int = PRIME) -> int:
    """The secret behind t of Shamir's shares {holder: share}."""
    return weighted(shares, weights(shares, prime=prime), prime)


def hull_distance(first: np.ndarray, second: np.ndarray, k: float = 1.0) -> float:
    """The distance between two hulls, given by their corners (n, d); 0 if they meet."""
    a, b = shortest_link(first, second, k)
    middle = geodesic_midpoint(a, b, k)
    if not separates(middle, log_map(middle, b, k), first, second, k):
        return 0.0
    return float(distance(a, b, k))


def busemann(points: Any, directions: Any, curvature: float = 1.0) -> np.ndarray:
    """B_ω(x) = log((1−k‖x‖²) / ‖√k·x−ω‖²), shape (n, D), for points (n, d) and directions (D, d),
    each of which stands for the point of the sphere to which it points."""
    ways = np.asarray(directions, dtype=np.float64)
    parts = horocycles._in_two_floats(points, ways, check_curvature(curvature))
    values = np.empty((len(parts[0]), len(ways)))
    x, x_rest, gap, *ways = parts
    for i in range(len(x)):
        horocycles._row(x[i], x_rest[i], gap[i], *ways, values[i])
    return values


def reflection(curvature: float = 1.0, dimension: int = 2) -> Isometry:
    """The last coordinate with its sign turned round."""
    signs = np.ones(check_count(dimension, "dimension"))
    signs[-1] = -1.0
    return Isometry(np.zeros(len(signs)), np.diag(signs), curvature)


def uniform(field, n: int, more_bytes) -> np.ndarray:
    """n uniform elements of a field, as masks draw them: zeros with a mask on them."""
    vector = field.zeros(n)
    field.mask_in_place(vector, more_bytes)
    return vector
