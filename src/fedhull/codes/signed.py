"""Whole numbers of either sign as elements of a prime field, and back: q − n stands for −n."""

import numpy as np

from fedhull.codes.field import Field


def to_elements(values: np.ndarray, field: Field) -> np.ndarray:
    """int64 numbers strictly between −q/2 and q/2, q below 2⁶³, as elements of the field.

    >>> from_elements(to_elements(np.array([-3, 4]), Field(101)), Field(101)).tolist()
    [-3, 4]
    """
    return np.where(values < 0, values + field.q, values).astype(np.uint64)


def from_elements(elements: np.ndarray, field: Field) -> np.ndarray:
    """The inverse of `to_elements`, as int64."""
    values = elements.astype(np.int64)
    return np.where(values > field.q // 2, values - field.q, values)
