"""Matching of slots across sites: those of one class, by the means of their sketches.

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
from fedhull.learn.grouping import Matched, numbered_by_appearance
from fedhull.learn.merging import merge_groups, merge_slots, middles_of, rearrangements

# The worth of evidence: means are not quite normal and their noise is estimated.
_EVIDENCE = 0.25
# Nothing is more certain than what is better by this.
_ENOUGH = 150.0
# A slot's mean counts like that of fewer cells than this, however many it has: sites differ by more
# than chance, and a large class must not outweigh a rare one.
_MOST_WEIGHT = 20.0
# The prior of the noise counts like this many slots, and noise is never below this.
_PRIOR_SLOTS, _LEAST_NOISE = 24.0, 1e-2
_MOST_STEPS = 50
# The search for the number of classes starts from at least this many, if there are as many slots,
# and ends after this many numbers in a row that were no better.
_FIRST_NUMBER, _PATIENCE = 40, 6
# With more slots than this the first answer stands; with fewer it is rearranged this often.
_MOST_TO_REARRANGE, _MOST_REARRANGED = 600, 8


def squares(points: np.ndarray, middles: np.ndarray) -> np.ndarray:
    """Squared distances (n, g) of points (n, m) from middles (g, m)."""
    # seen from the middle of all, so that little cancels
    origin = middles.mean(axis=0)
    x, y = points - origin, middles - origin
    lengths = np.einsum("ij,ij->i", x, x)[:, None] + np.einsum("ij,ij->i", y, y)
    return np.maximum(lengths - 2.0 * (x @ y.T), 0.0)


def assigned(costs: np.ndarray, owners: np.ndarray) -> np.ndarray:
    """Columns of costs (n, g) for slots, different for one owner's, at the least total."""
    # slow to import, and not needed where a matching is only named
    from scipy.optimize import linear_sum_assignment

    groups = costs.argmin(axis=1)
    pairs, times = np.unique(owners * costs.shape[1] + groups, return_counts=True)
    # all other owners have for each slot what is best for it
    for family in _families(owners, np.unique(pairs[times > 1] // costs.shape[1])):
        rows, columns = linear_sum_assignment(costs[family])
        groups[family[rows]] = columns
    return groups


def match_certainty(
    points: np.ndarray, weights: np.ndarray, owners: np.ndarray, groups: np.ndarray
) -> np.ndarray:
    """Certainty of each slot's match, (n,): 1/(1 + exp(−Δ/2)), where Δ is by how much worse the
    slots of its owner fit if this one is of any other class, or of one that nobody else has.

    Slots of weight w scatter by 1/w in every direction of their points (n, m).
    """
    # what the information criterion of Bayes asks for a middle of its own
    alone = points.shape[1] * (1.0 + np.log(len(points)))
    fit = _misfit(points, weights, groups, alone)
    slots = np.arange(len(fit))
    own, single = fit[slots, groups], np.bincount(groups)[groups] == 1
    elsewhere = fit.copy()
    elsewhere[slots, groups] = np.where(single, np.inf, alone)
    margins = elsewhere.min(axis=1) - own
    content = margins >= 0.0
    for family in _families(owners, np.unique(owners)):
        # where all have what is best for them, nobody gains by another's going: no need to look
        clear = content[family].all()
        for slot in family:
            if not (clear and margins[slot] >= _ENOUGH):
                margins[slot] = _loss(
                    fit[family], family == slot, groups[family], alone, bool(single[slot])
                )
    return certainty_of(margins)


def certainty_of(margins: np.ndarray | float) -> np.ndarray:
    """1/(1 + exp(−Δ/2)) for margins Δ, evidence being worth less than it seems."""
    return np.asarray(1.0 / (1.0 + np.exp(-0.5 * _EVIDENCE * np.clip(margins, -_ENOUGH, _ENOUGH))))


def _loss(
    fit: np.ndarray, this: np.ndarray, groups: np.ndarray, alone: float, single: bool
) -> float:
    """By how much the best assignment of an owner's slots (f, g) gets worse if this slot may not
    be in its group. Each may be in a group of its own, unless it is in one already."""
    from scipy.optimize import linear_sum_assignment

    apart = np.full((len(fit), len(fit)), np.inf)
    np.fill_diagonal(apart, alone)
    table = np.hstack((fit, apart))
    least = fit[np.arange(len(fit)), groups].sum()
    row = int(np.argmax(this))
    table[row, groups[row]] = np.inf
    if single:
        table[row, fit.shape[1] + row] = np.inf
    if not np.isfinite(table[row]).any():
        return _ENOUGH
    rows, columns = linear_sum_assignment(table)
    return float(table[rows, columns].sum() - least)


def _misfit(
    points: np.ndarray, weights: np.ndarray, groups: np.ndarray, alone: float
) -> np.ndarray:
    """Misfit of slots and groups (n, g): squared distance from the others over scatter."""
    total = np.bincount(groups, weights)
    away = squares(points, middles_of(points, weights, groups))
    fit = away / (1.0 / weights[:, None] + 1.0 / total)
    slots, others = np.arange(len(points)), total[groups] - weights
    single = np.bincount(groups)[groups] == 1
    others[single] = 1.0
    # from the middle of the others a slot is farther away by total/others
    apart = away[slots, groups] * (total[groups] / others) ** 2 / (1.0 / weights + 1.0 / others)
    fit[slots, groups] = np.where(single, alone, apart)
    return fit


def _families(owners: np.ndarray, who: np.ndarray) -> list[np.ndarray]:
    """The slots of each of these owners."""
    order = np.argsort(owners, kind="stable")
    first = np.searchsorted(owners[order], who, side="left")
    last = np.searchsorted(owners[order], who, side="right")
    return [order[a:b] for a, b in zip(first, last, strict=True)]


class _Study(NamedTuple):
    """Slots: means (n, m), weights (n,), owners (n,), and prior of w·variance (m,)."""

    means: np.ndarray
    weights: np.ndarray
    owners: np.ndarray
    variance: np.ndarray

    @classmethod
    def of(cls, means: np.ndarray, counts: np.ndarray, owners: np.ndarray) -> "_Study":
        """Slots with priors: a wave has the variance 1 − |z|² over cells with mean z."""
        weights = counts / (1.0 + counts / _MOST_WEIGHT)
        lengths = means[:, 0::2] ** 2 + means[:, 1::2] ** 2
        variance = np.clip(1.0 - lengths, 0.0, 1.0).mean(axis=0) / 2.0
        least = weights.mean() * _LEAST_NOISE**2
        return cls(means, weights, owners, np.repeat(variance, 2) + least)

    @property
    def largest(self) -> int:
        """The largest number of slots of one owner."""
        return int(np.bincount(self.owners).max())

    def scatter(self, groups: np.ndarray) -> tuple[np.ndarray, float]:
        """The matrix (m, m) of sums by which slots scatter about the middles of their groups, what
        is known beforehand included, and by how many slots it is to be divided."""
        middles = middles_of(self.means, self.weights, groups)
        away = (self.means - middles[groups]) * np.sqrt(self.weights)[:, None]
        free = len(groups) - int(groups.max()) - 1 + _PRIOR_SLOTS
        return _PRIOR_SLOTS * np.diag(self.variance) + away.T @ away, free

    def scaled(self, groups: np.ndarray) -> np.ndarray:
        """The means in coordinates where slots of weight w scatter by 1/w about these groups."""
        scatter, free = self.scatter(groups)
        return self.means @ np.linalg.cholesky(np.linalg.inv(scatter / free))


def match_slots(
    means: ArrayLike, counts: ArrayLike, owners: ArrayLike, n_classes: int = 0
) -> Matched:
    """Sort slots into classes, never two of one owner into the same.

    means (n, 2p) : mean sketches, cosine and sine of p waves in turn. counts (n,) : cells of each
    slot. owners (n,) : owner of each slot. n_classes : number of classes over all sites; fewer are
    found if no slot bears witness of one. With 0 the number is found. It is never below the number
    of slots that one owner has.

    Slots are weighed by count, up to a limit, and compared in units of their noise. Merged pair by
    pair they give classes to start from. Then each owner's slots are assigned to different classes
    at the least total squared distance (the Hungarian method), and the classes' middles follow,
    until nothing changes. From there classes are merged one by one, and at the number with the most
    evidence (`_evidence`) merged and split once more as long as that helps.

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
                if (new_evidence := _evidence(study, new)) > evidence + 1e-9:
                    evidence, better = new_evidence, new
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
