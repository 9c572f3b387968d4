"""Held-out points, or whole sites' hulls, on which candidate classifiers are tried.

Corners alone are a poor judge. They lie around the classes, and with wide bins those of different
sites even coincide, so that a boundary that fits all corners may still run through the middle of a
hull. Where the corners are known to be those of sites' hulls, a candidate is therefore also asked
about points inside the hulls that it has not seen.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import log_softmax
from sklearn.model_selection import StratifiedKFold

from fedhull.disc.maps import centroids, geodesic
from fedhull.errors import InvalidInput

_FOLDS = 5
# More points than these are not looked at.
_MOST_POINTS = 4_000
# How far, on the way from the middle of a hull to each of its corners, its insides lie.
_INSIDE = (0.0, 0.25, 0.5, 0.75)
# One point that a candidate is certain of, and wrong, must not decide everything.
_WORST = -10.0


@dataclass(frozen=True, repr=False)
class LeftOut:
    """Points to fit to and points to try on, fold after fold.

    fitted : for each fold, the rows to fit to. points : (m, d), with targets (m,), weights (m,)
    that sum to one, and units (m,), the numbers of those that stand or fall together: the points of
    a hull. fold : (m,), in which fold each point is tried.
    """

    fitted: list[np.ndarray]
    points: np.ndarray
    targets: np.ndarray
    weights: np.ndarray
    units: np.ndarray
    fold: np.ndarray

    def logits(
        self, fit: Callable[[np.ndarray, np.ndarray], np.ndarray], n_candidates: int, n_classes: int
    ) -> np.ndarray:
        """Each candidate's logits for each point: (n_candidates, m, n_classes).

        `fit` takes rows to fit to and points to try on, and returns this for them."""
        table = np.empty((n_candidates, len(self.points), n_classes))
        for number, rows in enumerate(self.fitted):
            tried = self.fold == number
            table[:, tried] = fit(rows, self.points[tried])
        return table

    def log_likelihood(self, logits: np.ndarray) -> np.ndarray:
        """Log-likelihood of the points' classes, given logits (..., m, J): (..., m)."""
        rows = np.arange(len(self.targets))
        return np.maximum(log_softmax(logits, axis=-1)[..., rows, self.targets], _WORST)

    def clearly_better(self, first: np.ndarray, second: np.ndarray) -> bool:
        """True if log-likelihoods `first` (m,) exceed `second` by over a standard error."""
        gain = self.weights * (first - second)
        by_unit, weight = np.bincount(self.units, gain), np.bincount(self.units, self.weights)
        n, mean = np.count_nonzero(weight), gain.sum()
        spread = np.square(by_unit - mean * weight).sum() * n / max(n - 1, 1)
        return bool(mean > np.sqrt(spread))


def leave_out(
    points: np.ndarray,
    targets: np.ndarray,
    groups: np.ndarray | None,
    curvature: float,
    random_state: int | None,
) -> LeftOut | None:
    """Folds over points (n, d) with targets (n,), numbers from 0; None if nothing can be left out.

    With `groups` (n,), the sites of points that are corners of hulls, all hulls of a site are left
    out together. Where that leaves nothing to try, because there is one site or each class is at
    one only, single points are left out, as without groups.
    """
    rng = np.random.default_rng(random_state)
    chosen = np.arange(len(points))
    if len(points) > _MOST_POINTS:
        chosen = rng.choice(len(points), _MOST_POINTS, replace=False)
    folds = None
    if groups is not None:
        folds = _whole_sites(points[chosen], targets[chosen], groups[chosen], curvature, rng)
    return _in_rows(folds or _single_points(points[chosen], targets[chosen], random_state), chosen)


def check_groups(groups: Any, n: int) -> np.ndarray | None:
    """Groups as numbers from 0, (n,), or None."""
    if groups is None:
        return None
    names = np.asarray(groups)
    if names.shape != (n,):
        raise InvalidInput(
            f"groups must name the site of each of the {n} points, got shape {names.shape}"
        )
    return np.unique(names, return_inverse=True)[1]


def insides(points: np.ndarray, hulls: np.ndarray, curvature: float) -> np.ndarray:
    """Points inside hulls with the corners `points` (n, d), of the hull `hulls` (n,) each: between
    the hull's middle and every corner, (4n, d), row i mod n on the way to corner i."""
    _, numbers = np.unique(hulls, return_inverse=True)
    middle = centroids(points, numbers, curvature=curvature)[numbers]
    return np.concatenate([geodesic(middle, points, share, curvature) for share in _INSIDE])


def _whole_sites(
    points: np.ndarray,
    targets: np.ndarray,
    groups: np.ndarray,
    curvature: float,
    rng: np.random.Generator,
) -> LeftOut | None:
    sites, numbers = np.unique(groups, return_inverse=True)
    fold_of_site = np.empty(len(sites), dtype=np.int64)
    fold_of_site[rng.permutation(len(sites))] = np.arange(len(sites)) % _FOLDS
    fold = fold_of_site[numbers]
    tried = np.zeros(len(points), dtype=bool)
    for number in range(min(_FOLDS, len(sites))):
        others = np.unique(targets[fold != number])
        # what nothing can be known about tells no candidate from another
        tried |= (fold == number) & np.isin(targets, others) & (len(others) > 1)
    if not tried.any():
        return None
    hulls = numbers * (targets.max() + 1) + targets
    inner = insides(points, hulls, curvature).reshape(len(_INSIDE), *points.shape)[:, tried]
    times = 1 + len(_INSIDE)
    n = np.count_nonzero(tried)
    return LeftOut(
        [np.flatnonzero(fold != number) for number in range(min(_FOLDS, len(sites)))],
        np.concatenate((points[tried], inner.reshape(-1, points.shape[1]))),
        np.tile(targets[tried], times),
        # corners count as much as insides
        np.repeat([0.5 / n, 0.5 / (n * len(_INSIDE))], [n, n * len(_INSIDE)]),
        np.tile(np.unique(hulls[tried], return_inverse=True)[1], times),
        np.tile(fold[tried], times),
    )


def _single_points(
    points: np.ndarray, targets: np.ndarray, random_state: int | None
) -> LeftOut | None:
    """Stratified folds, without classes of one point."""
    common = np.flatnonzero(np.isin(targets, np.flatnonzero(np.bincount(targets) >= 2)))
    classes, counts = np.unique(targets[common], return_counts=True)
    if len(classes) < 2:
        return None
    n_folds = min(_FOLDS, int(counts.min()))
    folds = list(
        StratifiedKFold(n_folds, shuffle=True, random_state=random_state).split(
            common, targets[common]
        )
    )
    n = len(common)
    fold = np.empty(n, dtype=np.int64)
    for number, (_, tried) in enumerate(folds):
        fold[tried] = number
    return LeftOut(
        [common[fitted] for fitted, _ in folds],
        points[common],
        targets[common],
        np.full(n, 1.0 / n),
        np.arange(n),
        fold,
    )


def _in_rows(folds: LeftOut | None, chosen: np.ndarray) -> LeftOut | None:
    """With the rows to fit to counted as the caller does."""
    if folds is not None:
        folds.fitted[:] = [chosen[rows] for rows in folds.fitted]
    return folds
