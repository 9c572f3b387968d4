"""Hulls grouped into classes, knowing that those of one site are all of different classes."""

from collections.abc import Sequence
from functools import cache

import numpy as np

from fedhull.disc.maps import centroids, pairwise_distance
from fedhull.errors import InvalidInput
from fedhull.learn.grouping import Matched, Slots
from fedhull.learn.slots import match_slots

_MOST_ROUNDS = 50
# Studies with more hulls than this are settled from the hulls of fewer clients.
_MANY_HULLS, _STARTS, _FEW_STARTS = 2_000, 20, 3


def matching(
    hulls: Sequence[np.ndarray] | None,
    owners: np.ndarray,
    n_groups: int,
    *,
    curvature: float = 1.0,
    seed: int = 0,
    slots: Slots | None = None,
) -> np.ndarray | Matched:
    """Constrained clustering, by the sketches of the cells behind the hulls (`match_slots`) or,
    where there are none, of the hulls' centroids; groups (n,).

    Of centroids, each round assigns every client's hulls to different groups at the least total
    distance (the Hungarian method), then moves the groups' centres to the centroids of what they
    got, until nothing changes. Of many starts, each from the hulls of some client, the cheapest end
    wins.
    """
    if slots is not None:
        return match_slots(slots.means, slots.counts, owners, n_groups)
    if n_groups == 0:
        raise InvalidInput("without sketches, the number of classes must be known")
    if hulls is None:
        raise InvalidInput("without sketches, there must be hulls")
    middles = centroids(
        np.concatenate(list(hulls)),
        np.repeat(np.arange(len(hulls)), [len(hull) for hull in hulls]),
        curvature=curvature,
    )
    # in order of appearance: how clients are numbered means nothing
    families = [np.flatnonzero(owners == owner) for owner in dict.fromkeys(owners.tolist())]
    largest = max(map(len, families))
    if largest > n_groups:
        raise InvalidInput(f"a site has {largest} hulls, more than the {n_groups} global classes")
    starts = _starts(middles, families, n_groups, curvature, seed)
    costs, groups = _settled(middles, families, starts, curvature)
    cheapest = 0
    for start, cost in enumerate(costs):
        if cost < costs[cheapest] - 1e-12:
            cheapest = start
    return groups[cheapest]


def _starts(
    middles: np.ndarray, families: list[np.ndarray], n_groups: int, curvature: float, seed: int
) -> np.ndarray:
    """Centres (s, n_groups, d) to start from: a client's hulls and far ones (k-means++)."""
    rng = np.random.default_rng(seed)
    by_size = sorted(families, key=len, reverse=True)

    @cache
    def squares_from(hull: int) -> np.ndarray:
        return pairwise_distance(middles, middles[[hull]], curvature)[:, 0] ** 2

    starts = []
    for start in range(_STARTS if len(middles) <= _MANY_HULLS else _FEW_STARTS):
        family = start if start < len(by_size) else int(rng.choice(len(by_size)))
        picked = by_size[family].tolist()
        while len(picked) < n_groups:
            nearest = np.min([squares_from(hull) for hull in picked], axis=0)
            total = nearest.sum()
            share = nearest / total if total > 0.0 else np.full(len(nearest), 1.0 / len(nearest))
            picked.append(int(rng.choice(len(middles), p=share)))
        starts.append(middles[picked])
    return np.array(starts)


def _settled(
    middles: np.ndarray, families: list[np.ndarray], centres: np.ndarray, curvature: float
) -> tuple[np.ndarray, np.ndarray]:
    """Total distances (s,) and groups (s, n) in which the starts (s, g, d) end. The starts go their
    ways side by side: that takes a few calls on long arrays for each round."""
    # slow to import, and not needed where a grouping is only named
    from scipy.optimize import linear_sum_assignment

    n_starts, n_groups, dimension = centres.shape
    groups = np.full((n_starts, len(middles)), -1)
    totals = np.zeros(n_starts)
    moving = np.arange(n_starts)
    for _ in range(_MOST_ROUNDS):
        flat = centres[moving].reshape(-1, dimension)
        costs = pairwise_distance(flat, middles, curvature).reshape(len(moving), n_groups, -1)
        new = np.empty((len(moving), len(middles)), dtype=groups.dtype)
        for i, start in enumerate(moving):
            totals[start] = 0.0
            for family in families:
                columns, rows = linear_sum_assignment(costs[i][:, family])
                new[i, family[rows]] = columns
                totals[start] += costs[i, columns, family[rows]].sum()
        changed = (new != groups[moving]).any(axis=1)
        moving, new = moving[changed], new[changed]
        if len(moving) == 0:
            break
        groups[moving] = new
        number = new + n_groups * np.arange(len(moving))[:, None]
        # a group that got nothing stays where it is
        used, place = np.unique(number, return_inverse=True)
        repeated = np.tile(middles, (len(moving), 1))
        centres[moving[used // n_groups], used % n_groups] = centroids(
            repeated, place.ravel(), curvature=curvature
        )
    return totals, groups
