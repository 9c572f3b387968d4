"""Ways to sort slots differently: two classes merged, one split, or both at once."""

from collections.abc import Iterator
from itertools import combinations

import numpy as np

from fedhull.learn.merging import middles_of

# So many merges and so many splits are tried, the most promising ones.
_TRIED = 3


def rearrangements(
    means: np.ndarray, weights: np.ndarray, owners: np.ndarray, groups: np.ndarray
) -> Iterator[np.ndarray]:
    """Middles (h, m) near those of the groups 0, …, g−1 of slots, with h from g−1 to g+1."""
    middles, total = middles_of(means, weights, groups), np.bincount(groups, weights)
    halves = _halves(means, weights, groups, middles)
    for pair in _alike(middles, total, owners, groups):
        joint = np.average(middles[list(pair)], axis=0, weights=total[list(pair)])
        merged = np.vstack((np.delete(middles, pair, axis=0), joint))
        yield merged
        for group, parts in halves.items():
            if group not in pair:
                kept = np.delete(middles, (*pair, group), axis=0)
                yield np.vstack((kept, joint, parts))
    for group, parts in halves.items():
        yield np.vstack((np.delete(middles, group, axis=0), parts))


def _alike(
    middles: np.ndarray, total: np.ndarray, owners: np.ndarray, groups: np.ndarray
) -> list[tuple[int, int]]:
    """The pairs of groups that cost least to merge, if owners with slots in both do not matter
    too much: each would have to put one of them elsewhere."""
    present = np.zeros((len(middles), int(owners.max()) + 1))
    present[groups, owners] = 1.0
    pairs = list(combinations(range(len(middles)), 2))
    if not pairs:
        return []
    i, j = np.array(pairs).T
    cost = (
        total[i] * total[j] / (total[i] + total[j]) * ((middles[i] - middles[j]) ** 2).sum(axis=1)
    )
    cost *= 1.0 + (present[i] * present[j]).sum(axis=1)
    return [pairs[k] for k in np.argsort(cost, kind="stable")[:_TRIED]]


def _halves(
    means: np.ndarray, weights: np.ndarray, groups: np.ndarray, middles: np.ndarray
) -> dict[int, np.ndarray]:
    """The two middles (2, m) of the groups that scatter most along one line, cut across it."""
    away = (means - middles[groups]) * np.sqrt(weights)[:, None]
    found: list[tuple[float, int, np.ndarray]] = []
    for group in np.flatnonzero(np.bincount(groups) > 1).tolist():
        mine = np.flatnonzero(groups == group)
        scatter, axes = np.linalg.eigh(away[mine].T @ away[mine])
        side = (away[mine] @ axes[:, -1] > 0.0).astype(int)
        if 0 < side.sum() < len(side):
            parts = middles_of(means[mine], weights[mine], side)
            found.append((-float(scatter[-1]), group, parts))
    return {group: parts for _, group, parts in sorted(found, key=lambda f: f[:2])[:_TRIED]}
