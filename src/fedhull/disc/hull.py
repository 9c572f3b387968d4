"""Minimal convex hulls (Def. 1) of arrays and of streams, and ε-minimal hulls (Def. 4–5).

In the disc a sieve and an exact scan find the corners. In other dimensions hulls are convex in the
Klein model, so Qhull finds them there.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Literal

import numpy as np
from numba import njit
from numpy.typing import ArrayLike

from fedhull.disc.microaggregation import microaggregate
from fedhull.disc.points import as_ball_points, as_numbers, as_point_rows, check_curvature
from fedhull.disc.quantize import PolarBins, Quantizer
from fedhull.disc.scan import chain_hull, graham_hull
from fedhull.disc.sieve import build_sieve, survivors
from fedhull.errors import InvalidInput

if TYPE_CHECKING:
    from scipy.spatial import ConvexHull

HullMethod = Literal["auto", "graham"]

# Below this many points the scan alone is quicker than a sieve and a scan.
_SIEVE_FROM = 4096
# A sixteenth of the points, taken in blocks over the whole set, draws the sieve for the rest.
_SAMPLE_BLOCK, _SAMPLE_SHARE = 64, 16
_LARGEST_DIMENSION = 8
# A set thinner than this share of its width counts as flat, a corner blunter than this (in radians)
# as no corner.
_FLAT = 1e-10
# Below this the quick test for blunt corners is mostly rounding, and the careful one decides.
_BLUNT = 1e-12
# Rows of a stream that are worked on together.
_ROWS_AT_ONCE = 1 << 20


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
                f"method 'graham' works in the disc, not with {rows.shape[1]} coordinates"
            )
        return solid_hull(rows, curvature)
    return graham_hull(rows, curvature) if method == "graham" else disc_hull(rows, curvature)


def disc_hull(points: np.ndarray, curvature: float) -> np.ndarray:
    """`minimal_hull` of checked points of the disc, by sieve and scan."""
    if len(points) < _SIEVE_FROM:
        return chain_hull(points, curvature)
    candidates = survivors_of_sieve(points, points[_sample_corners(points, curvature)], curvature)
    return candidates[chain_hull(points[candidates], curvature)]


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


def solid_hull(points: np.ndarray, curvature: float) -> np.ndarray:
    """Indices of the corners of the hull of points (n, d), ascending; of equal points the first."""
    # adding 0.0 turns −0.0 into 0.0, which np.unique tells apart
    _, first = np.unique(points + 0.0, axis=0, return_index=True)
    first = np.sort(first)
    weights = 1.0 + curvature * (points[first] ** 2).sum(axis=1, keepdims=True)
    flat = _in_own_dimension(points[first] / weights)
    return np.sort(first[_corners(flat)])


def check_dimension(points: np.ndarray) -> None:
    """Refuse more coordinates than Qhull can cope with."""
    if points.shape[1] > _LARGEST_DIMENSION:
        raise InvalidInput(
            f"points must have at most {_LARGEST_DIMENSION} coordinates, got an array of shape "
            f"{points.shape}; embed in fewer dimensions, or transpose it if points are its columns"
        )


def _in_own_dimension(points: np.ndarray) -> np.ndarray:
    """The points in coordinates of the smallest flat that holds them all."""
    centred = points - points.mean(axis=0)
    _, widths, axes = np.linalg.svd(centred, full_matrices=False)
    rank = int((widths > _FLAT * max(widths[0], 1e-300)).sum()) if len(points) > 1 else 0
    return centred @ axes[:rank].T


def _corners(points: np.ndarray) -> np.ndarray:
    dimension = points.shape[1]
    if dimension == 0:
        return np.array([0])
    if dimension == 1:
        return np.array([points[:, 0].argmin(), points[:, 0].argmax()])
    from scipy.spatial import ConvexHull  # slow to import, and the plane does without

    hull = ConvexHull(points)
    return hull.vertices[_is_pointed(hull)]


def _is_pointed(hull: "ConvexHull") -> np.ndarray:
    """Select Qhull's vertices that are corners: those whose facets' normals span the whole space.

    Qhull keeps some points inside an edge or a face; their normals span less.
    """
    normals = hull.equations[:, :-1]
    dimension = normals.shape[1]
    spread = np.zeros((len(hull.points), dimension, dimension))
    for column in hull.simplices.T:
        np.add.at(spread, column, normals[:, :, None] * normals[:, None, :])
    spread = spread[hull.vertices]
    smallest = np.linalg.eigvalsh(spread)[:, 0] / np.trace(spread, axis1=1, axis2=2)
    pointed = smallest > _BLUNT
    for i in np.flatnonzero(~pointed):
        around = normals[(hull.simplices == hull.vertices[i]).any(axis=1)]
        directions = around - around[0]
        directions[0] = around[0]
        pointed[i] = np.linalg.matrix_rank(directions, tol=_FLAT) == dimension
    return pointed


def epsilon_hull(points: ArrayLike, quantizer: PolarBins) -> np.ndarray:
    """Bins of the ε-minimal hull: hull, quantize, hull again (Def. 4), counter-clockwise.

    >>> from fedhull import Quantizer
    >>> quantizer = Quantizer(epsilon=2.0, radius=0.95)
    >>> epsilon_hull([[0.1, 0.0], [0.7, 0.1], [0.71, 0.11], [0.0, 0.6]], quantizer)
    array([127, 154,   1, 126])
    """
    if not isinstance(quantizer, PolarBins):
        raise InvalidInput(f"quantizer must be a Quantizer, got {quantizer!r}")
    rows = as_point_rows(points)
    corners = minimal_hull(rows, quantizer.curvature)
    bins = np.unique(quantizer.encode(rows[corners], row_numbers=corners))
    return bins[minimal_hull(quantizer.decode(bins), quantizer.curvature)]


def hull_complexity(points: ArrayLike, quantizer: PolarBins) -> int:
    """The ε-convex hull complexity (Def. 5): the number of bins an observer of the hull learns."""
    return len(epsilon_hull(points, quantizer))


class HullStream:
    """The minimal hull of all points fed so far, in memory that does not grow with their number.

    `points` holds the corners, in the order of `minimal_hull`, and `indices` their positions among
    the `n_seen` points fed. It rests on CH(A ∪ B) = CH(CH(A) ∪ B).

    >>> stream = HullStream()
    >>> stream.update([[0.0, 0.0], [0.5, 0.0]]).update([[0.0, 0.5], [0.1, 0.1]]).points
    array([[0.5, 0. ],
           [0. , 0.5],
           [0. , 0. ]])
    """

    def __init__(self, curvature: float = 1.0):
        self.curvature = check_curvature(curvature)
        self.points = np.empty((0, 2))
        self.indices = np.empty(0, dtype=np.int64)
        self.n_seen = 0

    def update(self, chunk: ArrayLike | Iterator[ArrayLike]) -> "HullStream":
        """Feed points (n, d): an array, a memory map of any size, or an iterator of such chunks.

        A chunk with a bad point is refused whole; the chunks before it stay."""
        if isinstance(chunk, Iterator):
            for part in chunk:
                self.update(part)
            return self
        mapped = chunk if isinstance(chunk, np.ndarray) else as_numbers(chunk, "chunk", "(n, d)")
        if mapped.ndim != 2:
            raise InvalidInput(
                f"chunk must have shape (n, d), got {mapped.shape}; pass a list as iter(chunks)"
            )
        parts = [mapped[i : i + _ROWS_AT_ONCE] for i in range(0, len(mapped), _ROWS_AT_ONCE)]
        for i, part in enumerate(parts):
            self._check(as_point_rows(part, "chunk"), first_row=i * _ROWS_AT_ONCE)
        for part in parts:
            self._add(as_point_rows(part, "chunk"))
        return self

    def __repr__(self) -> str:
        return f"HullStream({self.n_seen:,} points seen, {len(self.points):,} corners)"

    def _check(self, rows: np.ndarray, first_row: int) -> None:
        if self.n_seen and rows.shape[1] != self.points.shape[1]:
            raise InvalidInput(
                f"chunk must have {self.points.shape[1]} coordinates like those before it, "
                f"got {rows.shape[1]}"
            )
        check_dimension(rows)
        check_rows_in_ball(rows, self.curvature, "chunk", first_row)

    def _add(self, rows: np.ndarray) -> None:
        flat = rows.shape[1] == 2
        # in the disc, points inside the hull so far need no second look
        new = (
            survivors_of_sieve(rows, self.points, self.curvature) if flat else np.arange(len(rows))
        )
        points = np.concatenate((self.points.reshape(-1, rows.shape[1]), rows[new]))
        indices = np.concatenate((self.indices, self.n_seen + new))
        corners = (disc_hull if flat else solid_hull)(points, self.curvature)
        self.points, self.indices = points[corners], indices[corners]
        self.n_seen += len(rows)


def compile_kernels() -> None:
    """Run each compiled function once on tiny input; compiled code is cached on disk."""
    triangle = np.array([[0.5, 0.0], [0.0, 0.5], [-0.5, -0.5]])
    minimal_hull(triangle)
    microaggregate(np.concatenate((triangle, triangle / 2)), 2)
    sieve = build_sieve(triangle, 1.0)
    assert sieve is not None
    survivors(triangle, sieve, 1.0)
    quantizer = Quantizer(1.0, 0.9)
    quantizer.decode(quantizer.encode(triangle))
