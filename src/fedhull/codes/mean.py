"""Weighted means of many numbers from one exact sum: fixed point over a prime field.

A site with numbers w (P,) and weight n adds n·W_1, …, n·W_P, n, where W is w in units of 2^−22;
the sum over the sites, divided by its last element, is the mean. Nothing wraps: with |w| ≤ 2^6,
n ≤ 2^20 and at most 2^10 sites, sums are at most 2^58, and the field has 2^61 − 1 elements.
"""

from dataclasses import dataclass

import numpy as np

from fedhull.codes.field import Field
from fedhull.codes.signed import from_elements, to_elements
from fedhull.errors import DecodingError, InvalidInput

MEAN_FIELD = Field(2**61 - 1)
UNIT, LARGEST, MOST_WEIGHT, MOST_SITES = 2.0**-22, 2**6, 2**20, 2**10
_LARGEST_FIXED = int(LARGEST / UNIT)


@dataclass(frozen=True)
class WeightedSum:
    """Σ n·W, (P,), as integers in units of 2^−22, and Σ n."""

    sums: np.ndarray
    weight: int

    @property
    def mean(self) -> np.ndarray:
        """The mean, (P,), in float32."""
        return (self.sums / self.weight * UNIT).astype(np.float32)


def to_fixed(values: np.ndarray) -> np.ndarray:
    """Numbers as integers in units of 2^−22, rounded to the nearest.

    >>> to_fixed(np.array([1.0, -0.5, 2.0**-23 * 3])).tolist()
    [4194304, -2097152, 2]
    """
    wide = np.asarray(values, dtype=np.float64)
    if not (np.abs(wide) <= LARGEST).all():
        raise InvalidInput(
            f"every number in a mean must lie between −{LARGEST} and {LARGEST}, but "
            f"{np.count_nonzero(~(np.abs(wide) <= LARGEST))} do not; if they are weights, training "
            f"has diverged: try a smaller learning_rate"
        )
    return np.rint(wide / UNIT).astype(np.int64)


def encode_weighted(fixed: np.ndarray, weight: int) -> np.ndarray:
    """What a site adds to the sum, P + 1 elements of the field.

    >>> MEAN_FIELD.to_ints(encode_weighted(np.array([3, -1]), 2)) == [6, MEAN_FIELD.q - 2, 2]
    True
    """
    if not 1 <= weight <= MOST_WEIGHT:
        raise InvalidInput(f"a weight must be between 1 and {MOST_WEIGHT:,}, got {weight}")
    return to_elements(np.append(fixed * weight, weight), MEAN_FIELD)


def decode_weighted(total: np.ndarray, sites: int) -> WeightedSum:
    """The sum over the sites; DecodingError if no such sites could have made it."""
    centred = from_elements(total, MEAN_FIELD)
    sums, weight = centred[:-1], int(centred[-1])
    if not sites <= weight <= sites * MOST_WEIGHT or (np.abs(sums) > weight * _LARGEST_FIXED).any():
        raise DecodingError(
            "the sum is not a weighted mean of numbers within the agreed range; some site sent "
            "something else"
        )
    return WeightedSum(sums, weight)
