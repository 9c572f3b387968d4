"""A sieve for large sets: points inside a smaller hull cannot be corners.

In the Klein model the hull of a sample is a convex polygon. Seen from a centre inside it, the
plane is cut into narrow sectors, and each sector's piece of the polygon is replaced by the chord
between the two places where the sector's rays leave the polygon. Chord and centre span a triangle
inside the polygon, so a point below the chord of its sector lies inside the hull. That is one
division, one table look-up and one line test per point, with no trigonometry.
"""

from typing import NamedTuple

import numpy as np
from numba import njit

_SECTORS = 2048
# Everything here is computed with absolute errors of at most 32u ≈ 4e-15 on coordinates below 1.
# A polygon that stays t away from its centre turns them into relative errors of at most 4e-15/t of
# a chord's distance. Every chord is shrunk by six times that, and a polygon so thin that it would
# lose more than a quarter is not used at all.
_SHRINK_TIMES_WIDTH, _LEAST_SHRINK, _MOST_SHRINK = 2.5e-14, 1e-9, 0.25
# Edges this short compared with the longest have no reliable direction; their corner is left out.
_SHORT_EDGE = 1e-9


class Sieve(NamedTuple):
    """Chords: a point X of the Klein disc is inside if normals[sector]·(X−centre) < 1."""

    centre: np.ndarray
    normals: np.ndarray


def build_sieve(corners: np.ndarray, curvature: float) -> Sieve | None:
    """The sieve of a hull given by its corners, counter-clockwise; None if the hull is too thin."""
    if len(corners) < 3:
        return None
    polygon = _klein(corners, curvature)
    centre = polygon.mean(axis=0)
    polygon -= centre
    lengths = np.hypot(*_edges(polygon).T)
    polygon = polygon[lengths > _SHORT_EDGE * lengths.max()]
    if len(polygon) < 3:
        return None
    edges = _edges(polygon)
    # twice the area of the triangle (centre, corner, next corner)
    areas = polygon[:, 0] * edges[:, 1] - polygon[:, 1] * edges[:, 0]
    width = (areas / np.hypot(*edges.T)).min()
    if width * _MOST_SHRINK < _SHRINK_TIMES_WIDTH:
        return None
    shrink = max(_LEAST_SHRINK, _SHRINK_TIMES_WIDTH / width)
    angles = np.linspace(-1.0, 3.0, _SECTORS + 1)
    rays = _direction(angles)
    corner_angles = _diamond_angle(polygon)
    first = int(np.argmin(corner_angles))
    corner_angles = np.roll(corner_angles, -first)
    edge = (np.searchsorted(corner_angles, angles, side="right") - 1 + first) % len(polygon)
    slopes = rays[:, 0] * edges[edge, 1] - rays[:, 1] * edges[edge, 0]
    reach = (1.0 - shrink) * areas[edge] / slopes
    exits = reach[:, None] * rays
    chords = np.diff(exits, axis=0)
    offsets = exits[:-1, 0] * chords[:, 1] - exits[:-1, 1] * chords[:, 0]
    normals = np.column_stack((chords[:, 1], -chords[:, 0])) / offsets[:, None]
    return Sieve(centre, np.ascontiguousarray(normals))


def survivors(points: np.ndarray, sieve: Sieve, curvature: float) -> np.ndarray:
    """Indices of the points that are not certainly inside the sieve's hull, ascending."""
    rows = np.empty(len(points), dtype=np.int64)
    return rows[: _survivors(points, sieve.centre, sieve.normals, curvature, rows)].copy()


@njit(cache=True, error_model="numpy")
def _survivors(
    points: np.ndarray, centre: np.ndarray, normals: np.ndarray, curvature: float, rows: np.ndarray
) -> int:  # pragma: no cover - compiled
    n_kept = 0
    c0, c1 = centre
    two_root = 2.0 * np.sqrt(curvature)
    sectors_per_unit = len(normals) / 4.0
    for i in range(len(points)):
        x, y = points[i, 0], points[i, 1]
        # homogeneous Klein coordinates relative to the centre: (r0, r1) = weight·(X − centre)
        weight = 1.0 + curvature * (x * x + y * y)
        r0 = two_root * x - c0 * weight
        r1 = two_root * y - c1 * weight
        span = abs(r0) + abs(r1)
        if span == 0.0:
            continue
        q = r1 / span
        angle = q if r0 >= 0.0 else 2.0 - q
        sector = min(int((angle + 1.0) * sectors_per_unit), len(normals) - 1)
        if normals[sector, 0] * r0 + normals[sector, 1] * r1 >= weight:
            rows[n_kept] = i
            n_kept += 1
    return n_kept


def _edges(polygon: np.ndarray) -> np.ndarray:
    return np.roll(polygon, -1, axis=0) - polygon


def _klein(points: np.ndarray, curvature: float) -> np.ndarray:
    weight = 1.0 + curvature * (points[:, 0] ** 2 + points[:, 1] ** 2)
    return 2.0 * np.sqrt(curvature) * points / weight[:, None]


def _diamond_angle(vectors: np.ndarray) -> np.ndarray:
    """An angle without trigonometry: −1 at (0,−1), 0 at (1,0), 1 at (0,1), 2 at (−1,0), below 3."""
    x, y = vectors[:, 0], vectors[:, 1]
    q = y / (np.abs(x) + np.abs(y))
    return np.where(x >= 0.0, q, 2.0 - q)


def _direction(angles: np.ndarray) -> np.ndarray:
    """The vector of `_diamond_angle`, with |x|+|y| = 1."""
    y = np.where(angles <= 1.0, angles, 2.0 - angles)
    x = (1.0 - np.abs(y)) * np.where(angles <= 1.0, 1.0, -1.0)
    return np.column_stack((x, y))
