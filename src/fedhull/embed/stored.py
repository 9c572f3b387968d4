"""What stands in an encoder's file is checked when it is read: whoever made it may be anybody."""

from collections.abc import Mapping
from typing import Any, TypeVar

import msgspec
import numpy as np

from fedhull.errors import InvalidInput

T = TypeVar("T")
# No fit gives larger numbers, and with these no sum or product overflows.
LARGEST = 1e30


def settings_as(kind: type[T], content: Any) -> T:
    """Plain values as a struct or dataclass; InvalidInput if one is of another type."""
    try:
        return msgspec.convert(content, kind)
    except msgspec.ValidationError as problem:
        raise InvalidInput(f"its settings break a rule: {problem}") from None


def numbers(arrays: Mapping[str, np.ndarray], name: str, *shape: int | None) -> np.ndarray:
    """The array of this name, if it is finite numbers of this shape; None fits any length above
    zero."""
    array = arrays.get(name)
    if array is None or array.dtype.kind != "f":
        raise InvalidInput(f"its array {name!r} must be there and hold numbers")
    fits = array.ndim == len(shape) and all(
        length > 0 and wanted in (None, length)
        for length, wanted in zip(array.shape, shape, strict=True)
    )
    if not fits:
        words = ", ".join("n" if wanted is None else str(wanted) for wanted in shape)
        raise InvalidInput(f"its array {name!r} must have shape ({words}), got {array.shape}")
    if not (np.abs(array) <= LARGEST).all():
        raise InvalidInput(f"its array {name!r} must hold finite numbers, up to {LARGEST:g}")
    return array


def divisors(arrays: Mapping[str, np.ndarray], name: str, *shape: int | None) -> np.ndarray:
    """The same for numbers that others are divided by."""
    array = numbers(arrays, name, *shape)
    if not (array >= 1.0 / LARGEST).all():
        raise InvalidInput(f"its array {name!r} must hold numbers > 0")
    return array
