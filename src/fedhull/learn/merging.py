"""Slots put together pair by pair, the most alike first, never two of one site (Ward, 1963), and
ways to rearrange the result: two classes merged, one split, or both at once."""

from collections.abc import Iterator, Sequence
from itertools import combinations, pairwise
from typing import NamedTuple

import numpy as np

# More slots than this are put together in parts: the work grows with the square.
_AT_ONCE = 256
# The number of merges, and of splits, that are tried: the most promising ones.
_TRIED = 3


class Heaps(NamedTuple):
    """Joined slots: middles (h, m), weights (h,), and pairs (h, h) with a common site."""

    middles: np.ndarray
    weights: np.ndarray
    clash: np.ndarray


def merge_slots(
    means: np.ndarray, weights: np.ndarray, owners: np.ndarray, most: int
) -> np.ndarray:
    """The middles (h, m), h ≤ most, of heaps into which slots with means (n, m) are put together.

    Joining two heaps costs w₁w₂/(w₁+w₂)·‖m₁−m₂‖²: what the slots' squared distances from their
    middles, weighed, grow by. As long as there are too many heaps, the cheapest pair without a
    common site is joined. If sites make that impossible, the lightest heaps are left out.
    """
    # a site's slots stay in one part, so that heaps of different parts have no site in common
    order = np.argsort(owners, kind="stable")
    parts = [order[a:b] for a, b in pairwise(_edges(owners[order]))]
    heaps = [_join(Heaps(means[p], weights[p], owners[p, None] == owners[p]), most) for p in parts]
    while len(heaps) > 1:
        several = max(2, _AT_ONCE // max(len(h.weights) for h in heaps))
        heaps = [
            _join(_together(heaps[i : i + several]), most) for i in range(0, len(heaps), several)
        ]
    return _heaviest(heaps[0], most)


def merge_groups(
    means: np.ndarray, weights: np.ndarray, owners: np.ndarray, groups: np.ndarray, most: int
) -> np.ndarray:
    """The middles (h, m), h ≤ most, of groups 0, 1, … of slots, as far as need be put together."""
    present = np.zeros((int(groups.max()) + 1, int(owners.max()) + 1))
    present[groups, owners] = 1.0
    middles, total = middles_of(means, weights, groups), np.bincount(groups, weights)
    return _heaviest(_join(Heaps(middles, total, present @ present.T > 0.0), most), most)


def middles_of(means: np.ndarray, weights: np.ndarray, groups: np.ndarray) -> np.ndarray:
    """The weighed means (g, m) of the groups 0, 1, … of slots, none empty."""
    sums = [np.bincount(groups, weights * column) for column in means.T]
    return np.column_stack(sums) / np.bincount(groups, weights)[:, None]


def _heaviest(heaps: Heaps, most: int) -> np.ndarray:
    return heaps.middles[np.argsort(-heaps.weights, kind="stable")[:most]]


def _together(parts: Sequence[Heaps]) -> Heaps:
    ends = np.cumsum([len(part.weights) for part in parts])
    clash = np.zeros((ends[-1], ends[-1]), dtype=bool)
    for end, part in zip(ends, parts, strict=True):
        mine = slice(end - len(part.weights), end)
        clash[mine, mine] = part.clash
    middles, weights = (np.concatenate(values) for values in list(zip(*parts, strict=True))[:2])
    return Heaps(middles, weights, clash)


def _edges(owners: np.ndarray) -> list[int]:
    """Cuts of sorted owners into parts that are not much too large, each owner in one part."""
    edges = [0]
    ends = [*(np.flatnonzero(np.diff(owners)) + 1).tolist(), len(owners)]
    for end, following in pairwise([*ends, len(owners)]):
        if following - edges[-1] > _AT_ONCE or end == len(owners):
            edges.append(end)
    return edges


def _join(heaps: Heaps, most: int) -> Heaps:
    """Join pairs of heaps, the cheapest first, as `merge_slots` says."""
    middles, weights, clash = (part.copy() for part in heaps)
    n = len(weights)
    alive, every = np.ones(n, dtype=bool), np.arange(n)
    cost = np.array([_costs(middles, weights, clash, i) for i in range(n)])
    nearest = cost.argmin(axis=1)
    for _ in range(n - most):
        least = cost[every, nearest]
        i = int(least.argmin())
        j = int(nearest[i])
        if not np.isfinite(least[i]):
            break
        total = weights[i] + weights[j]
        middles[i] = (weights[i] * middles[i] + weights[j] * middles[j]) / total
        weights[i] = total
        clash[i] |= clash[j]
        clash[:, i] = clash[i]
        # the other one clashes with all from now on
        alive[j] = False
        clash[j] = clash[:, j] = True
        cost[j] = cost[:, j] = np.inf
        cost[i] = cost[:, i] = new = _costs(middles, weights, clash, i)
        # only rows that pointed to one of the two can have a farther neighbour now
        for row in np.flatnonzero(alive & ((nearest == i) | (nearest == j))):
            nearest[row] = cost[row].argmin()
        nearest[i] = new.argmin()
        nearest[new < cost[every, nearest]] = i
    return Heaps(middles[alive], weights[alive], clash[np.ix_(alive, alive)])


def _costs(middles: np.ndarray, weights: np.ndarray, clash: np.ndarray, i: int) -> np.ndarray:
    """Costs of joining heap i with each; infinite where the two clash."""
    away = middles - middles[i]
    cost = weights * weights[i] / (weights + weights[i]) * np.einsum("ij,ij->i", away, away)
    cost[clash[i]] = np.inf
    return cost


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
                rest = np.delete(middles, (*pair, group), axis=0)
                yield np.vstack((rest, joint, parts))
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
    halves: list[tuple[float, int, np.ndarray]] = []
    for group in np.flatnonzero(np.bincount(groups) > 1).tolist():
        mine = np.flatnonzero(groups == group)
        scatter, axes = np.linalg.eigh(away[mine].T @ away[mine])
        side = (away[mine] @ axes[:, -1] > 0.0).astype(int)
        if 0 < side.sum() < len(side):
            parts = middles_of(means[mine], weights[mine], side)
            halves.append((-float(scatter[-1]), group, parts))
    return {group: parts for _, group, parts in sorted(halves, key=lambda f: f[:2])[:_TRIED]}
