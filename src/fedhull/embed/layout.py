"""Points in the disc whose distances mirror given similarities: gradient descent, all pairs.

With similarities P (symmetric, sum 1) and Q_ij = e^{−d_ij} / Σ e^{−d}, the loss is KL(P‖Q), as in
Poincaré maps (Klimovskaia et al. 2020), but normalised over all pairs as in t-SNE. Its gradient is
Σ_j (P_ij − Q_ij)·∇d_ij up to a factor, and e^{−d} = cosh d − sinh d needs no logarithm.
"""

from bisect import bisect_left
from collections.abc import Callable

import numpy as np
from numba import njit, prange
from sklearn.neighbors import kneighbors_graph

from fedhull.disc.maps import centroid, exp_map, mobius_add
from fedhull.progress import Progress, Report, ignore

_SCALE_NEIGHBOUR = 8  # the one whose distance sets a cell's own scale
_OTHER_LABEL = 0.1  # what a neighbour of another label counts, if labels supervise
# The rim is where floats end; nothing is gained by going there.
_MOST_RADIUS = 0.99
_MOMENTUM, _SMOOTHING = 0.9, 0.99
_LONGEST_STEP = 2.0


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
    """Disjoint groups of like cells, as rows: the cell farthest from the middle of those left and
    its nearest, as few as are enough; a rest that is not enough joins the last group.

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
    """Number of the first rows that are enough; more than there are if all are not."""
    return 1 + bisect_left(range(len(rows)), x=True, key=lambda i: enough(rows[: i + 1]))


def _square_distances(x: np.ndarray, point: np.ndarray) -> np.ndarray:
    apart = x - point
    return np.einsum("ij,ij->i", apart, apart)


def layout(
    similarity: np.ndarray,
    start: np.ndarray,
    steps: int = 200,
    rate: float = 0.1,
    exaggeration: float = 2.0,
    report: Report = ignore,
) -> np.ndarray:
    """Points (n, 2) of the unit disc for similarities (n, n), from starting points (n, 2).

    Riemannian Adam, one step length for each point; in the first quarter neighbours attract each
    other `exaggeration` times as strongly, so that they find together before the rest is arranged.
    """
    x = start
    p = np.ascontiguousarray(similarity / similarity.sum(), dtype=np.float32)
    momentum, size = np.zeros_like(x), np.zeros(len(x))
    for step in range(1, steps + 1):
        stretch = exaggeration if 4 * step <= steps else 1.0
        gap = 1.0 - (x * x).sum(axis=1)
        gradient = _gradient(x, gap, p, stretch)
        momentum = _MOMENTUM * momentum + (1 - _MOMENTUM) * gradient
        length = 2.0 * np.hypot(*gradient.T) / gap
        size = _SMOOTHING * size + (1 - _SMOOTHING) * length**2
        # the usual corrections for having started from zero, and a rate that falls to a tenth
        mean = momentum / (1 - _MOMENTUM**step)
        typical = np.sqrt(size / (1 - _SMOOTHING**step)) + 1e-8
        move = -rate * (1 - 0.9 * step / steps) * mean / typical[:, None]
        far = 2.0 * np.hypot(*move.T) / gap
        move *= np.minimum(1.0, _LONGEST_STEP / np.maximum(far, 1e-12))[:, None]
        x = _inside(exp_map(x, move))
        x = _inside(mobius_add(-centroid(x), x))
        report(Progress("laying out", step, steps))
    return x


def _inside(x: np.ndarray) -> np.ndarray:
    radius = np.hypot(*x.T)
    return x * np.minimum(1.0, _MOST_RADIUS / np.maximum(radius, 1e-12))[:, None]


def _gradient(x: np.ndarray, gap: np.ndarray, p: np.ndarray, stretch: float) -> np.ndarray:
    """The Riemannian gradient of n·KL(P‖Q), attraction stretched."""
    single = np.float32
    attraction, repulsion, total = _forces(
        x[:, 0].astype(single), x[:, 1].astype(single), gap.astype(single), p
    )
    pull = stretch * attraction - repulsion / total.sum(dtype=np.float64)
    return 2.0 * len(x) * (gap * gap / 4.0)[:, None] * pull


@njit(parallel=True, fastmath=True, cache=True)
def _forces(
    x: np.ndarray, y: np.ndarray, gap: np.ndarray, p: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Σ_j P_ij ∇d_ij, Σ_j e^{−d_ij} ∇d_ij and Σ_j e^{−d_ij} for each i, in single precision and
    without branches, so that the compiler can take eight pairs at a time."""
    n = x.shape[0]
    attraction = np.empty((n, 2), np.float32)
    repulsion = np.empty((n, 2), np.float32)
    total = np.empty(n, np.float32)
    one, two, tiny = np.float32(1), np.float32(2), np.float32(1e-9)
    for i in prange(n):
        xi, yi, gi = x[i], y[i], gap[i]
        ax = ay = asq = rx = ry = rsq = z = np.float32(0)
        for j in range(n):
            dx, dy = xi - x[j], yi - y[j]
            square = dx * dx + dy * dy
            scale = one / (gi * gap[j])
            rise = two * square * scale  # cosh d − 1
            sinh = np.sqrt(rise * (rise + two)) + tiny
            kernel = one / (one + rise + sinh)
            scale /= sinh
            z += kernel
            repel, attract = kernel * scale, p[i, j] * scale
            rx += repel * dx
            ry += repel * dy
            rsq += repel * square
            ax += attract * dx
            ay += attract * dy
            asq += attract * square
        total[i] = z - one  # a point does not repel itself
        repulsion[i, 0] = 4 * (rx + rsq / gi * xi)
        repulsion[i, 1] = 4 * (ry + rsq / gi * yi)
        attraction[i, 0] = 4 * (ax + asq / gi * xi)
        attraction[i, 1] = 4 * (ay + asq / gi * yi)
    return attraction, repulsion, total
