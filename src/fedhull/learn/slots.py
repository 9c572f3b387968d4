"""Which slots of different sites hold the same class, told by the means of their sketches.

A slot is a class at a site: how many cells, and the mean of its sketch. Slots of one class differ
by chance, the more the fewer cells they have, and a little from site to site; slots of one site are
of different classes. The matching looks for the likeliest classes under these two rules.

The noise is measured, not assumed. A sketch has cosine and sine of each wave, cos² + sin² = 1, so
that the mean of a slot gives the variance of its cells away. How the errors of the numbers go
together is learned from the matching itself, from how far slots lie from the middle of their class.
"""

from math import lgamma, log
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from fedhull.errors import InvalidInput
from fedhull.learn.certainty import assigned, match_certainty, squares
from fedhull.learn.grouping import Matched, numbered_by_appearance
from fedhull.learn.merging import merge_groups, merge_slots, middles_of
from fedhull.learn.rearranging import rearrangements

# However many cells a slot has, its mean counts like that of fewer than so many: sites differ by
# more than chance, and a large class must not outweigh a rare one.
_MOST_WEIGHT = 20.0
# What is known of the noise beforehand counts like so many slots, and noise is never below this.
_PRIOR_SLOTS, _LEAST_NOISE = 24.0, 1e-2
_MOST_STEPS = 50
# Looking for the number of classes starts from at least so many, if there are as many slots, and
# ends when so many numbers in a row were no better.
_FIRST_NUMBER, _PATIENCE = 40, 6
# With more slots than this the first answer stands; with fewer it is rearranged so many times.
_MOST_TO_REARRANGE, _MOST_REARRANGED = 600, 8


class _Study(NamedTuple):
    """The slots: means (n, m), weights (n,), owners (n,), and w·variance (m,) of the means, as far
    as it is known beforehand."""

    means: np.ndarray
    weights: np.ndarray
    owners: np.ndarray
    variance: np.ndarray

    @classmethod
    def of(cls, means: np.ndarray, counts: np.ndarray, owners: np.ndarray) -> "_Study":
        """Cosine and sine of a wave have the variance 1 − |z|² over cells, together: the mean z
        of a slot gives it away."""
        weights = counts / (1.0 + counts / _MOST_WEIGHT)
        lengths = means[:, 0::2] ** 2 + means[:, 1::2] ** 2
        variance = np.clip(1.0 - lengths, 0.0, 1.0).mean(axis=0) / 2.0
        least = weights.mean() * _LEAST_NOISE**2
        return cls(means, weights, owners, np.repeat(variance, 2) + least)

    @property
    def largest(self) -> int:
        """How many slots the owner with the most has."""
        return int(np.bincount(self.owners).max())

    def scatter(self, groups: np.ndarray) -> tuple[np.ndarray, float]:
        """The matrix (m, m) of sums by which slots scatter about the middles of their groups, what
        is known beforehand included, and by how many slots it is to be divided."""
        middles = middles_of(self.means, self.weights, groups)
        away = (self.means - middles[groups]) * np.sqrt(self.weights)[:, None]
        free = len(groups) - int(groups.max()) - 1 + _PRIOR_SLOTS
        return _PRIOR_SLOTS * np.diag(self.variance) + away.T @ away, free

    def scaled(self, groups: np.ndarray) -> np.ndarray:
        """The means in coordinates in which a slot of weight w scatters by 1/w in every direction,
        judging by these groups."""
        scatter, free = self.scatter(groups)
        return self.means @ np.linalg.cholesky(np.linalg.inv(scatter / free))


def match_slots(
    means: ArrayLike, counts: ArrayLike, owners: ArrayLike, n_classes: int = 0
) -> Matched:
    """Sort slots into classes, never two of one owner into the same.

    means (n, 2p) : mean sketches, cosine and sine of p waves in turn. counts (n,) : how many cells.
    owners (n,) : whose slot it is. n_classes : how many classes there are over all sites; fewer are
    found if no slot bears witness of one, as when a rare class is withheld everywhere. With 0 the
    number is found. It is never below the number of slots that one owner has.

    Slots are weighed by count, up to a limit, and compared in units of their noise. Merged pair by
    pair they give classes to start from. Then each owner's slots are assigned to different classes
    at the least total squared distance (the Hungarian method), and the classes' middles follow,
    until nothing changes. From there classes are merged one by one, and at the number for which
    there is most evidence (`_evidence`) merged and split once more as long as that helps.

    >>> left, right = [0.9, 0.1, 0.2, 0.8], [-0.7, 0.5, 0.9, 0.1]
    >>> match_slots([left, right, right, left], [9, 80, 7, 30], ["a", "a", "b", "b"]).groups
    array([0, 1, 1, 0])
    """
    z, n, whose = _checked(means, counts, owners)
    largest = int(np.bincount(whose).max())
    if n_classes and largest > n_classes:
        raise InvalidInput(
            f"n_classes must be at least {largest}, the number of classes that one site has, "
            f"got {n_classes}; use 0 if it is not known"
        )
    study = _Study.of(z, n, whose)
    most = min(n_classes or max(2 * study.largest, _FIRST_NUMBER), len(z))
    groups = np.arange(len(z))
    for _ in range(2):
        # at first every slot is a class, so that nothing is known of the noise but its prior
        scaled = study.scaled(groups)
        middles = merge_slots(scaled, study.weights, whose, most)
        groups = _settled(scaled, study.weights, whose, middles)
    groups = numbered_by_appearance(_improved(study, _likeliest(study, groups), most))
    return Matched(groups, match_certainty(study.scaled(groups), study.weights, whose, groups))


def match_evidence(
    means: ArrayLike, counts: ArrayLike, owners: ArrayLike, groups: np.ndarray
) -> float:
    """Twice the logarithm of the probability of slots and of groups 0, 1, …, up to a constant:
    by which matchings of the same slots can be compared."""
    return _evidence(_Study.of(*_checked(means, counts, owners)), groups)


def _checked(
    means: ArrayLike, counts: ArrayLike, owners: ArrayLike
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    z, n = np.asarray(means, dtype=np.float64), np.asarray(counts, dtype=np.float64)
    if z.ndim != 2 or len(z) == 0 or z.shape[1] == 0 or z.shape[1] % 2:
        raise InvalidInput(f"means must have shape (n, 2p) with n, p ≥ 1, got {z.shape}")
    if not (np.abs(z) <= 1.0 + 1e-6).all():
        raise InvalidInput("means must be means of cosines and sines, from −1 to 1")
    if n.shape != (len(z),) or not (np.isfinite(n) & (n >= 1.0)).all():
        raise InvalidInput(f"counts must be {len(z)} numbers ≥ 1, one for each slot")
    names = np.asarray(owners)
    if names.shape != (len(z),):
        raise InvalidInput(f"owners must be {len(z)} names, one for each slot")
    return z, n, np.unique(names, return_inverse=True)[1]


def _likeliest(study: _Study, groups: np.ndarray) -> np.ndarray:
    """Groups (n,) at the number of classes, no more than these have, with the most evidence."""
    best, most_evidence, worse = groups, -np.inf, 0
    while True:
        number = int(groups.max()) + 1
        evidence = _evidence(study, groups)
        if evidence > most_evidence:
            best, most_evidence, worse = groups, evidence, 0
        else:
            worse += 1
        if number <= study.largest or worse == _PATIENCE:
            return best
        scaled = study.scaled(groups)
        # far from the end, several at once
        fewer = max(study.largest, min(number - 1, int(0.9 * number)))
        middles = merge_groups(scaled, study.weights, study.owners, groups, fewer)
        groups = _settled(scaled, study.weights, study.owners, middles)


def _improved(study: _Study, groups: np.ndarray, most: int) -> np.ndarray:
    """Groups (n,) rearranged as long as that raises the evidence."""
    if len(groups) > _MOST_TO_REARRANGE:
        return groups
    evidence = _evidence(study, groups)
    for _ in range(_MOST_REARRANGED):
        scaled, better = study.scaled(groups), None
        for middles in rearrangements(scaled, study.weights, study.owners, groups):
            if study.largest <= len(middles) <= most:
                new = _settled(scaled, study.weights, study.owners, middles)
                if (found := _evidence(study, new)) > evidence + 1e-9:
                    evidence, better = found, new
        if better is None:
            break
        groups = better
    return groups


def _evidence(study: _Study, groups: np.ndarray) -> float:
    """The logarithm of the probability of the slots' means and of the partition, times two.

    Slots of a class with the middle μ are normal, N(μ, Σ/w); the middles are uniform over the p
    discs in which cosine and sine lie, and integrated out; Σ is at its likeliest. Each owner's
    slots are equally likely to be any different classes, whose numbers mean nothing.
    """
    n_classes, m = int(groups.max()) + 1, study.means.shape[1]
    scatter, free = study.scatter(groups)
    fit = free * np.linalg.slogdet(scatter / free)[1]
    middles = m * np.log(np.bincount(groups, study.weights)).sum() - n_classes * m * log(2.0)
    choices = 2.0 * sum(
        lgamma(n_classes + 1) - lgamma(n_classes - size + 1)
        for size in np.bincount(study.owners).tolist()
    )
    return float(-fit - middles - choices + 2.0 * lgamma(n_classes + 1))


def _settled(
    points: np.ndarray, weights: np.ndarray, owners: np.ndarray, middles: np.ndarray
) -> np.ndarray:
    """The groups (n,) in which assigning slots and moving the middles (g, m) end."""
    groups = np.full(len(points), -1)
    for _ in range(_MOST_STEPS):
        new = assigned(weights[:, None] * squares(points, middles), owners)
        # a group that nobody is in is none
        new = np.unique(new, return_inverse=True)[1]
        if (new == groups).all():
            break
        groups = new
        middles = middles_of(points, weights, groups)
    return groups
