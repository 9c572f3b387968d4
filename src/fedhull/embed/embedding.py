"""Cells, the embedder that places them, where they go, and how good that is: one whole."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import issparse

from fedhull.embed.cells import Cells
from fedhull.embed.embedder import CellEmbedder
from fedhull.embed.quality import MOST_CELLS, measure_quality
from fedhull.errors import InvalidInput
from fedhull.progress import Report, ignore


@dataclass(frozen=True)
class Embedding:
    """Points (n, 2) of cells, the embedder they come from, which of its genes the cells lack, and
    the figures of `measure_quality`."""

    points: np.ndarray
    embedder: CellEmbedder
    fitted_here: bool
    missing_genes: list[str]
    quality: dict[str, float]

    def to_json(self) -> dict[str, Any]:
        """What is to be known of the points, as plain values."""
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
    """Fit the embedder to the cells. Labels are for the quality figures only, unless the fit is to
    be supervised by them."""
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
