"""Which hulls of different clients are the same class (Sec. 5.6, App. H).

The server has hulls and knows which come from the same, unnamed, client. Three ways to sort them
into J global classes: the paper's Kernighan–Lin bisection for two classes, its spectral clustering
with repelled siblings for more, and ours: matching, which holds to the fact that a client's hulls
are all of different classes.
"""

from collections.abc import Sequence
from itertools import combinations, pairwise
from typing import Any, Literal

import networkx as nx
import numpy as np
from scipy.optimize import linear_sum_assignment
from sklearn.cluster import SpectralClustering

from fedhull.disc.link import hull_distance
from fedhull.disc.maps import pairwise_distance
from fedhull.errors import InvalidInput
from fedhull.learn.matching import matching

Method = Literal["matching", "kernighan-lin", "spectral"]
Between = Literal["mean", "hull"]

# The paper's settings: two hulls of one client are tied by a hundredth of the weakest tie.
_SIBLING_SHARE = 0.01
_RESTARTS, _MOST_ROUNDS = 20, 50
# Hulls that meet count as this close.
_TOUCHING = 1e-3
# Restarts from every client's hulls are tried for studies up to this size.
_MANY_HULLS = 2_000


def group_hulls(
    hulls: Sequence[np.ndarray],
    clients: Sequence[int],
    n_groups: int,
    method: Method = "matching",
    curvature: float = 1.0,
    seed: int = 0,
    between: Between = "mean",
) -> np.ndarray:
    """The group, 0..n_groups−1, of each hull; `clients[i]` says whose hull i is.

    `between` is the distance of two hulls that spectral and kernighan-lin use: the mean over their
    points (eq. 10), or, as "hull", the exact distance between the hulls. Matching uses centres.

    >>> a, b = np.array([[0.8, 0.0]]), np.array([[-0.8, 0.0]])
    >>> group_hulls([a, b, b, a], clients=[0, 0, 1, 1], n_groups=2).tolist()
    [0, 1, 1, 0]
    """
    owners = np.asarray(clients)
    if method == "matching":
        groups = matching(hulls, owners, n_groups, curvature=curvature, seed=seed)
    elif method == "spectral":
        groups = _spectral(_weights(hulls, curvature, between), owners, n_groups, seed)
    elif method == "kernighan-lin":
        groups = _kernighan_lin(_weights(hulls, curvature, between), n_groups, seed)
    else:
        raise InvalidInput(
            f"grouping must be 'matching', 'kernighan-lin' or 'spectral', got {method!r}"
        )
    return _numbered_by_appearance(groups)


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


def share_matched(groups: np.ndarray, truth: list[Any]) -> float:
    """The share of hulls in the right group, groups and classes paired as well as possible."""
    _, classes = np.unique(truth, return_inverse=True)
    table = np.zeros((groups.max() + 1, classes.max() + 1))
    np.add.at(table, (groups, classes), 1)
    rows, columns = linear_sum_assignment(-table)
    return float(table[rows, columns].sum() / len(truth))


def hull_distances(hulls: Sequence[np.ndarray], curvature: float = 1.0) -> np.ndarray:
    """Exact distance between every two hulls, shape (n, n); 0 where they meet."""
    table = np.zeros((len(hulls), len(hulls)))
    for i, j in combinations(range(len(hulls)), 2):
        table[i, j] = table[j, i] = hull_distance(hulls[i], hulls[j], curvature)
    return table


def _weights(hulls: Sequence[np.ndarray], curvature: float, between: Between) -> np.ndarray:
    """The paper's edge weights, one over the distance."""
    if between not in ("mean", "hull"):
        raise InvalidInput(f"between must be 'mean' or 'hull', got {between!r}")
    measure = mean_distances if between == "mean" else hull_distances
    distances = measure(hulls, curvature)
    weights = 1.0 / np.maximum(distances, _TOUCHING)
    np.fill_diagonal(weights, 0.0)
    return weights


def _kernighan_lin(weights: np.ndarray, n_groups: int, seed: int) -> np.ndarray:
    if n_groups != 2:
        raise InvalidInput(
            f"kernighan-lin grouping is for two classes, this study has {n_groups}; "
            f"use 'matching' or 'spectral'"
        )
    graph = nx.from_numpy_array(weights)
    _, second = nx.community.kernighan_lin_bisection(graph, weight="weight", seed=seed)
    return np.isin(np.arange(len(weights)), list(second)).astype(int)


def _spectral(weights: np.ndarray, owners: np.ndarray, n_groups: int, seed: int) -> np.ndarray:
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


def _numbered_by_appearance(groups: np.ndarray) -> np.ndarray:
    """The same partition, numbered in the order in which its groups appear."""
    numbers: dict[int, int] = {}
    return np.array([numbers.setdefault(int(g), len(numbers)) for g in groups])
