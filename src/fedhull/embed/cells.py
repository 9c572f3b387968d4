"""A matrix of cells and genes, and how it is made ready for an embedder."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
import numpy as np
from scipy.sparse import csr_matrix, issparse

from fedhull.errors import InvalidInput

Matrix = Any  # (n, g), a NumPy array or a SciPy CSR matrix
_TARGET = 1e4  # counts of a cell after normalisation
_MOST_GROUPS, _GENES_OF_A_GROUP = 20, 50
_CHUNK = 4096


@dataclass(frozen=True)
class Cells:
    """Measurements x (n, g), sparse or dense, and the names of the g genes (or other features)."""

    x: Matrix
    genes: Sequence[str]

    def __post_init__(self) -> None:
        x = csr_matrix(self.x) if issparse(self.x) else np.asarray(self.x)
        if x.ndim != 2 or x.shape[1] != len(self.genes):
            raise InvalidInput(
                f"x must have shape (cells, genes) with {len(self.genes)} genes, got {x.shape}"
            )
        if 0 in x.shape:
            raise InvalidInput(f"x must hold at least one cell and one gene, got shape {x.shape}")
        values = np.asarray(x.data if issparse(x) else x)
        if values.dtype.kind not in "fiub":
            raise InvalidInput(f"x must hold numbers, got {values.dtype}")
        if not np.isfinite(values).all():
            raise InvalidInput("x must hold no NaN and no infinity")
        if len(set(self.genes)) < len(self.genes):
            twice = next(g for i, g in enumerate(self.genes) if g in self.genes[:i])
            raise InvalidInput(
                f"genes must have different names, but {twice!r} appears twice; with AnnData, "
                f"call adata.var_names_make_unique() first"
            )
        object.__setattr__(self, "x", x)

    def __len__(self) -> int:
        return int(self.x.shape[0])

    def __getitem__(self, rows: Any) -> "Cells":
        """Some of the cells."""
        return Cells(self.x[rows], self.genes)

    def chunks(self) -> Iterator["Cells"]:
        """All cells, a few thousand at a time, so that dense intermediates stay small."""
        for first in range(0, len(self), _CHUNK):
            yield self[first : first + _CHUNK]

    @property
    def are_counts(self) -> bool:
        """Whether these look like raw counts: whole numbers, none negative."""
        values = self.x.data if issparse(self.x) else self.x
        return bool((values >= 0).all() and (values == np.floor(values)).all())


class Preparation(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Which genes an embedder looks at, and whether counts are normalised and logged first.

    It knows genes by their names: cells whose genes come in another order, or that have more of
    them, are prepared alike; a gene that is missing counts as not expressed.
    """

    genes: list[str]
    counts: bool

    @classmethod
    def choose(cls, cells: Cells, n_genes: int = 2000, counts: bool | None = None) -> "Preparation":
        """The `n_genes` most variable genes; without `counts`, the data decide whether they are
        raw counts."""
        if n_genes < 2:
            raise InvalidInput(f"n_genes must be at least 2, got {n_genes}")
        counts = cells.are_counts if counts is None else counts
        if counts and not cells.are_counts:
            raise InvalidInput(
                "x must hold raw counts (whole numbers, none negative) to be normalised and "
                "log-transformed; if it does not, set counts to false (--no-counts)"
            )
        chosen = _variable_genes(_normalised(cells.x) if counts else cells.x, n_genes)
        return cls([str(cells.genes[i]) for i in chosen], counts)

    def missing(self, cells: Cells) -> list[str]:
        """The genes that these cells do not have."""
        there = set(map(str, cells.genes))
        return [gene for gene in self.genes if gene not in there]

    def select(self, cells: Cells) -> Matrix:
        """The values of the chosen genes in their order, as they are in the data: (n, g)."""
        missing = self.missing(cells)
        if 2 * len(missing) > len(self.genes):
            raise InvalidInput(
                f"the cells lack {len(missing)} of the embedder's {len(self.genes)} genes "
                f"({', '.join(missing[:3])}, …); genes are matched by name: are both gene symbols, "
                f"or both identifiers?"
            )
        place = {str(gene): i for i, gene in enumerate(cells.genes)}
        if [place.get(gene) for gene in self.genes] == list(range(len(cells.genes))):
            return cells.x
        columns = [place[gene] for gene in self.genes if gene in place]
        if not missing:
            return cells.x[:, columns]
        picked = csr_matrix(cells.x[:, columns])
        targets = np.flatnonzero([gene in place for gene in self.genes])
        return csr_matrix(
            (picked.data, targets[picked.indices], picked.indptr),
            shape=(len(cells), len(self.genes)),
        )

    def apply(self, cells: Cells) -> Matrix:
        """What the embedder sees, (n, g): sparse stays sparse."""
        chosen = self.select(cells)
        if not self.counts:
            return chosen
        normalised = _normalised(chosen, cells.x)
        return normalised.log1p() if issparse(normalised) else np.log1p(normalised)


def _normalised(x: Matrix, whole: Matrix | None = None) -> Matrix:
    """Counts per 10,000; a cell's total is taken over all of its genes."""
    totals = np.asarray((x if whole is None else whole).sum(axis=1), dtype=np.float64).ravel()
    scale = _TARGET / np.where(totals > 0, totals, 1.0)
    if not issparse(x):
        return x * scale[:, None]
    scaled = csr_matrix(x, dtype=np.float64, copy=True)
    scaled.data *= np.repeat(scale, np.diff(scaled.indptr))
    return scaled


def _variable_genes(x: Matrix, n_genes: int) -> np.ndarray:
    """The genes with the largest variance for their mean: how many deviations log(variance/mean)
    lies above its average in a group of genes of like mean (Satija et al. 2015)."""
    mean = np.asarray(x.mean(axis=0), dtype=np.float64).ravel()
    square = x.multiply(x) if issparse(x) else x * x
    variance = np.maximum(np.asarray(square.mean(axis=0)).ravel() - mean**2, 0.0)
    varying = np.flatnonzero(variance > 0)
    if len(varying) < 2:
        raise InvalidInput("x must have at least two genes that are not the same in all cells")
    if len(varying) <= n_genes or (mean < 0).any():
        # negative means: the data are scaled already, and variances say what there is to say
        return np.sort(varying[np.argsort(-variance[varying], kind="stable")[:n_genes]])
    dispersion = np.log(variance[varying] / mean[varying])
    n_groups = min(_MOST_GROUPS, max(1, len(varying) // _GENES_OF_A_GROUP))
    edges = np.quantile(mean[varying], np.linspace(0, 1, n_groups + 1)[1:-1])
    group = np.searchsorted(edges, mean[varying])
    size = np.bincount(group, minlength=n_groups)
    centre = np.bincount(group, dispersion, n_groups) / np.maximum(size, 1)
    spread = np.sqrt(
        np.bincount(group, (dispersion - centre[group]) ** 2, n_groups) / np.maximum(size, 1)
    )
    score = (dispersion - centre[group]) / np.where(spread > 0, spread, 1.0)[group]
    return np.sort(varying[np.argsort(-score, kind="stable")[:n_genes]])
