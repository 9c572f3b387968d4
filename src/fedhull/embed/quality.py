"""How well points in the disc stand for the data they were made from.

scikit-learn and SciPy's statistics are imported when they are used: that takes seconds, and whoever
reads points from a file needs neither.
"""

from collections.abc import Mapping

import numpy as np

from fedhull.disc.maps import pairwise_distance

MOST_CELLS = 3000
N_NEIGHBORS = 15
_COMPONENTS = 50  # beyond these, distances between cells are mostly noise
_FOLDS = 5


def measure_quality(
    features: np.ndarray,
    points: np.ndarray,
    labels: np.ndarray | None = None,
    curvature: float = 1.0,
    seed: int = 0,
) -> dict[str, float]:
    """Figures over all pairs of cells: for a few thousand of them.

    features : (n, g), what the embedder saw; points : (n, 2); labels : (n,), if there are any.

    - ``distance_correlation``: Spearman's, of distances in the disc and in 50 principal components;
    - ``distortion``: how far a distance is off, on average, as a share of what it should be, after
      the best rescaling;
    - ``neighbours_kept``: the share of a cell's 15 nearest neighbours that still are;
    - ``knn_disc``, ``knn_pca2``, ``knn_pca10``: percent of cells whose 15 nearest neighbours vote
      for their label, in the disc and after PCA; ``majority``: of those with the commonest label.
    """
    from sklearn.decomposition import PCA
    from sklearn.metrics import pairwise_distances

    reduced = PCA(min(_COMPONENTS, *features.shape), random_state=seed).fit_transform(features)
    before = pairwise_distances(reduced)
    after = pairwise_distance(points, curvature=curvature)
    found = _distances(before, after) | {"neighbours_kept": _neighbours_kept(before, after)}
    if labels is not None:
        spaces = {
            "knn_disc": after,
            "knn_pca2": pairwise_distances(reduced[:, :2]),
            "knn_pca10": pairwise_distances(reduced[:, :10]),
        }
        found |= _label_accuracies(spaces, np.asarray(labels), seed)
    return found


def _distances(before: np.ndarray, after: np.ndarray) -> dict[str, float]:
    from scipy.stats import spearmanr

    pairs = np.triu_indices(len(before), 1)
    d, e = before[pairs], after[pairs]
    d, e = d[d > 0], e[d > 0]
    if len(d) < 2 or np.ptp(d) == 0 or np.ptp(e) == 0:
        return {}
    ratio = e / d
    # Σ (s·r − 1)² is least at s = Σr / Σr²
    off = np.abs(ratio * (ratio.sum() / (ratio @ ratio)) - 1.0)
    return {
        "distance_correlation": float(spearmanr(d, e).statistic),
        "distortion": float(off.mean()),
    }


def _neighbours_kept(before: np.ndarray, after: np.ndarray) -> float:
    n = len(before)
    n_neighbors = min(N_NEIGHBORS, n - 1)
    near = []
    for distances in (before.copy(), after.copy()):
        np.fill_diagonal(distances, np.inf)
        near.append(np.argpartition(distances, n_neighbors - 1, axis=1)[:, :n_neighbors])
    is_near = np.zeros((n, n), dtype=bool)
    np.put_along_axis(is_near, near[0], values=True, axis=1)
    return float(np.take_along_axis(is_near, near[1], axis=1).mean())


def _label_accuracies(
    spaces: Mapping[str, np.ndarray], labels: np.ndarray, seed: int
) -> dict[str, float]:
    """Five-fold; labels that fewer than five cells have are left out."""
    from sklearn.model_selection import StratifiedKFold, cross_val_score
    from sklearn.neighbors import KNeighborsClassifier

    names, number, sizes = np.unique(labels, return_inverse=True, return_counts=True)
    kept = sizes[number] >= _FOLDS
    if len(names) < 2 or len(np.unique(labels[kept])) < 2:
        return {}
    y = number[kept]
    folds = StratifiedKFold(_FOLDS, shuffle=True, random_state=seed)
    n_neighbors = min(N_NEIGHBORS, len(y) // 2)
    judge = KNeighborsClassifier(n_neighbors, metric="precomputed")
    found = {
        name: 100.0 * float(cross_val_score(judge, d[np.ix_(kept, kept)], y, cv=folds).mean())
        for name, d in spaces.items()
    }
    return found | {"majority": 100.0 * float(np.bincount(y).max() / len(y))}
