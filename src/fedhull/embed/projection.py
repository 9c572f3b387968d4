"""From cells to a few numbers each: genes are standardised and projected on principal axes.

The axes follow from Σz and Σzzᵀ over scaled cells z, and these from Σx and Σxxᵀ over what cells
express, which several sites can add up. Values are clipped only when cells are projected.
"""

from dataclasses import dataclass

import numpy as np
from scipy.linalg import eigh
from scipy.sparse import issparse

from fedhull.embed.cells import Cells, Matrix, Preparation

CLIP = 10.0


@dataclass(frozen=True, repr=False)
class Standardisation:
    """How genes are prepared, and the mean and deviation of each, (g,)."""

    preparation: Preparation
    mean: np.ndarray
    deviation: np.ndarray

    def standardised(self, cells: Cells) -> np.ndarray:
        """What is projected on axes, (n, g); counts are clipped to ±10 deviations."""
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
        """The sums over some cells, not scaled: nobody else's choice of a scaling changes what they
        tell."""
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
        """The principal axes, as far as cells and genes allow so many. An axis points to where its
        largest entry is positive."""
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
        """What cells have on the axes, (n, c), not centred: only differences count."""
        chunks = [standard.standardised(chunk) @ self.components.T for chunk in cells.chunks()]
        return np.concatenate(chunks)


def _dense(x: Matrix) -> np.ndarray:
    dense: np.ndarray = x.toarray() if issparse(x) else np.asarray(x, dtype=np.float64)
    return dense
