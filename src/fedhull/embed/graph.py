"""Who is like whom: a graph of nearest neighbours, made into similarities of all pairs."""

from collections.abc import Callable

import numpy as np
from sklearn.neighbors import kneighbors_graph

_SCALE_NEIGHBOUR = 8  # the one whose distance sets a cell's own scale
_OTHER_LABEL = 0.1  # what a neighbour of another label counts, if labels supervise


def accessibility(
    features: np.ndarray, n_neighbors: int, labels: np.ndarray | None = None
) -> np.ndarray:
    """Relative forest accessibilities (I + L)⁻¹ of the neighbour graph, (n, n), zero diagonal.

    L is the Laplacian of the graph in which every cell is joined to its nearest neighbours, with
    weights exp(−(d/s)²/2), s the distance of its eighth one. Unlike the graph itself, they also
    rank cells that are not neighbours (Chebotarev & Shamis 1997; Klimovskaia et al. 2020).
    """
    n = len(features)
    n_neighbors = min(n_neighbors, n - 1)
    graph = kneighbors_graph(features, n_neighbors, mode="distance")
    apart = np.sort(graph.data.reshape(n, n_neighbors), axis=1)
    scale = apart[:, min(_SCALE_NEIGHBOUR, n_neighbors) - 1]
    # copies of one cell are at distance 0 of each other, whatever the scale
    scale = np.where(scale > 0, scale, 1.0)
    graph.data = np.exp(-0.5 * (graph.data / np.repeat(scale, n_neighbors)) ** 2)
    weights = graph.maximum(graph.T).toarray()
    if labels is not None:
        weights[labels[:, None] != labels[None, :]] *= _OTHER_LABEL
    laplacian = np.diag(weights.sum(axis=1)) - weights
    similarity = np.linalg.inv(np.eye(n) + laplacian)
    np.fill_diagonal(similarity, 0.0)
    return np.maximum(similarity, 0.0)


def small_groups(features: np.ndarray, enough: Callable[[np.ndarray], bool]) -> list[np.ndarray]:
    """Groups of like cells: halved, again and again, along the feature in which they differ most,
    as long as both halves, given as rows, are enough."""
    waiting, groups = [np.arange(len(features))], []
    while waiting:
        members = waiting.pop()
        widest = features[members].var(axis=0).argmax()
        ordered = members[np.argsort(features[members, widest], kind="stable")]
        halves = [ordered[: len(ordered) // 2], ordered[len(ordered) // 2 :]]
        if all(map(enough, halves)):
            waiting += halves
        else:
            groups.append(members)
    return groups
