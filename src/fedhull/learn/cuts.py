"""The paper's groupings: cuts of the graph of hulls, whose edges weigh one over the distance.

Kernighan–Lin bisection for two classes, spectral clustering with repelled siblings for more
(Sec. 5.6, App. H).
"""

from collections.abc import Callable, Sequence
from itertools import combinations, pairwise

import numpy as np

from fedhull.disc.link import hull_distance
from fedhull.disc.maps import pairwise_distance
from fedhull.errors import InvalidInput

Between = Callable[[Sequence[np.ndarray], float], np.ndarray]  # hulls, curvature → (n, n)

# The paper's setting: two hulls of one client are tied by a hundredth of the weakest tie.
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


def hull_distances(hulls: Sequence[np.ndarray], curvature: float = 1.0) -> np.ndarray:
    """Exact distance between every two hulls, shape (n, n); 0 where they meet."""
    table = np.zeros((len(hulls), len(hulls)))
    for i, j in combinations(range(len(hulls)), 2):
        table[i, j] = table[j, i] = hull_distance(hulls[i], hulls[j], curvature)
    return table


def kernighan_lin(
    hulls: Sequence[np.ndarray],
    owners: np.ndarray,
    n_groups: int,
    *,
    curvature: float = 1.0,
    seed: int = 0,
    between: Between = mean_distances,
) -> np.ndarray:
    """Two halves of the hulls with the least weight between them; groups (n,).

    `between` gives the distances of all hulls: `mean_distances`, the paper's, or `hull_distances`.
    """
    # slow to import, and not needed where a grouping is only named
    import networkx as nx

    if n_groups != 2:
        raise InvalidInput(
            f"kernighan-lin grouping is for two classes, this study has {n_groups}; "
            f"use 'matching' or 'spectral'"
        )
    graph = nx.from_numpy_array(_weights(between(hulls, curvature)))
    _, second = nx.community.kernighan_lin_bisection(graph, weight="weight", seed=seed)
    return np.isin(np.arange(len(hulls)), list(second)).astype(int)


def spectral(
    hulls: Sequence[np.ndarray],
    owners: np.ndarray,
    n_groups: int,
    *,
    curvature: float = 1.0,
    seed: int = 0,
    between: Between = mean_distances,
) -> np.ndarray:
    """Spectral clustering; groups (n,). `between` as for `kernighan_lin`."""
    # slow to import, and not needed where a grouping is only named
    from sklearn.cluster import SpectralClustering

    weights = _weights(between(hulls, curvature))
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


def _weights(distances: np.ndarray) -> np.ndarray:
    weights = 1.0 / np.maximum(distances, _TOUCHING)
    np.fill_diagonal(weights, 0.0)
    return weights
