"""The orientation of three points along geodesics, decided exactly.

Geodesics of the Poincaré disc are straight lines in the Klein model, where the point x sits at
2x/(1+k‖x‖²). Clearing the (positive) denominators, a → b → c turns counter-clockwise iff

    det [ 1+k‖a‖²  a₀  a₁ ]
        [ 1+k‖b‖²  b₀  b₁ ]  > 0,      a polynomial in the input floats: nothing to round.
        [ 1+k‖c‖²  c₀  c₁ ]

`turn_filtered` evaluates it in floating point and answers only when the sign is certain;
`ExactDisc.turn` evaluates it in integers and always answers.
"""

from collections.abc import Sequence

import numpy as np
from numba import njit

UNDECIDED = 2

# Every monomial of the determinant below passes through at most 11 roundings, so the computed
# value is within γ₁₁ = 11u/(1−11u) of the sum of the monomials' magnitudes (Higham, "Accuracy and
# Stability", §3.1), u = 2⁻⁵³. 16u leaves room for the rounding of that sum itself.
_RELATIVE_ERROR = 16 * 2.0**-53
# Products that underflow lose at most 2⁻¹⁰⁷⁵ each, grown by factors below 2⁶ (coordinates are
# scaled to at most 1, k below 4).
_UNDERFLOW_ERROR = 1e-300


@njit(cache=True)
def turn_filtered(
    points: np.ndarray, a: int, b: int, c: int, curvature: float
) -> int:  # pragma: no cover - compiled
    """Sign of the turn a → b → c, or UNDECIDED when rounding could flip it.

    Rows b and c are taken relative to a, which keeps the filter sharp for close neighbours.
    `points` must be scaled by `unit_scale`.
    """
    a0, a1 = points[a, 0], points[a, 1]
    b0, b1 = points[b, 0] - a0, points[b, 1] - a1
    c0, c1 = points[c, 0] - a0, points[c, 1] - a1
    # ‖b‖²−‖a‖² = ⟨b−a, b+a⟩, term by term
    bb0, bb1 = b0 * (points[b, 0] + a0), b1 * (points[b, 1] + a1)
    cc0, cc1 = c0 * (points[c, 0] + a0), c1 * (points[c, 1] + a1)
    weight = 1.0 + curvature * (a0 * a0 + a1 * a1)
    bb, cc = bb0 + bb1, cc0 + cc1
    det = weight * (b0 * c1 - b1 * c0) - curvature * (
        a0 * (bb * c1 - cc * b1) - a1 * (bb * c0 - cc * b0)
    )
    bb, cc = abs(bb0) + abs(bb1), abs(cc0) + abs(cc1)
    b0, b1, c0, c1 = abs(b0), abs(b1), abs(c0), abs(c1)
    magnitude = weight * (b0 * c1 + b1 * c0) + curvature * (
        abs(a0) * (bb * c1 + cc * b1) + abs(a1) * (bb * c0 + cc * b0)
    )
    error = _RELATIVE_ERROR * magnitude + _UNDERFLOW_ERROR
    if det > error:
        return 1
    if det < -error:
        return -1
    return UNDECIDED


def unit_scale(curvature: float) -> tuple[float, float]:
    """A power of two `scale` and `curvature/scale²` in [1, 4): scaled points have norm below 1."""
    _, exponent = np.frexp(curvature)
    half = int(exponent - 1) // 2
    return float(np.ldexp(1.0, half)), float(np.ldexp(curvature, -2 * half))


class ExactDisc:
    """Exact comparisons between points of one array, in integer arithmetic.

    Every float is an integer over a power of two, so the polynomials behind the comparisons are
    evaluated without rounding. Integer forms of the points are made when first asked for.
    """

    def __init__(self, points: np.ndarray, curvature: float):
        self._points = points
        self._shift = _bits_after_point(points)
        self._curvature, denominator = float(curvature).as_integer_ratio()
        self._one = denominator << (2 * self._shift)
        self._lifted: dict[int, tuple[int, int, int]] = {}

    def lift(self, i: int) -> tuple[int, int, int]:
        """Klein coordinates (1+k‖x‖², x₀, x₁) of point i, each column scaled to integers."""
        if i not in self._lifted:
            x, y = (_scaled_integer(float(v), self._shift) for v in self._points[i])
            self._lifted[i] = self._one + self._curvature * (x * x + y * y), x, y
        return self._lifted[i]

    def turn(self, a: int, b: int, c: int) -> int:
        """Sign of the turn a → b → c: 1 counter-clockwise, −1 clockwise, 0 on one geodesic."""
        return _sign(_determinant(self.lift(a), self.lift(b), self.lift(c)))

    def along(self, direction: tuple[int, int], a: int, b: int) -> int:
        """Sign of (b − a)·direction in Klein coordinates."""
        (wa, *xa), (wb, *xb) = self.lift(a), self.lift(b)
        return _sign(sum(d * (q * wa - p * wb) for d, p, q in zip(direction, xa, xb, strict=True)))

    def norm(self, i: int) -> int:
        """A number that grows with the distance of point i from the origin."""
        return self.lift(i)[0]

    def gap(self, i: int) -> int:
        """1 − k‖x‖², positive iff point i lies in the disc (times a positive constant)."""
        return 2 * self._one - self.lift(i)[0]

    def nearer(self, origin: int, a: int, b: int) -> int:
        """Sign of d(origin, b) − d(origin, a): which of two points is nearer to a third.

        sinh²(√k d/2) = k‖x−o‖²/((1−k‖x‖²)(1−k‖o‖²)), so ‖a−o‖²·gap(b) against ‖b−o‖²·gap(a).
        """
        _, o0, o1 = self.lift(origin)

        def square(i: int) -> int:
            _, x, y = self.lift(i)
            return (x - o0) ** 2 + (y - o1) ** 2

        return _sign(square(b) * self.gap(a) - square(a) * self.gap(b))


def _bits_after_point(points: np.ndarray) -> int:
    """Binary places that suffice to write every coordinate as an integer."""
    smallest = np.abs(points).min(initial=1.0, where=points != 0.0)
    return max(0, 53 - int(np.frexp(smallest)[1]))


def _scaled_integer(value: float, shift: int) -> int:
    numerator, denominator = value.as_integer_ratio()
    return (numerator << shift) // denominator


def _determinant(a: Sequence[int], b: Sequence[int], c: Sequence[int]) -> int:
    return (
        a[0] * (b[1] * c[2] - b[2] * c[1])
        - b[0] * (a[1] * c[2] - a[2] * c[1])
        + c[0] * (a[1] * b[2] - a[2] * b[1])
    )


def _sign(value: int) -> int:
    return (value > 0) - (value < 0)
