"""What is known of genes from sums over cells: enough to choose variable ones and to scale them.

Sums of several sites add up to those of all their cells, so that a federation chooses and scales
genes as one site with all cells would.
"""

import math
from dataclasses import dataclass

import numpy as np
from scipy.sparse import issparse

from fedhull.embed.cells import Cells, Matrix, Preparation, normalised
from fedhull.embed.projection import Standardisation
from fedhull.errors import InvalidInput

# A gene that fewer cells, or a smaller share of them, express says little of types of cells, but
# something of these cells; scaled, it would outweigh all others in the few that have it.
FEWEST_EXPRESSING, SMALLEST_SHARE = 5, 0.005
_MOST_GROUPS, _GENES_OF_A_GROUP = 20, 50


@dataclass(frozen=True, repr=False)
class GeneSums:
    """Over `cells` cells of `sites` sites, for each of g genes, (g,): how many sites `measure` it,
    and how many cells `express` it; Σ and Σ of the squares of its values, if they are counts per
    10,000; and of what an embedder sees, their log."""

    cells: int
    sites: int
    measure: np.ndarray
    express: np.ndarray
    values: np.ndarray
    squares: np.ndarray
    seen: np.ndarray
    seen_squares: np.ndarray

    @classmethod
    def of(cls, cells: Cells, counts: bool) -> "GeneSums":
        """The sums over some cells."""
        columns = np.zeros((5, len(cells.genes)))
        for chunk in cells.chunks():
            x = normalised(chunk.x) if counts else chunk.x
            columns += _sums(x, counts)
        measured = np.ones(len(cells.genes), dtype=np.int64)
        return cls(len(cells), 1, measured, columns[0].astype(np.int64), *columns[1:])

    def variable_genes(
        self, n_genes: int, fewest: int = FEWEST_EXPRESSING, share: float = SMALLEST_SHARE
    ) -> np.ndarray:
        """Which `n_genes` genes have the largest variance for their mean: how many deviations
        log(variance/mean) lies above its average in a group of genes of like mean (Satija et al.
        2015).

        Genes that fewer than `fewest` cells, or a smaller share of them than `share`, express are
        not among them; nor are genes that some sites do not measure, as long as those that all
        measure are half as many as are wanted: by such genes cells are told apart by where they
        were measured.
        """
        if n_genes < 2:
            raise InvalidInput(f"n_genes must be at least 2, got {n_genes}")
        mean = self.values / self.cells
        variance = np.maximum(self.squares / self.cells - mean**2, 0.0)
        fewest = min(max(fewest, math.ceil(share * self.cells)), self.cells)
        varying = np.flatnonzero((variance > 0) & (self.express >= fewest))
        if len(varying) < 2:
            raise InvalidInput(
                f"x must have at least two genes that {fewest} cells or more express and that are "
                f"not the same in all cells"
            )
        common = varying[self.measure[varying] == self.sites]
        if 2 * len(common) >= min(n_genes, len(varying)):
            varying = common
        if len(varying) <= n_genes or (mean < 0).any():
            # negative means: the data are scaled already, and variances say what there is to say
            score = variance[varying]
        else:
            score = _dispersion(mean[varying], variance[varying])
        # sums that were added up in another order differ in their last digits
        order = np.argsort(-np.round(score, 9), kind="stable")
        return np.sort(varying[order[:n_genes]])

    def mean(self, genes: np.ndarray) -> np.ndarray:
        """The mean of what an embedder sees of some genes."""
        return self.seen[genes] / self.cells

    def deviation(self, genes: np.ndarray) -> np.ndarray:
        """Its standard deviation, or 1 where that is 0."""
        variance = self.seen_squares[genes] / self.cells - self.mean(genes) ** 2
        return np.where(variance > 0, np.sqrt(np.maximum(variance, 0.0)), 1.0)


def choose_genes(cells: Cells, n_genes: int = 2000, counts: bool | None = None) -> Standardisation:
    """The `n_genes` most variable genes of some cells, and how they are scaled; without `counts`,
    the data decide whether they are raw counts."""
    counts = cells.are_counts if counts is None else counts
    if counts:
        cells.check_counts("if there are none, set counts to false (--no-counts)")
    sums = GeneSums.of(cells, counts)
    chosen = sums.variable_genes(n_genes)
    preparation = Preparation([str(cells.genes[i]) for i in chosen], counts)
    # what is no count has been scaled by whoever prepared it
    deviation = sums.deviation(chosen) if counts else np.ones(len(chosen))
    return Standardisation(preparation, sums.mean(chosen), deviation)


def _sums(x: Matrix, counts: bool) -> np.ndarray:
    """Of each column: how many values are not zero, and Σ and Σ of squares of these and of their
    logs, (5, g)."""
    n_genes = x.shape[1]
    values = np.asarray(x.data if issparse(x) else x, dtype=np.float64)
    seen = np.log1p(values) if counts else values
    terms = (values != 0, values, values**2, seen, seen**2)
    if issparse(x):
        return np.array([np.bincount(x.indices, term, n_genes) for term in terms])
    return np.array([term.sum(axis=0) for term in terms])


def _dispersion(mean: np.ndarray, variance: np.ndarray) -> np.ndarray:
    """log(variance/mean) of each gene, in deviations from the average of its group."""
    dispersion = np.log(variance / mean)
    n_groups = min(_MOST_GROUPS, max(1, len(mean) // _GENES_OF_A_GROUP))
    edges = np.quantile(mean, np.linspace(0, 1, n_groups + 1)[1:-1])
    group = np.searchsorted(edges, mean)
    size = np.maximum(np.bincount(group, minlength=n_groups), 1)
    centre = np.bincount(group, dispersion, n_groups) / size
    spread = np.sqrt(np.bincount(group, (dispersion - centre[group]) ** 2, n_groups) / size)
    return (dispersion - centre[group]) / np.where(spread > 0, spread, 1.0)[group]
