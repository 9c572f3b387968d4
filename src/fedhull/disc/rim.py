"""1 − k‖x‖², the quantity on which all accuracy near the rim of the ball hangs.

At ‖x‖√k = 1−1e-12 a plain evaluation keeps four digits. Here the squares are summed together with
their rounding errors (error-free transformations: Dekker's product, Knuth's sum), and the result
is good to the last few bits however close to the rim the point lies.
"""

from typing import Any

import numpy as np

Numbers = np.ndarray | float
_SPLITTER = 2.0**27 + 1.0


def rim_gap(points: np.ndarray, curvature: float) -> np.ndarray:
    """1 − k‖x‖² for points (..., d), shape (...), accurate to a few units in the last place.

    >>> print(rim_gap(np.array([1.0 - 2.0**-40]), 1.0) * 2.0**39)
    0.9999999999995453
    """
    from fedhull.disc.rim_kernel import rim_gaps  # Numba, which what checks no points does without

    rows = np.ascontiguousarray(points, dtype=np.float64).reshape(-1, points.shape[-1])
    gaps: np.ndarray = rim_gaps(rows, float(curvature)).reshape(points.shape[:-1])
    return gaps[()]  # a number for a single point


def square_norm(points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """‖x‖² as a rounded sum and a correction to it, together good to 2⁻¹⁰⁰ of the value."""
    squares = np.zeros(points.shape[:-1])
    errors = np.zeros(points.shape[:-1])
    for axis in range(points.shape[-1]):
        square, product_error = two_product(points[..., axis], points[..., axis])
        squares, sum_error = two_sum(squares, square)
        errors = errors + (sum_error + product_error)
    return squares, errors


def pull_inside(points: np.ndarray, curvature: float) -> np.ndarray:
    """Move what rounding has put on or beyond the rim to the nearest floats inside the ball."""
    while (on_rim := rim_gap(points, curvature) <= 0.0).any():
        points = np.where(on_rim[..., None], np.nextafter(points, 0.0), points)
    return points


def two_sum(a: Numbers, b: Numbers) -> tuple[Any, Any]:
    """a + b as a rounded sum and its exact rounding error."""
    total = a + b
    shadow = total - a
    return total, (a - (total - shadow)) + (b - shadow)


def two_product(a: Numbers, b: Numbers) -> tuple[Any, Any]:
    """a · b as a rounded product and its exact rounding error."""
    product = a * b
    a_high, a_low = split(a)
    b_high, b_low = split(b)
    rest = ((product - a_high * b_high) - a_low * b_high) - a_high * b_low
    return product, a_low * b_low - rest


def split(a: Numbers) -> tuple[Any, Any]:
    """a as the sum of two numbers of 26 bits each."""
    scaled = _SPLITTER * a
    high = scaled - (scaled - a)
    return high, a - high
