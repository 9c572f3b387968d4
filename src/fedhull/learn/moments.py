"""Moments: what a ridge regression on features has to know of cells, and nothing else.

For cells with features φ (D,) and classes these are Σφφᵀ over all cells and, for each class, the
count and Σφ. Moments of disjoint sets of cells add up, so that sites can sum them without showing
their own.

They are whole numbers. Every feature, which lies in [−1, 1], is rounded to a multiple of 2⁻¹⁶
first; products are then multiples of 2⁻³², of size at most 1, and sums over fewer than 2²⁸ cells
lie strictly between −2⁶⁰ and 2⁶⁰: their sign survives in a field of 2⁶¹ − 1 elements. A float
holds whole numbers up to 2⁵³ exactly: 2²¹ products at least, so that BLAS multiplies chunks
without rounding. So sums do not depend on order, chunks or who holds which cell.
"""

from dataclasses import dataclass

import numpy as np

from fedhull.errors import InvalidInput

MOST_CELLS = (1 << 28) - 1
BITS = 16
# Rows of features that are multiplied at once: few enough for the processor's cache. Any number up
# to 2²¹ gives the same sums.
AT_ONCE = 1 << 12


@dataclass(frozen=True)
class Moments:
    """gram (D, D) : Σφφᵀ in units of 2⁻³². sums (J, D) : Σφ of each class in units of 2⁻¹⁶.
    counts (J,) : how many cells. All int64.
    """

    gram: np.ndarray
    sums: np.ndarray
    counts: np.ndarray

    @classmethod
    def none(cls, n_features: int, n_classes: int) -> "Moments":
        """The moments of no cells."""
        return cls(
            np.zeros((n_features, n_features), dtype=np.int64),
            np.zeros((n_classes, n_features), dtype=np.int64),
            np.zeros(n_classes, dtype=np.int64),
        )

    @classmethod
    def of(cls, features: np.ndarray, classes: np.ndarray, n_classes: int) -> "Moments":
        """The moments of cells with features (n, D) in [−1, 1] and classes (n,) in 0..J−1.

        >>> moments = Moments.of(np.array([[0.5, 1.0], [-0.5, 0.25]]), np.array([0, 1]), 2)
        >>> (moments.gram / 2.0**32).tolist(), moments.counts.tolist()
        ([[0.5, 0.375], [0.375, 1.0625]], [1, 1])
        """
        total = cls.none(features.shape[1], n_classes)
        space = np.empty((min(len(features), AT_ONCE), features.shape[1]))
        for begin in range(0, len(features), AT_ONCE):
            part = slice(begin, begin + AT_ONCE)
            rounded = space[: len(features[part])]
            np.rint(np.multiply(features[part], 2.0**BITS, out=rounded), out=rounded)
            member = (classes[part] == np.arange(n_classes)[:, None]).astype(np.float64)
            total += cls(
                (rounded.T @ rounded).astype(np.int64),
                (member @ rounded).astype(np.int64),
                np.bincount(classes[part], minlength=n_classes).astype(np.int64),
            )
        return total

    def __add__(self, other: "Moments") -> "Moments":
        return Moments(self.gram + other.gram, self.sums + other.sums, self.counts + other.counts)

    def packed(self) -> np.ndarray:
        """All that differs, as one array of whole numbers: the gram's upper triangle row by row,
        then the sums, then the counts."""
        upper = self.gram[np.triu_indices(len(self.gram))]
        return np.concatenate((upper, self.sums.ravel(), self.counts))

    @classmethod
    def unpacked(cls, values: np.ndarray, n_features: int, n_classes: int) -> "Moments":
        """The inverse of `packed`."""
        sizes = n_features * (n_features + 1) // 2, n_classes * n_features, n_classes
        if values.shape != (sum(sizes),):
            raise InvalidInput(
                f"moments of {n_features} features and {n_classes} classes are {sum(sizes)} "
                f"numbers, got an array of shape {values.shape}"
            )
        upper, sums, counts = np.split(values.astype(np.int64), np.cumsum(sizes)[:-1])
        gram = np.zeros((n_features, n_features), dtype=np.int64)
        gram[np.triu_indices(n_features)] = upper
        gram = gram + np.triu(gram, 1).T
        return cls(gram, sums.reshape(n_classes, n_features), counts)

    def check(self) -> None:
        """Raise InvalidInput unless some cells have these moments, as far as sums can tell: counts
        are not negative, features lie in [−1, 1], and what a class's cells scatter by about their
        mean, Σφφᵀ − Σ (Σφ)(Σφ)ᵀ/count, is no less than nothing in any direction."""
        n_features, n_classes = len(self.gram), len(self.counts)
        if self.gram.shape != (n_features,) * 2 or self.sums.shape != (n_classes, n_features):
            raise InvalidInput(
                f"gram must have shape (D, D) and sums (J, D), got {self.gram.shape} and "
                f"{self.sums.shape}"
            )
        total = sum(self.counts.tolist())
        if (self.counts < 0).any() or not 0 < total <= MOST_CELLS:
            raise InvalidInput(
                f"counts must be ≥ 0 and add up to between 1 and {MOST_CELLS}, got {total}"
            )
        if (np.abs(self.sums) > self.counts[:, None] << BITS).any():
            raise InvalidInput("sums must not exceed the counts: features lie between −1 and 1")
        if (np.abs(self.gram) > total << 2 * BITS).any() or (self.gram != self.gram.T).any():
            raise InvalidInput("gram must be symmetric and must not exceed the number of cells")
        # rounding: of the matrix itself, and of its eigenvalues
        least = float(np.linalg.eigvalsh(self.scatter()).min())
        if least < -1e-9 * total:
            raise InvalidInput(
                f"gram and sums contradict each other: no cells scatter by {least:.3g} < 0"
            )

    def scatter(self) -> np.ndarray:
        """Σ(φ−μ)(φ−μ)ᵀ about the means μ of the classes, (D, D)."""
        sums = np.ldexp(self.sums.astype(np.float64), -BITS)
        means = sums / np.maximum(self.counts, 1)[:, None]
        return np.ldexp(self.gram.astype(np.float64), -2 * BITS) - means.T @ sums
