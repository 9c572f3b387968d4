"""Horocycle features: bounded, smooth functions on the ball in which linear models do well.

Seen from a direction ω of the sphere, the ball is filled with horocycles, the spheres that touch
its rim at ω. The Busemann function is the signed distance of a point's horocycle from the one
through the origin, positive towards ω:

    B_ω(x) = log((1−k‖x‖²) / ‖√k·x−ω‖²).

It is what ⟨ω, x⟩ is in flat space: the waves exp(((d−1)/2 + iλ)·B_ω) are eigenfunctions of the
Laplacian, as exp(iλ⟨ω, x⟩) are there, so a random draw of ω and λ stands for a kernel (Rahimi and
Recht, 2007; Yu and De Sa, "Random Laplacian features for learning with hyperbolic space", ICLR
2023). The amplitude is left out, as it grows without bound at the rim. The rest of the real part,
with a phase b,

    φ(x) = cos(λ·B_ω(x) + b),

lies in [−1, 1], so that a cell adds at most 1 to any sum of features, wherever it lies.

Logarithm and cosine are written out after fdlibm (Sun Microsystems, 1993), so that the compiler can
work on several features at once. Sums and products are in a fixed order: a feature of a point does
not depend on what else is worked out with it. Errors are below one unit in the last place of the
logarithm, and of 1 for the cosine.
"""

import math
from functools import lru_cache
from math import gcd
from typing import Any, NamedTuple

import numpy as np
from numba import njit

from fedhull.disc.points import as_ball_points, check_curvature
from fedhull.disc.rim import square_norm, two_product
from fedhull.errors import InvalidInput

# The bits of √½: log(q) = e·log 2 + log(m) with q = m·2^e and m between √½ and √2.
_ROOT_HALF = 0x3FE6A09E00000000
_LOG2_HIGH, _LOG2_LOW = 6.93147180369123816490e-01, 1.90821492927058770002e-10
_L1, _L2, _L3, _L4, _L5, _L6, _L7 = (
    6.666666666666735130e-01, 3.999999999940941908e-01, 2.857142874366239149e-01,
    2.222219843214978396e-01, 1.818357216161805012e-01, 1.531383769920937332e-01,
    1.479819860511658591e-01,
)  # fmt: skip

# π/2 in three parts. The first two have 33 bits, so that their products with whole numbers below
# 2²⁰ are exact; beyond that the library's cosine is called.
_QUARTER_1, _QUARTER_2, _QUARTER_3 = (
    1.57079632673412561417e00, 6.07710050630396597660e-11, 2.02226624879595063154e-21,
)  # fmt: skip
_QUARTERS = 6.36619772367581382433e-01
_FARTHEST = 1e6
_S1, _S2, _S3, _S4, _S5, _S6 = (
    -1.66666666666666324348e-01, 8.33333333332248946124e-03, -1.98412698298579493134e-04,
    2.75573137070700676789e-06, -2.50507602534068634195e-08, 1.58969099521155010221e-10,
)  # fmt: skip
_C1, _C2, _C3, _C4, _C5, _C6 = (
    4.16666666666666019037e-02, -1.38888888888741095749e-03, 2.48015872894767294178e-05,
    -2.75573143513906633035e-07, 2.08757232129817482790e-09, -1.13596475577881948265e-11,
)  # fmt: skip
# The scales of frequencies, in turn, of all studies.
SCALES = (1.0, 3.0)


@njit(cache=True, inline="always")
def _log(q):  # type: ignore[no-untyped-def]  # pragma: no cover - compiled
    """log q, for normal floats q > 0."""
    bits = np.float64(q).view(np.int64)
    power = (bits - np.int64(_ROOT_HALF)) >> 52
    f = np.int64(bits - (power << 52)).view(np.float64) - 1.0
    # log(1+f) = 2·artanh(s), less what rounding would take from it
    s = f / (2.0 + f)
    z = s * s
    w = z * z
    even = w * (_L2 + w * (_L4 + w * _L6))
    odd = z * (_L1 + w * (_L3 + w * (_L5 + w * _L7)))
    half = 0.5 * f * f
    e = float(power)
    return e * _LOG2_HIGH - ((half - (s * (half + (even + odd)) + e * _LOG2_LOW)) - f)


@njit(cache=True, inline="always")
def _cos(y):  # type: ignore[no-untyped-def]  # pragma: no cover - compiled
    """cos y, for |y| ≤ 10⁶."""
    quarters = np.rint(y * _QUARTERS)
    r = ((y - quarters * _QUARTER_1) - quarters * _QUARTER_2) - quarters * _QUARTER_3
    z = r * r
    cos = 1.0 - (
        0.5 * z - z * (z * (_C1 + z * (_C2 + z * (_C3 + z * (_C4 + z * (_C5 + z * _C6))))))
    )
    sin = r + r * (z * (_S1 + z * (_S2 + z * (_S3 + z * (_S4 + z * (_S5 + z * _S6))))))
    turn = np.int64(quarters)
    value = sin if turn & 1 else cos
    return -value if (turn + 1) & 2 else value


@njit(cache=True, inline="always")
def _row(x, x_rest, gap, ways, ways_rest, row):  # type: ignore[no-untyped-def]  # pragma: no cover
    """log(gap / ‖√k·x−ω‖²) of one point x (d,) for all directions (d, D), into row (D,)."""
    for j in range(len(row)):
        row[j] = 0.0
    for axis in range(len(x)):
        for j in range(len(row)):
            away = ((x[axis] - ways[axis, j]) + ways_rest[axis, j]) + x_rest[axis]
            row[j] += away * away
    # ‖√k·x−ω‖ ≥ 1−√k‖x‖ ≥ gap/2 is true of all points and keeps the quotient finite
    least = 0.25 * gap * gap
    for j in range(len(row)):
        row[j] = _log(gap / max(row[j], least))


@njit(cache=True, nogil=True, error_model="numpy")
def fill_waves(
    x: np.ndarray,
    x_rest: np.ndarray,
    gap: np.ndarray,
    ways: np.ndarray,
    ways_rest: np.ndarray,
    frequencies: np.ndarray,
    phases: np.ndarray,
    out: np.ndarray,
) -> None:  # pragma: no cover - compiled
    """cos(λ·B + b) into out (n, D), for frequencies λ (D,) and phases b (D,)."""
    fastest, latest = np.abs(frequencies).max(), np.abs(phases).max()
    row = np.empty(len(phases))
    for i in range(len(x)):
        _row(x[i], x_rest[i], gap[i], ways, ways_rest, row)
        # |B| ≤ log(4/gap): asked of the point alone, so that its row does not depend on others
        if fastest * math.log(5.0 / gap[i]) + latest < _FARTHEST:
            for j in range(len(row)):
                out[i, j] = _cos(frequencies[j] * row[j] + phases[j])
        else:
            for j in range(len(row)):
                out[i, j] = math.cos(frequencies[j] * row[j] + phases[j])


Sides = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]


class Horocycles(NamedTuple):
    """A draw of features: directions (D, d), frequencies λ (D,) and phases b (D,)."""

    directions: np.ndarray
    frequencies: np.ndarray
    phases: np.ndarray


def draw_horocycles(
    n_features: int, dimension: int, scales: tuple[float, ...], seed: int
) -> Horocycles:
    """The features that settings and a seed stand for."""
    if not isinstance(n_features, int | np.integer) or n_features < 1:
        raise InvalidInput(f"n_features must be a whole number ≥ 1, got {n_features!r}; try 128")
    if not isinstance(seed, int | np.integer) or seed < 0:
        raise InvalidInput(f"seed must be a whole number ≥ 0, got {seed!r}; try 0")
    widths = np.atleast_1d(np.asarray(scales, dtype=np.float64))
    if widths.ndim != 1 or not len(widths) or not (np.isfinite(widths) & (widths > 0.0)).all():
        raise InvalidInput(f"scales must be numbers > 0, got {scales!r}; try (1.0, 3.0)")
    stream = np.random.PCG64(int(seed))
    frequencies = np.abs(_normal(stream, n_features)) * np.resize(widths, n_features)
    phases = 2.0 * np.pi * _uniform(stream, n_features)
    if dimension == 2:
        angles = 2.0 * np.pi * np.arange(n_features) / n_features
        directions = np.column_stack((np.cos(angles), np.sin(angles)))
        order = _spread(n_features)
        return Horocycles(directions[order], frequencies[order], phases[order])
    directions = _normal(stream, n_features * dimension).reshape(n_features, dimension)
    directions /= np.hypot.reduce(directions, axis=1)[:, None]
    return Horocycles(directions, frequencies, phases)


def horocycle_features(points: Any, drawn: Horocycles, curvature: float) -> np.ndarray:
    """cos(λ·B_ω(x) + b), shape (n, D), for points (n, d)."""
    parts = _in_two_floats(points, drawn.directions, check_curvature(curvature))
    features = np.empty((len(parts[0]), len(drawn.phases)))
    fill_waves(*parts, drawn.frequencies, drawn.phases, features)
    return features


def _in_two_floats(points: Any, directions: np.ndarray, k: float) -> Sides:
    """√k·x and what that leaves out, both (n, d), the gap 1−k‖x‖² (n,), ω and what its floats have
    too much, both (d, D). Near ω the difference √k·x−ω cancels, so both sides need a second float.
    """
    x, gap = as_ball_points(points, k)
    scaled, scaled_rest = _times_root(np.ascontiguousarray(x), k)
    return scaled, scaled_rest, gap, *_directed(directions.tobytes(), directions.shape)


# A search asks for features of a few points at a time, and always in the same directions.
@lru_cache(maxsize=16)
def _directed(raw: bytes, shape: tuple[int, int]) -> tuple[np.ndarray, np.ndarray]:
    """ω and what its floats have too much, both (d, D), of the bytes of directions (D, d)."""
    directions = np.frombuffer(raw).reshape(shape)
    # ω is the direction at length one: (1 − δ/2)·direction, δ being what its square has too much
    square, error = square_norm(directions)
    rest = directions * (0.5 * ((square - 1.0) + error))[:, None]
    return directions.T.copy(), rest.T.copy()


def _times_root(x: np.ndarray, k: float) -> tuple[np.ndarray, np.ndarray]:
    """√k·x as a float and what that leaves out."""
    if k == 1.0:
        return x, np.zeros_like(x)
    root = np.sqrt(k)
    square, error = two_product(root, root)
    root_rest = ((k - square) - error) / (2.0 * root)
    product, product_rest = two_product(x, root)
    return product, product_rest + root_rest * x


def _spread(n: int) -> np.ndarray:
    """0, …, n−1 in an order in which the first few are already spread over all: in steps near the
    golden section, which alternate between odd and even wherever n is even."""
    step = round(n * 0.6180339887)
    while gcd(step, n) != 1:
        step += 1
    return np.arange(n) * step % n


def _uniform(stream: np.random.PCG64, n: int) -> np.ndarray:
    """n numbers in [0, 1) from the stream's next n words."""
    return (np.asarray(stream.random_raw(n), dtype=np.uint64) >> np.uint64(11)) * 2.0**-53


def _normal(stream: np.random.PCG64, n: int) -> np.ndarray:
    """n normal numbers from the stream's next 2n words, by the method of Box and Muller."""
    pairs = _uniform(stream, 2 * n).reshape(n, 2)
    return np.sqrt(-2.0 * np.log1p(-pairs[:, 0])) * np.cos(2.0 * np.pi * pairs[:, 1])
