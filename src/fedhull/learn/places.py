"""The place of a class at a site: the middle of its cells and their scatter, which isometries move.

A sketch tells classes apart, but nobody can say what it would be had the site been turned a little.
A place can be moved: it is the middle of the cells (two numbers) and the covariance of the ways
from there to the cells (three). The middle is Huber's: ways longer than 1.5 count as 1.5, so that a
few cells far off do not decide. Five numbers, fewer than a sketch has, cannot be solved for five
cells, which have ten coordinates.

Every number lies in [−1, 1] and leaves in the fixed point of sketches. No two sites fill one slot,
so that a place need not be a sum over cells.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from fedhull.disc.isometry import Isometry
from fedhull.disc.maps import centroid, centroids, distance
from fedhull.disc.points import as_point_rows, check_curvature
from fedhull.errors import InvalidInput
from fedhull.learn.centres import FARTHEST, clipped
from fedhull.learn.content import NARROWEST, Landmarks
from fedhull.learn.horocycles import Horocycles, horocycle_features
from fedhull.learn.sketch import from_fixed, sketch_waves, to_fixed

LENGTH = 5
# Cells count as no farther from the middle than this; no covariance exceeds its square.
_WIDEST = 1.5
_STEPS = 20
# What leaves are multiples of 2⁻¹⁰: whoever has a list of candidate cells is told no more than the
# matching needs.
_STEP = 1 << 14
# Cells scatter by no less than this, squared, along any axis.
_LEAST_SCATTER = 1e-3
# What a normal distribution looks like to five points on each axis.
_NODES, _WEIGHTS = np.polynomial.hermite_e.hermegauss(5)
_GRID = np.stack(np.meshgrid(_NODES, _NODES), axis=-1).reshape(-1, 2)
_GRID_WEIGHTS = np.outer(_WEIGHTS, _WEIGHTS).ravel() / _WEIGHTS.sum() ** 2
# Where the search for a class begins: distances from the origin, angles, spreads.
_STARTS = np.array(
    [
        (rho, theta, np.log(spread))
        for rho in np.linspace(0.0, 7.0, 15)
        for theta in np.linspace(0.0, 2.0 * np.pi, 36, endpoint=False)
        for spread in (0.15, 0.4, 1.0)
    ]
)
_SEARCH_STEPS = 120
# No class is taken to be wider than this, in units of 1/√k.
_WIDEST_CLASS = 3.0


class Places(NamedTuple):
    """Centres z (n,) in the unit disc, complex, and covariances (n, 2, 2) in units of 1/k."""

    centres: np.ndarray
    scatter: np.ndarray

    def of(self, which: np.ndarray) -> "Places":
        """Some of them."""
        return Places(self.centres[which], self.scatter[which])

    def moved(self, f: Isometry) -> "Places":
        """The places after an isometry of the unit disc that does not reflect."""
        p, turn = complex(*f.shift), complex(*f.turn[:, 0])
        spun = turn * self.centres
        below = 1.0 + np.conj(p) * spun
        # the map's derivative turns by this
        angle = np.angle(turn) - 2.0 * np.angle(below)
        q = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
        q = np.moveaxis(q, -1, 0)
        return Places((p + spun) / below, q @ self.scatter @ np.swapaxes(q, 1, 2))

    def sketches(self, seed: int = 0) -> np.ndarray:
        """The mean sketches (n, 8) of normally distributed cells at these places."""
        return self.mean_features(sketch_waves(2, seed))

    def mean_features(self, drawn: Horocycles) -> np.ndarray:
        """The mean features (n, D) of normally distributed cells at these places."""
        roots = np.linalg.cholesky(self.scatter)
        away = np.einsum("nab,gb->nga", roots, _GRID)
        length = np.maximum(np.hypot.reduce(away, axis=-1), 1e-300)
        flat = np.tanh(length / 2.0) * (away[..., 0] + 1j * away[..., 1]) / length
        c = self.centres[:, None]
        cells = (c + flat) / (1.0 + np.conj(c) * flat)
        points = clipped(np.column_stack((cells.real.ravel(), cells.imag.ravel())))
        features = horocycle_features(points, drawn, 1.0)
        return np.einsum("g,ngm->nm", _GRID_WEIGHTS, features.reshape(*cells.shape, -1))


def class_place(points: ArrayLike, curvature: float = 1.0) -> np.ndarray:
    """The place (5,) of cells (n, 2) of one class, in units of 2⁻²⁴.

    >>> class_place([[0.5, 0.0], [0.5, 0.0]]) / 2**24
    array([0.5, 0. , 0. , 0. , 0. ])
    """
    k = check_curvature(curvature)
    x = as_point_rows(points)
    if x.shape[1] != 2:
        raise InvalidInput(f"points must have shape (n, 2): places are of the disc, got {x.shape}")
    near = np.sqrt(k) * clipped(x, k)
    middle, cells = complex(*centroid(near)), near[:, 0] + 1j * near[:, 1]
    for _ in range(_STEPS):
        step = complex(_ways(middle, cells).mean())
        there = np.tanh(abs(step) / 2.0) * step / max(abs(step), 1e-300)
        middle = (middle + there) / (1.0 + middle.conjugate() * there)
    ways = _ways(middle, cells)
    east, north = ways.real, ways.imag
    scatter = np.array([east @ east, east @ north, north @ north]) / len(ways) / _WIDEST**2
    numbers = to_fixed([middle.real, middle.imag, *scatter])
    return (numbers + _STEP // 2) // _STEP * _STEP


def _ways(middle: complex, cells: np.ndarray) -> np.ndarray:
    """Ways (n,) from a middle to cells (n,), complex, as long as the distance but at most Huber's
    limit. Cells that `clipped` has left need no care at the rim."""
    moved = (cells - middle) / (1.0 - np.conj(middle) * cells)
    radius = np.maximum(np.abs(moved), 1e-300)
    return moved * (np.minimum(2.0 * np.arctanh(radius), _WIDEST) / radius)


def slot_places(values: ArrayLike) -> Places:
    """The places that slots (n, 5) say; what no cells can make is refused.

    >>> slot_places([class_place([[0.5, 0.0], [0.5, 0.0]])]).centres
    array([0.5+0.j])
    """
    table = np.asarray(values)
    if table.ndim != 2 or table.shape[1] != LENGTH:
        raise InvalidInput(f"values must have shape (n, {LENGTH}), got {table.shape}")
    numbers = from_fixed(table)
    centres = numbers[:, 0] + 1j * numbers[:, 1]
    scatter = _WIDEST**2 * numbers[:, [2, 3, 3, 4]].reshape(-1, 2, 2)
    least = np.linalg.eigvalsh(scatter)[:, 0]
    slack = _WIDEST**2 * 2.0**-10  # rounding
    fine = (np.abs(centres) <= 1.0) & (least >= -2.0 * slack)
    fine &= np.trace(scatter, axis1=1, axis2=2) <= _WIDEST**2 + 2.0 * slack
    if not fine.all():
        raise InvalidInput(f"no cells have the place of slot {int(np.argmin(fine))}")
    centres *= np.minimum(1.0, np.tanh(FARTHEST / 2.0) / np.maximum(np.abs(centres), 1e-300))
    return Places(centres, scatter + (_LEAST_SCATTER + 2.0 * slack) * np.eye(2))


def landmarks_of_corners(
    points: np.ndarray, classes: np.ndarray, curvature: float = 1.0
) -> Landmarks:
    """Landmarks of classes 0 to J−1 from corners (n, 2): centroid and root mean square distance."""
    k = check_curvature(curvature)
    centres = centroids(points, classes, curvature=k)
    square = distance(points, centres[classes], k) ** 2
    spreads = np.sqrt(np.bincount(classes, square) / np.bincount(classes))
    return Landmarks(centres, np.maximum(spreads, NARROWEST / np.sqrt(k)))


def landmarks_of_features(
    means: Sequence[np.ndarray], drawn: Horocycles, curvature: float = 1.0
) -> Landmarks:
    """Landmarks of classes with these mean features, of the first few each: centre and spread (root
    mean square) of the normally distributed cells whose mean features come nearest."""
    everywhere = _features(_STARTS, drawn)
    fits = np.array([_fitted(mean, everywhere, drawn) for mean in means])
    places, root = _places(fits), np.sqrt(check_curvature(curvature))
    centres = np.column_stack((places.centres.real, places.centres.imag))
    return Landmarks(centres / root, np.sqrt(2.0 * places.scatter[:, 0, 0]) / root)


def _fitted(mean: np.ndarray, everywhere: np.ndarray, drawn: Horocycles) -> np.ndarray:
    """Distance from the origin, angle and logarithm of the spread of one class."""
    from scipy.optimize import minimize  # slow to import, and sites do without

    m = len(mean)
    first = Horocycles(*(part[:m] for part in drawn))

    def misfit(row: np.ndarray) -> float:
        return float(np.square(_features(row[None], first)[0] - mean).sum())

    start = _STARTS[np.square(everywhere[:, :m] - mean).sum(axis=1).argmin()]
    best = minimize(misfit, start, method="Nelder-Mead", options={"maxfev": _SEARCH_STEPS})
    return np.asarray(best.x)


def _features(rows: np.ndarray, drawn: Horocycles) -> np.ndarray:
    return _places(rows).mean_features(drawn)


def _places(rows: np.ndarray) -> Places:
    rho, theta, log_spread = rows.T
    spread = np.clip(np.exp(log_spread), NARROWEST, _WIDEST_CLASS)
    centres = np.tanh(np.clip(rho, -8.0, 8.0) / 2.0) * np.exp(1j * theta)
    return Places(centres, np.square(spread)[:, None, None] * np.eye(2))
