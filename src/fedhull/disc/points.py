"""Points of the ball, checked at the door of every public function."""

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
    value = _number(curvature)
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
    number = _number(value)
    if not 0.0 < number < float("inf"):
        raise InvalidInput(f"{name} must be a number > 0, got {value!r}; try {example}")
    return number


def check_share(value: Any, name: str, rule: str, example: str) -> float:
    """A finite number ≥ 0, as a float; `rule` says what it means."""
    number = _number(value)
    if not 0.0 <= number < float("inf"):
        raise InvalidInput(f"{name} must be {rule}, got {value!r}; try {example}")
    return number


def check_count(value: Any, name: str, least: int = 1) -> int:
    """A whole number of at least `least`, as an int."""
    whole = isinstance(value, (int, np.integer)) and not isinstance(value, bool)
    if isinstance(value, float) and value.is_integer():
        whole = True
    if not whole or value < least:
        raise InvalidInput(f"{name} must be a whole number of at least {least}, got {value!r}")
    return int(value)


def as_numbers(values: Any, name: str, shape: str) -> np.ndarray:
    """A float array; whatever is not plain numbers is refused."""
    try:
        array = np.asarray(values)
        if array.dtype.kind not in "biufO" or np.ma.is_masked(values):
            raise TypeError
        return array.astype(np.float64, copy=False)
    except (TypeError, ValueError):
        kind = "a masked array" if np.ma.is_masked(values) else f"a {type(values).__name__}"
        raise InvalidInput(
            f"{name} must be an array of numbers of shape {shape}, got {kind} that is not"
        ) from None


def as_vectors(values: ArrayLike, name: str, first_row: int = 0) -> np.ndarray:
    """A float array of shape (..., d), d ≥ 1, with no NaN or infinity."""
    array = as_numbers(values, name, "(..., d)")
    if array.ndim == 0 or array.shape[-1] == 0:
        raise InvalidInput(
            f"{name} must have shape (..., d) with d ≥ 1 coordinates, got shape {array.shape}"
        )
    if not np.isfinite(array).all():
        where = _row_of(np.asarray(~np.isfinite(array).all(axis=-1)), first_row)
        raise InvalidInput(
            f"{name} must be finite, but {where} holds NaN or infinity; drop or fix it"
        )
    return array


def as_ball_points(
    points: ArrayLike, curvature: float, name: str = "points", first_row: int = 0
) -> tuple[np.ndarray, np.ndarray]:
    """Points of the open ball, shape (..., d), and their gap 1 − k‖x‖² > 0, shape (...).

    Errors count rows from `first_row`."""
    array = as_vectors(points, name, first_row)
    with np.errstate(over="ignore", invalid="ignore"):  # absurdly large points give NaN
        gap = rim_gap(array, curvature)
    outside = np.asarray(~(gap > 0.0))
    if outside.any():
        first = array[np.unravel_index(np.argmax(outside), outside.shape)]
        count = int(outside.sum())
        raise OutsideDisc(
            f"{name} must lie inside the Poincaré ball of radius 1/√k = {curvature**-0.5:.6g}, but "
            f"{_row_of(outside, first_row)} has norm {float(np.hypot.reduce(first))!r}"
            f"{f' (and {count - 1} more are outside)' if count > 1 else ''}; "
            f"rescale the embedding or pass its curvature"
        )
    return array, gap


def as_point_rows(points: ArrayLike, name: str = "points") -> np.ndarray:
    """A C-ordered float array (n, d), n ≥ 1; the caller checks that rows lie in the ball."""
    array = as_numbers(points, name, "(n, d)")
    if array.ndim != 2 or array.shape[1] == 0:
        raise InvalidInput(f"{name} must have shape (n, d), got shape {array.shape}")
    if len(array) == 0:
        raise InvalidInput(f"{name} must hold at least one point, got shape {array.shape}")
    return np.ascontiguousarray(array)


def as_weights(weights: ArrayLike | None, n: int) -> np.ndarray:
    """Weights (n,) ≥ 0, by default ones, scaled by a power of two to a maximum near one."""
    if weights is None:
        return np.ones(n)
    w = as_numbers(weights, "weights", "(n,)")
    if w.shape != (n,):
        raise InvalidInput(f"weights must have shape ({n},), one for each point, got {w.shape}")
    if not (np.isfinite(w).all() and (w >= 0.0).all() and (w > 0.0).any()):
        raise InvalidInput("weights must be finite, none negative and not all zero")
    return np.ldexp(w, -np.frexp(w.max())[1])


def check_alike(**arrays: np.ndarray) -> None:
    """Arrays of vectors must have equally many coordinates and shapes that broadcast."""
    names, shapes = " and ".join(arrays), [a.shape for a in arrays.values()]
    if len({shape[-1] for shape in shapes}) > 1:
        counts = ", ".join(str(shape[-1]) for shape in shapes)
        raise InvalidInput(f"{names} must have the same number of coordinates, got {counts}")
    try:
        np.broadcast_shapes(*(shape[:-1] for shape in shapes))
    except ValueError:
        raise InvalidInput(f"{names} must have shapes that broadcast, got {shapes}") from None


def _number(value: Any) -> float:
    """The value as a float; NaN, which no rule admits, if it is no number."""
    try:
        return float(value)
    except (TypeError, ValueError):
        return float("nan")


def _row_of(bad: np.ndarray, first_row: int) -> str:
    if bad.ndim == 0:
        return "it"
    first, *others = (int(i) for i in np.unravel_index(np.argmax(bad), bad.shape))
    return f"row {(first + first_row, *others) if others else first + first_row}"
