"""Hulls off the plane, in dimension 1 and 3 to 8: Qhull in the Klein model, in double precision."""

from typing import TYPE_CHECKING

import numpy as np

from fedhull.errors import InvalidInput

if TYPE_CHECKING:
    from scipy.spatial import ConvexHull

_LARGEST_DIMENSION = 8
# A set thinner than this share of its width counts as flat, a corner blunter than this (in radians)
# as no corner.
_FLAT = 1e-10
# Below this the quick test for blunt corners is mostly rounding, and the careful one decides.
_BLUNT = 1e-12


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
    """Which of Qhull's vertices are corners: those whose facets' normals span the whole space.

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
