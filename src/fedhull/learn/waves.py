"""The compiled loops of `horocycles`: B_ω(x) and cos(λ·B_ω(x) + b), row by row.

Logarithm and cosine are written out here, after fdlibm (Sun Microsystems, 1993) and with its
coefficients, so that the compiler can work on several features at once. Sums and products are in a
fixed order: a feature of a point is the same whatever else is worked out with it. The errors are
below one unit in the last place of the logarithm, and of 1 for the cosine.
"""

import math

import numpy as np
from numba import njit

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
def fill_busemann(
    x: np.ndarray,
    x_rest: np.ndarray,
    gap: np.ndarray,
    ways: np.ndarray,
    ways_rest: np.ndarray,
    out: np.ndarray,
) -> None:  # pragma: no cover - compiled
    """B into out (n, D): of points √k·x = x + x_rest (n, d) with these gaps (n,), for directions
    ways − ways_rest (d, D)."""
    for i in range(len(x)):
        _row(x[i], x_rest[i], gap[i], ways, ways_rest, out[i])


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
