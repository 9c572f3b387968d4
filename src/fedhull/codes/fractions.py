"""Numbers that a field alone cannot hold precisely, in two whole numbers each: what stands before
the point, and what stands behind it in units of 2⁻⁴⁴. Both add up by themselves."""

import numpy as np

_UNIT = 2.0**-44
# Up to here a float has bits left for a fraction, and sums over 1,024 sites stay below 2⁶⁰.
LARGEST = 2.0**50


def in_two(values: np.ndarray) -> np.ndarray:
    """Numbers (n,) from 0 to 2⁵⁰ as whole numbers (2, n).

    >>> in_two(np.array([7.25])).tolist()
    [[7], [4398046511104]]
    """
    whole = np.floor(values)
    return np.array([whole, np.rint((values - whole) / _UNIT)]).astype(np.int64)


def as_one(parts: np.ndarray) -> np.ndarray:
    """The inverse of `in_two`, also for sums of such numbers."""
    return parts[0] + parts[1] * _UNIT
