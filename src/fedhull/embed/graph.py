"""Who is like whom: a graph of nearest neighbours, made into similarities of all pairs."""

from bisect import bisect_left
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
    """Disjoint groups of like cells, as rows: the cell that is farthest from the middle of those
    left makes a group with its nearest, as few as are enough; if the rest would not be, all that
    are left are the last group.

    MDAV (Domingo-Ferrer and Torra, 2005) in many dimensions, where no tree helps: O(n²/size). Sites
    of a few hundred cells need it: halving along single features, which is quicker, mixes types.
    """
    left, groups = np.arange(len(features)), []
    while len(left):
        x = features[left]
        farthest = x[_square_distances(x, x.mean(axis=0)).argmax()]
        nearest = left[np.argsort(_square_distances(x, farthest), kind="stable")]
        size = _first_enough(nearest, enough)
        if not enough(nearest[size:]):
            size = len(nearest)
        groups.append(nearest[:size])
        left = np.sort(nearest[size:])
    return groups


def _first_enough(rows: np.ndarray, enough: Callable[[np.ndarray], bool]) -> int:
    """How many of the first rows are enough; more than there are if all are not."""
    return 1 + bisect_left(range(len(rows)), x=True, key=lambda i: enough(rows[: i + 1]))


def _square_distances(x: np.ndarray, point: np.ndarray) -> np.ndarray:
    apart = x - point
    return np.einsum("ij,ij->i", apart, apart)
