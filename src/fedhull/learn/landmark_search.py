"""Centres and spreads of classes, found from what a coordinator has of them: corners of hulls, or
the mean features of their cells."""

from collections.abc import Sequence

import numpy as np
from scipy.optimize import minimize

from fedhull.disc.centroid import centroids
from fedhull.disc.maps import distance
from fedhull.disc.points import check_curvature
from fedhull.learn.horocycles import Horocycles
from fedhull.learn.landmarks import NARROWEST, Landmarks
from fedhull.learn.places import Places

# Where the search for a class begins: distances from the origin, angles, spreads.
_GRID = np.array(
    [
        (rho, theta, np.log(spread))
        for rho in np.linspace(0.0, 7.0, 15)
        for theta in np.linspace(0.0, 2.0 * np.pi, 36, endpoint=False)
        for spread in (0.15, 0.4, 1.0)
    ]
)
_STEPS = 120
# No class is taken to be wider than this, in units of 1/√k.
_WIDEST = 3.0


def landmarks_of_corners(
    points: np.ndarray, classes: np.ndarray, curvature: float = 1.0
) -> Landmarks:
    """Of classes 0 to J−1 with these corners (n, 2): their centroids, and how far corners are from
    these, root mean square."""
    k = check_curvature(curvature)
    centres = centroids(points, classes, curvature=k)
    square = distance(points, centres[classes], k) ** 2
    spreads = np.sqrt(np.bincount(classes, square) / np.bincount(classes))
    return Landmarks(centres, np.maximum(spreads, NARROWEST / np.sqrt(k)))


def landmarks_of_features(
    means: Sequence[np.ndarray], drawn: Horocycles, curvature: float = 1.0
) -> Landmarks:
    """Of classes whose cells have these mean features, of the first few each: where normally
    distributed cells would have the same, as nearly as possible, and how far from the centre these
    would be, root mean square."""
    everywhere = _features(_GRID, drawn)
    found = np.array([_fitted(mean, everywhere, drawn) for mean in means])
    places, root = _places(found), np.sqrt(check_curvature(curvature))
    centres = np.column_stack((places.centres.real, places.centres.imag))
    return Landmarks(centres / root, np.sqrt(2.0 * places.scatter[:, 0, 0]) / root)


def _fitted(mean: np.ndarray, everywhere: np.ndarray, drawn: Horocycles) -> np.ndarray:
    """Distance from the origin, angle and logarithm of the spread of one class."""
    m = len(mean)
    first = Horocycles(*(part[:m] for part in drawn))

    def misfit(row: np.ndarray) -> float:
        return float(np.square(_features(row[None], first)[0] - mean).sum())

    start = _GRID[np.square(everywhere[:, :m] - mean).sum(axis=1).argmin()]
    found = minimize(misfit, start, method="Nelder-Mead", options={"maxfev": _STEPS})
    return np.asarray(found.x)


def _features(rows: np.ndarray, drawn: Horocycles) -> np.ndarray:
    return _places(rows).mean_features(drawn)


def _places(rows: np.ndarray) -> Places:
    rho, theta, log_spread = rows.T
    spread = np.clip(np.exp(log_spread), NARROWEST, _WIDEST)
    centres = np.tanh(np.clip(rho, -8.0, 8.0) / 2.0) * np.exp(1j * theta)
    return Places(centres, np.square(spread)[:, None, None] * np.eye(2))
