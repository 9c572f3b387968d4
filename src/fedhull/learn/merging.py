"""Slots put together pair by pair, the most alike first, never two of one site (Ward, 1963)."""

from itertools import pairwise
from typing import NamedTuple

import numpy as np

# More slots than this are put together in parts: the work grows with the square.
_AT_ONCE = 256


class Heaps(NamedTuple):
    """Slots put together: middles (h, m), weights (h,), and which sites (h, s) they come from."""

    middles: np.ndarray
    weights: np.ndarray
    sites: np.ndarray


def merge_slots(
    means: np.ndarray, weights: np.ndarray, owners: np.ndarray, most: int, price: float
) -> np.ndarray:
    """The middles (h, m) of heaps into which slots with means (n, m) and owners 0..s−1 merge.

    Joining two heaps costs w₁w₂/(w₁+w₂)·‖m₁−m₂‖²: what the slots' squared distances from their
    middles, weighed, grow by. The cheapest pair without a common site is joined, as long as that
    costs less than `price` or there are more than `most` heaps. Sites may make it impossible to
    get down to `most`; then the lightest heaps are left out.
    """
    sites = np.zeros((len(means), int(owners.max()) + 1), dtype=bool)
    sites[np.arange(len(means)), owners] = True
    # a site's slots stay in one part, so that heaps of different parts have no site in common
    order = np.argsort(owners, kind="stable")
    edges = _edges(owners[order])
    parts = [order[a:b] for a, b in pairwise(edges)]
    heaps = [_join(Heaps(means[p], weights[p], sites[p]), most, price) for p in parts]
    while len(heaps) > 1:
        several = max(2, _AT_ONCE // max(len(h.weights) for h in heaps))
        batches = [heaps[i : i + several] for i in range(0, len(heaps), several)]
        heaps = [
            _join(Heaps(*map(np.concatenate, zip(*batch, strict=True))), most, price)
            for batch in batches
        ]
    return _heaviest(heaps[0], most)


def merge_groups(
    means: np.ndarray, weights: np.ndarray, owners: np.ndarray, groups: np.ndarray, most: int
) -> np.ndarray:
    """The middles (h, m), h ≤ most, of groups 0, 1, … of slots, as far as need be put together."""
    sites = np.zeros((int(groups.max()) + 1, int(owners.max()) + 1), dtype=bool)
    sites[groups, owners] = True
    heaps = Heaps(middles_of(means, weights, groups), np.bincount(groups, weights), sites)
    return _heaviest(_join(heaps, most, 0.0), most)


def middles_of(means: np.ndarray, weights: np.ndarray, groups: np.ndarray) -> np.ndarray:
    """The weighed means (g, m) of the groups 0, 1, … of slots, none empty."""
    sums = [np.bincount(groups, weights * column) for column in means.T]
    return np.column_stack(sums) / np.bincount(groups, weights)[:, None]


def _heaviest(heaps: Heaps, most: int) -> np.ndarray:
    return heaps.middles[np.argsort(-heaps.weights, kind="stable")[:most]]


def _edges(owners: np.ndarray) -> list[int]:
    """Where to cut sorted owners so that no part is much larger than allowed and none is cut."""
    edges = [0]
    ends = [*(np.flatnonzero(np.diff(owners)) + 1).tolist(), len(owners)]
    for i, end in enumerate(ends):
        following = ends[i + 1] if i + 1 < len(ends) else end
        if following - edges[-1] > _AT_ONCE or end == len(owners):
            edges.append(end)
    return edges


def _join(heaps: Heaps, most: int, price: float) -> Heaps:
    """Join pairs of heaps, the cheapest first, as `merged` says."""
    middles, weights, sites = (part.copy() for part in heaps)
    alive = np.ones(len(weights), dtype=bool)
    cost = np.array([_costs(middles, weights, sites, i) for i in range(len(weights))])
    nearest, least = cost.argmin(axis=1), cost.min(axis=1)
    for left in range(len(weights), 1, -1):
        i = int(least.argmin())
        j = int(nearest[i])
        if not (least[i] < price or (left > most and np.isfinite(least[i]))):
            break
        total = weights[i] + weights[j]
        middles[i] = (weights[i] * middles[i] + weights[j] * middles[j]) / total
        weights[i] = total
        sites[i] |= sites[j]
        alive[j] = False
        cost[j] = cost[:, j] = np.inf
        new = np.where(alive, _costs(middles, weights, sites, i), np.inf)
        cost[i] = cost[:, i] = new
        # only rows that pointed to one of the two can have got a farther neighbour
        for row in np.flatnonzero(alive & ((nearest == i) | (nearest == j))):
            nearest[row] = cost[row].argmin()
        nearer = new < cost[np.arange(len(new)), nearest]
        nearest[nearer] = i
        nearest[i] = cost[i].argmin()
        least = cost[np.arange(len(new)), nearest]
    return Heaps(middles[alive], weights[alive], sites[alive])


def _costs(middles: np.ndarray, weights: np.ndarray, sites: np.ndarray, i: int) -> np.ndarray:
    """What it costs to join heap i with each; infinitely much where they have a site in common,
    as it has with itself."""
    away = middles - middles[i]
    cost = weights * weights[i] / (weights + weights[i]) * (away * away).sum(axis=1)
    cost[(sites & sites[i]).any(axis=1)] = np.inf
    return cost
