"""What counts as a point of the ball: the checks at the door of every public function."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from fedhull.disc.rim import rim_gap
from fedhull.errors import InvalidInput, OutsideDisc

_SMALLEST_CURVATURE, _LARGEST_CURVATURE = 1e-100, 1e100


def check_curvature(curvature: Any) -> float:
    """k > 0 as a float; the space has curvature −k.

    >>> check_curvature(0)
    Traceback (most recent call last):
    ...
    fedhull.errors.InvalidInput: curvature must be a number k > 0 (the space has curvature −k), \
got 0; the usual choice is 1.0
    """
    try:
        value = float(curvature)
    except (TypeError, ValueError):
        value = float("nan")
    if not _SMALLEST_CURVATURE <= value <= _LARGEST_CURVATURE:
        bounds = (
            f", between {_SMALLEST_CURVATURE:g} and {_LARGEST_CURVATURE:g}" if value > 0 else ""
        )
        raise InvalidInput(
            f"curvature must be a number k > 0 (the space has curvature −k){bounds}, "
            f"got {curvature!r}; the usual choice is 1.0"
        )
    return value


def check_positive(value: Any, name: str, example: str) -> float:
    """A finite number above zero, as a float."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = float("nan")
    if not 0.0 < number < float("inf"):
        raise InvalidInput(f"{name} must be a number > 0, got {value!r}; try {example}")
    return number


def check_count(value: Any, name: str, least: int = 1) -> int:
    """A whole number of at least `least`, as an int."""
    whole = isinstance(value, (int, np.integer)) and not isinstance(value, bool)
    if isinstance(value, float) and value.is_integer():
        whole = True
    if not whole or value < least:
        raise InvalidInput(f"{name} must be a whole number of at least {least}, got {value!r}")
    return int(value)


def as_vectors(values: ArrayLike, name: str) -> np.ndarray:
    """A float array of shape (..., d), d ≥ 1, with no NaN or infinity."""
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidInput(f"{name} must be an array of numbers of shape (..., d)") from None
    if array.ndim == 0 or array.shape[-1] == 0:
        raise InvalidInput(
            f"{name} must have shape (..., d) with d ≥ 1 coordinates, got shape {array.shape}"
        )
    if not np.isfinite(array).all():
        where = _row_of(np.asarray(~np.isfinite(array).all(axis=-1)))
        raise InvalidInput(
            f"{name} must be finite, but {where} holds NaN or infinity; drop or mend it"
        )
    return array


def as_ball_points(
    points: ArrayLike, curvature: float, name: str = "points"
) -> tuple[np.ndarray, np.ndarray]:
    """Points of the open ball, shape (..., d), and their gap 1 − k‖x‖² > 0, shape (...)."""
    array = as_vectors(points, name)
    with np.errstate(over="ignore", invalid="ignore"):  # absurdly large points give NaN
        gap = rim_gap(array, curvature)
    outside = np.asarray(~(gap > 0.0))
    if outside.any():
        first = array[np.unravel_index(np.argmax(outside), outside.shape)]
        count = int(outside.sum())
        raise OutsideDisc(
            f"{name} must lie inside the Poincaré ball of radius 1/√k = {curvature**-0.5:.6g}, but "
            f"{_row_of(outside)} has norm {np.hypot.reduce(first):.15g}"
            f"{f' (and {count - 1} more are outside)' if count > 1 else ''}; "
            f"rescale the embedding or pass its curvature"
        )
    return array, gap


def as_point_rows(points: ArrayLike, name: str = "points") -> np.ndarray:
    """A C-ordered float array of shape (n, d) with n ≥ 1; whether the rows lie in the ball is left
    to the caller, who goes over them anyway."""
    try:
        array = np.ascontiguousarray(points, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidInput(f"{name} must be an array of numbers of shape (n, d)") from None
    if np.ndim(points) != 2 or array.shape[1] == 0:
        raise InvalidInput(f"{name} must have shape (n, d), got shape {np.shape(points)}")
    if len(array) == 0:
        raise InvalidInput(f"{name} must hold at least one point, got shape {array.shape}")
    return array


def _row_of(bad: np.ndarray) -> str:
    if bad.ndim == 0:
        return "it"
    index = tuple(int(i) for i in np.unravel_index(np.argmax(bad), bad.shape))
    return f"row {index[0] if len(index) == 1 else index}"
