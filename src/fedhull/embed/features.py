"""From cells to a few numbers each: variable genes, standardised and projected on principal axes.

Sums over cells are enough to choose variable genes and to scale them (`GeneSums`), and to find the
axes (`Products`): Σx and Σxxᵀ over what cells express. Sums of several sites add up to those of all
their cells, so that a federation comes to the same features as one site with all cells. Values are
clipped only when cells are projected.
"""

import math
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from scipy.linalg import eigh
from scipy.sparse import issparse

from fedhull.embed.cells import Cells, Matrix, Preparation, normalised
from fedhull.errors import InvalidInput

CLIP = 10.0
# Of fewer cells nobody can tell how their site measures.
FEWEST_TO_CORRECT = 50
# A gene that fewer cells, or a smaller share of them, express says little of types of cells, but
# something of these cells; scaled, it would outweigh all others in the few that have it.
FEWEST_EXPRESSING, SMALLEST_SHARE = 5, 0.005
_MOST_GROUPS, _GENES_OF_A_GROUP = 20, 50


@dataclass(frozen=True, repr=False)
class Standardisation:
    """Preparation of genes, and the mean and deviation of each, (g,)."""

    preparation: Preparation
    mean: np.ndarray
    deviation: np.ndarray

    def standardised(self, cells: Cells) -> np.ndarray:
        """Input of the axes, (n, g); counts are clipped to ±10 deviations."""
        standard: np.ndarray = (_dense(self.preparation.apply(cells)) - self.mean) / self.deviation
        return np.clip(standard, -CLIP, CLIP) if self.preparation.counts else standard


@dataclass(frozen=True, repr=False)
class Products:
    """Σ1, Σx (g,) and Σxxᵀ (g, g) over what an embedder sees of cells, as it is or scaled."""

    cells: int
    sums: np.ndarray
    products: np.ndarray

    @classmethod
    def of(cls, preparation: Preparation, cells: Cells) -> "Products":
        """The sums over some cells, unscaled: no choice of a scaling changes what they tell."""
        g = len(preparation.genes)
        sums, products = np.zeros(g), np.zeros((g, g))
        for chunk in cells.chunks():
            x = _dense(preparation.apply(chunk))
            sums += x.sum(axis=0)
            products += x.T @ x
        return cls(len(cells), sums, products)

    def scaled(self, standard: Standardisation) -> "Products":
        """The sums over (x − mean)/deviation of the same cells."""
        mean, deviation = standard.mean, standard.deviation
        crossed = np.outer(mean, self.sums)
        moved = self.products - crossed - crossed.T + self.cells * np.outer(mean, mean)
        return Products(
            self.cells,
            (self.sums - self.cells * mean) / deviation,
            moved / np.outer(deviation, deviation),
        )

    def axes(self, n_components: int) -> "Axes":
        """At most `n_components` principal axes, each with its largest entry positive."""
        centre = self.sums / self.cells
        covariance = self.products / self.cells - np.outer(centre, centre)
        g = len(centre)
        n_components = min(n_components, self.cells, g)
        variances, vectors = eigh(covariance, subset_by_index=(g - n_components, g - 1))
        components = vectors.T[::-1]
        largest = np.take_along_axis(components, np.abs(components).argmax(axis=1)[:, None], axis=1)
        components = components * np.sign(largest)
        return Axes(components, components @ centre, np.maximum(variances[::-1], 0.0))


@dataclass(frozen=True, repr=False)
class Axes:
    """Principal axes (c, g), and what cells have on them: mean (c,) and variance (c,)."""

    components: np.ndarray
    mean: np.ndarray
    variance: np.ndarray

    def features(self, standard: Standardisation, cells: Cells) -> np.ndarray:
        """Coordinates of cells on the axes, (n, c), not centred: only differences count."""
        chunks = [standard.standardised(chunk) @ self.components.T for chunk in cells.chunks()]
        return np.concatenate(chunks)


def _dense(x: Matrix) -> np.ndarray:
    dense: np.ndarray = x.toarray() if issparse(x) else np.asarray(x, dtype=np.float64)
    return dense


Correction = Literal["none", "centre", "scale"]
NO_CORRECTION: Correction = "none"


def corrected(features: np.ndarray, axes: "Axes", correction: Correction) -> np.ndarray:
    """Features (n, c) of the cells of one site, moved along each axis so that their mean is that of
    all sites' cells ("centre"), and stretched so that their variance is as well ("scale").

    That takes out what is the same for all cells of a site: how it measures, but also which types
    of cells it has more of.
    """
    if correction == NO_CORRECTION:
        return features
    if correction not in get_args(Correction):
        raise InvalidInput(
            f"correction must be one of {', '.join(get_args(Correction))}, got {correction!r}"
        )
    if len(features) < FEWEST_TO_CORRECT:
        raise InvalidInput(
            f"this encoder corrects for how a site measures, for which it takes at least "
            f"{FEWEST_TO_CORRECT} cells of the site at once, got {len(features)}; place them "
            f"together with others of the same site"
        )
    centred = features - features.mean(axis=0)
    if correction == "scale":
        own = centred.std(axis=0)
        centred *= np.sqrt(axes.variance) / np.where(own > 0, own, 1.0)
    return centred + axes.mean


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
        """The `n_genes` genes with the largest variance for their mean: log(variance/mean) in
        deviations from its average in a group of genes of like mean (Satija et al. 2015).

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
                f"x must have at least two varying genes that {fewest} cells or more express"
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
    """The `n_genes` most variable genes of cells, and their scaling."""
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
    """Sums over columns, (5, g): of non-zeros, values, squares, logs, and squared logs."""
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
