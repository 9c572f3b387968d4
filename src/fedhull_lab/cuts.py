"""The paper's groupings: cuts of the graph of hulls.

The graph's edges weigh one over the distance of hulls. The paper bisects it (Kernighan–Lin) for two
classes, and clusters it with repelled siblings (spectral) for more (Sec. 5.6, App. H).
"""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from fedhull import pairwise_distance
from fedhull.errors import InvalidInput

# The paper's setting: two hulls of one site are tied by a hundredth of the weakest tie.
_SIBLING_SHARE = 0.01
# Hulls that meet count as this close.
_TOUCHING = 1e-3


def mean_distances(hulls: Sequence[np.ndarray], curvature: float = 1.0) -> np.ndarray:
    """Average hyperbolic distance between the points of every two hulls (eq. 10), shape (n, n)."""
    points = np.concatenate(list(hulls))
    starts = np.cumsum([0] + [len(h) for h in hulls])
    counts = np.diff(starts)
    sums = np.empty((len(hulls), len(hulls)))
    for i, (begin, end) in enumerate(pairwise(starts)):
        rows = pairwise_distance(points[begin:end], points, curvature).sum(axis=0)
        sums[i] = np.add.reduceat(rows, starts[:-1])
    return sums / counts[:, None] / counts[None, :]


def kernighan_lin(
    hulls: Sequence[np.ndarray],
    owners: np.ndarray,
    n_groups: int,
    *,
    curvature: float = 1.0,
    seed: int = 0,
) -> np.ndarray:
    """Two halves of the hulls with the least weight between them; groups (n,)."""
    if n_groups != 2:
        raise InvalidInput(
            f"kernighan-lin grouping is for two classes, but this study has {n_groups}; "
            f"use 'matching' or 'spectral'"
        )
    second = halved(_weights(mean_distances(hulls, curvature)), np.random.default_rng(seed))
    return second.astype(int)


def spectral(
    hulls: Sequence[np.ndarray],
    owners: np.ndarray,
    n_groups: int,
    *,
    curvature: float = 1.0,
    seed: int = 0,
) -> np.ndarray:
    """Spectral clustering; groups (n,)."""
    # slow to import, and not needed where a grouping is only named
    from sklearn.cluster import SpectralClustering

    weights = _weights(mean_distances(hulls, curvature))
    others = ~np.eye(len(weights), dtype=bool)
    siblings = (owners[:, None] == owners[None, :]) & others
    weights = np.where(siblings, _SIBLING_SHARE * weights[others].min(), weights)
    clustering = SpectralClustering(
        n_clusters=n_groups,
        affinity="precomputed",
        assign_labels="discretize",
        n_init=100,
        random_state=seed,
    )
    return clustering.fit_predict(weights)


def halved(weights: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Mask (n,) of the second of two halves of a graph with weights (n, n) and little weight
    between them (Kernighan and Lin 1970, in moves of one node).

    From random halves, the best node of each moves to the other in turn until each has moved once;
    moves up to the best halves on the way are kept, as long as there are better ones.

    >>> weights = np.array([[0, 9, 1, 1], [9, 0, 1, 1], [1, 1, 0, 9], [1, 1, 9, 0]])
    >>> second = halved(weights, np.random.default_rng(0))
    >>> bool(second[0] == second[1] != second[2] == second[3])
    True
    """
    n = len(weights)
    second = rng.permutation(n) < n // 2
    while True:
        halves, free = second.copy(), np.ones(n, dtype=bool)
        # how much more of a node's weight goes to the second half than to the first
        pull = weights @ np.where(halves, 1.0, -1.0)
        saved, most, best = 0.0, 1e-12 * weights.sum(), None
        for move in range(n // 2 * 2):
            back = move % 2 == 1
            gain = np.where(free & (halves == back), -pull if back else pull, -np.inf)
            node = int(gain.argmax())
            saved += gain[node]
            halves[node], free[node] = not back, False
            pull += (-2.0 if back else 2.0) * weights[node]
            if back and saved > most:
                most, best = saved, halves.copy()
        if best is None:
            return second
        second = best


def _weights(distances: np.ndarray) -> np.ndarray:
    weights = 1.0 / np.maximum(distances, _TOUCHING)
    np.fill_diagonal(weights, 0.0)
    return weights
