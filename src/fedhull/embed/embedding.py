"""Embeddings: cells, their embedder, their points, and figures of quality.

scikit-learn and SciPy's statistics are imported when they are used: that takes seconds.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import issparse

from fedhull.disc.maps import pairwise_distance
from fedhull.embed.cells import Cells
from fedhull.embed.embedder import CellEmbedder
from fedhull.errors import InvalidInput
from fedhull.progress import Report, ignore

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
    figures = _distances(before, after) | {"neighbours_kept": _neighbours_kept(before, after)}
    if labels is not None:
        spaces = {
            "knn_disc": after,
            "knn_pca2": pairwise_distances(reduced[:, :2]),
            "knn_pca10": pairwise_distances(reduced[:, :10]),
        }
        figures |= _label_accuracies(spaces, np.asarray(labels), seed)
    return figures


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
    common = sizes[number] >= _FOLDS
    if len(names) < 2 or len(np.unique(labels[common])) < 2:
        return {}
    y = number[common]
    folds = StratifiedKFold(_FOLDS, shuffle=True, random_state=seed)
    n_neighbors = min(N_NEIGHBORS, len(y) // 2)
    judge = KNeighborsClassifier(n_neighbors, metric="precomputed")
    figures = {
        name: 100.0 * float(cross_val_score(judge, d[np.ix_(common, common)], y, cv=folds).mean())
        for name, d in spaces.items()
    }
    return figures | {"majority": 100.0 * float(np.bincount(y).max() / len(y))}


@dataclass(frozen=True)
class Embedding:
    """Points (n, 2) of cells, their embedder, its genes that they lack, and figures of quality."""

    points: np.ndarray
    embedder: CellEmbedder
    fitted_here: bool
    missing_genes: list[str]
    quality: dict[str, float]

    def to_json(self) -> dict[str, Any]:
        """Facts about the points, as plain values."""
        embedder = self.embedder
        return {
            "method": embedder.method,
            "curvature": float(embedder.curvature),
            "supervised": embedder.supervised,
            "encoder_hash": embedder.hash,
            "fitted_here": self.fitted_here,
            "counts": embedder.preparation.counts,
            "n_genes": len(embedder.preparation.genes),
            "missing_genes": self.missing_genes,
            "quality": self.quality,
        }


def fit_embedding(
    cells: Cells,
    embedder: CellEmbedder,
    labels: np.ndarray | None = None,
    supervised: bool = False,
    seed: int = 0,
    report: Report = ignore,
) -> Embedding:
    """Fit the embedder to the cells. Labels supervise it only if asked to."""
    if supervised and labels is None:
        raise InvalidInput("labels must be given if they are to supervise the embedding")
    points = embedder.fit_transform(cells, labels if supervised else None, report)
    return _judged(cells, points, embedder, labels, seed, fitted_here=True)


def apply_embedding(
    cells: Cells, embedder: CellEmbedder, labels: np.ndarray | None = None, seed: int = 0
) -> Embedding:
    """Place the cells in the frame of an embedder that was fitted before, perhaps by others."""
    return _judged(cells, embedder.transform(cells), embedder, labels, seed, fitted_here=False)


def _judged(
    cells: Cells,
    points: np.ndarray,
    embedder: CellEmbedder,
    labels: np.ndarray | None,
    seed: int,
    fitted_here: bool,
) -> Embedding:
    rows = np.arange(len(cells))
    if len(rows) > MOST_CELLS:
        rows = np.sort(np.random.default_rng(seed).choice(rows, MOST_CELLS, replace=False))
    seen = embedder.preparation.apply(cells[rows])
    quality = measure_quality(
        seen.toarray() if issparse(seen) else np.asarray(seen, dtype=np.float64),
        points[rows],
        None if labels is None else np.asarray(labels)[rows],
        embedder.curvature,
        seed,
    )
    missing = embedder.preparation.missing(cells)
    return Embedding(points, embedder, fitted_here, missing, quality)
