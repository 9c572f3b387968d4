"""Slots assigned to classes at the least cost, and how certain that is."""

import numpy as np

from fedhull.learn.merging import middles_of

# Means are not quite normal and their noise is estimated: evidence is worth so much of what it
# would be otherwise.
_EVIDENCE = 0.25
# Nothing is more certain than what is better by this.
_ENOUGH = 150.0


def squares(points: np.ndarray, middles: np.ndarray) -> np.ndarray:
    """Squared distances (n, g) of points (n, m) from middles (g, m)."""
    # seen from the middle of all, so that little cancels
    origin = middles.mean(axis=0)
    x, y = points - origin, middles - origin
    lengths = np.einsum("ij,ij->i", x, x)[:, None] + np.einsum("ij,ij->i", y, y)
    return np.maximum(lengths - 2.0 * (x @ y.T), 0.0)


def assigned(costs: np.ndarray, owners: np.ndarray) -> np.ndarray:
    """For each slot a column of costs (n, g), different ones for slots of one owner, at the least
    total cost (the Hungarian method)."""
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
    """How certain the match of each slot is, (n,): 1/(1 + exp(−Δ/2)), where Δ is by how much worse
    the slots of its owner fit if this one is of any other class, or of one that nobody else has.

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
    """How badly slots fit groups (n, g): the squared distance from the group's other slots, in
    units of what it scatters by."""
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
