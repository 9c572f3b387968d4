"""The minimal convex hull (Def. 1): the corners of a set of points, as indices into it."""

from typing import Literal

import numpy as np
from numba import njit
from numpy.typing import ArrayLike

from fedhull.disc.graham import graham_hull
from fedhull.disc.points import as_ball_points, as_point_rows, check_curvature
from fedhull.disc.scan import chain_hull
from fedhull.disc.sieve import build_sieve, survivors
from fedhull.disc.solid import check_dimension, solid_hull
from fedhull.errors import InvalidInput

HullMethod = Literal["auto", "graham"]

# Below this many points the scan alone is quicker than a sieve and a scan.
_SIEVE_FROM = 4096
# A sixteenth of the points, taken in blocks over the whole set, draws the sieve for the rest.
_SAMPLE_BLOCK, _SAMPLE_SHARE = 64, 16


def minimal_hull(
    points: ArrayLike, curvature: float = 1.0, method: HullMethod = "auto"
) -> np.ndarray:
    """Indices of the corners of the convex hull of points in the Poincaré ball (Def. 1).

    points : (n, d), d from 1 to 8. In the disc (d = 2) the corners come counter-clockwise, starting
    at the point farthest from the origin, and are decided exactly: a point on the geodesic between
    two others is no corner, of equal points the first stands for all. In other dimensions they come
    in ascending order, decided in double precision.

    ``method="graham"`` runs the paper's Alg. 1–2 in place of the fast path; the answer is the same.

    >>> minimal_hull([[0.0, 0.0], [0.5, 0.0], [0.0, 0.5], [-0.5, -0.5], [0.0, 0.1]])
    array([3, 1, 2])
    """
    curvature = check_curvature(curvature)
    if method not in ("auto", "graham"):
        raise InvalidInput(f"method must be 'auto' or 'graham', got {method!r}")
    rows = as_point_rows(points)
    check_dimension(rows)
    check_rows_in_ball(rows, curvature)
    if rows.shape[1] != 2:
        if method == "graham":
            raise InvalidInput(
                f"method 'graham' works in the disc, but points have {rows.shape[1]} coordinates; "
                f"use method 'auto'"
            )
        return solid_hull(rows, curvature)
    return graham_hull(rows, curvature) if method == "graham" else disc_hull(rows, curvature)


def disc_hull(points: np.ndarray, curvature: float) -> np.ndarray:
    """`minimal_hull` of checked points of the disc, by sieve and scan."""
    if len(points) < _SIEVE_FROM:
        return chain_hull(points, curvature)
    kept = survivors_of_sieve(points, points[_sample_corners(points, curvature)], curvature)
    return kept[chain_hull(points[kept], curvature)]


def survivors_of_sieve(points: np.ndarray, corners: np.ndarray, curvature: float) -> np.ndarray:
    """Indices of the points that may lie outside the hull with these corners."""
    sieve = build_sieve(corners, curvature)
    return np.arange(len(points)) if sieve is None else survivors(points, sieve, curvature)


def _sample_corners(points: np.ndarray, curvature: float) -> np.ndarray:
    stride = _SAMPLE_BLOCK * _SAMPLE_SHARE
    begins = np.arange(0, len(points) - _SAMPLE_BLOCK + 1, stride)
    sample = (begins[:, None] + np.arange(_SAMPLE_BLOCK)).ravel()
    return sample[disc_hull(points[sample], curvature)]


def check_rows_in_ball(
    points: np.ndarray, curvature: float, name: str = "points", first_row: int = 0
) -> None:
    """Raise OutsideDisc, naming the row, unless every row lies in the open ball."""
    # a float square is within d·u of the truth; only points that close to the rim need a look
    if curvature * _largest_square(points) >= 1.0 - 2.0**-46:
        as_ball_points(points, curvature, name, first_row)


@njit(cache=True)
def _largest_square(points: np.ndarray) -> float:  # pragma: no cover - compiled
    """max ‖x‖², or infinity if any coordinate is NaN."""
    largest = 0.0
    all_numbers = True
    for i in range(points.shape[0]):
        square = 0.0
        for j in range(points.shape[1]):
            square += points[i, j] * points[i, j]
        all_numbers &= square == square
        largest = max(largest, square)
    return largest if all_numbers else np.inf
