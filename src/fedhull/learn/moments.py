"""Moments: all that a ridge regression on features needs of cells.

For cells with features φ (D,) and classes these are Σφφᵀ over all cells and, for each class, the
count and Σφ. Moments of disjoint sets of cells add up, so that sites can sum them without showing
their own.

They are whole numbers. Every feature, which lies in [−1, 1], is rounded to a multiple of 2⁻¹⁶;
products are then multiples of 2⁻³² of size at most 1, and sums over fewer than 2²⁸ cells lie
strictly between −2⁶⁰ and 2⁶⁰: their sign survives in a field of 2⁶¹ − 1 elements. A float holds at
least 2²¹ such products exactly, so that BLAS multiplies chunks without rounding, and sums do not
depend on order, chunks or owners.

From as many sums over n cells as they have coordinates, the cells could be solved for. An `Extent`
keeps moments of a class, and of all cells together, below that: Σφφᵀ over all cells is of the first
D′ features, and Σφ over the cells of a class of the first m ≤ D′, where n cells with d coordinates
allow m ≤ d·n − 2. The first few features already spread over all directions. The rule counts
numbers against unknowns; it is not differential privacy.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fedhull.errors import InvalidInput
from fedhull.learn.horocycles import Horocycles, horocycle_features

# By how much the coordinates of cells must outnumber what is known of them.
_SPARE = 2
MOST_CELLS = (1 << 28) - 1
BITS = 16
# Rows of features that are multiplied at once: few enough for the processor's cache. Any number up
# to 2²¹ gives the same sums.
AT_ONCE = 1 << 12


@dataclass(frozen=True)
class Extent:
    """Σφφᵀ is of the first `features`, Σφ of class j of the first `of_class[j]`, 0 if unknown."""

    features: int
    of_class: tuple[int, ...]

    @classmethod
    def of(cls, counts: Sequence[int], most: int, dimension: int, least: int = 1) -> "Extent":
        """The largest extent of at most `most` features for classes with these counts of cells; of
        classes with fewer than `least` cells nothing is known.

        >>> Extent.of([100, 5, 2], most=128, dimension=2, least=5)
        Extent(features=18, of_class=(18, 8, 0))
        """
        n = np.asarray(counts, dtype=np.int64)
        known = n >= max(least, 1)
        room = np.where(known, np.maximum(dimension * n - _SPARE, 1), 0)
        total = dimension * int(n[known].sum()) - _SPARE
        features = most
        while features > 1 and _numbers(features, room) > total:
            features -= 1
        return cls(features, tuple(np.minimum(room, features).tolist()))

    @property
    def size(self) -> int:
        """Number of numbers in moments of this extent, the counts of the classes included."""
        return _numbers(self.features, np.array(self.of_class)) + len(self.of_class)


def _numbers(features: int, room: np.ndarray) -> int:
    return features * (features + 1) // 2 + int(np.minimum(room, features).sum())


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

    def cut(self, extent: Extent) -> "Moments":
        """The moments within an extent; the rest is zero or left out."""
        d = extent.features
        within = np.arange(d) < np.array(extent.of_class, dtype=np.int64)[:, None]
        sums = np.where(within, self.sums[:, :d], 0)
        known = np.array(extent.of_class) > 0
        return Moments(self.gram[:d, :d], sums, np.where(known, self.counts, 0))

    def only(self, classes: np.ndarray) -> "Moments":
        """Count and Σφ of these classes only; the cells of the others stay in the gram."""
        return Moments(self.gram, self.sums[classes], self.counts[classes])

    def packed(self, extent: Extent) -> np.ndarray:
        """All that differs, as one array of whole numbers: the gram's upper triangle row by row,
        then the sums of each class as far as the extent goes, then the counts."""
        d = extent.features
        upper = self.gram[:d, :d][np.triu_indices(d)]
        sums = [row[:m] for row, m in zip(self.sums, extent.of_class, strict=True)]
        return np.concatenate((upper, *sums, self.counts))

    @classmethod
    def unpacked(cls, values: np.ndarray, extent: Extent) -> "Moments":
        """The inverse of `packed`."""
        if values.shape != (extent.size,):
            raise InvalidInput(
                f"moments of {extent.features} features and {len(extent.of_class)} classes are "
                f"{extent.size} numbers, got an array of shape {values.shape}"
            )
        d = extent.features
        sizes = d * (d + 1) // 2, *extent.of_class, len(extent.of_class)
        upper, *rows, counts = np.split(values.astype(np.int64), np.cumsum(sizes)[:-1])
        gram = np.zeros((d, d), dtype=np.int64)
        gram[np.triu_indices(d)] = upper
        gram = gram + np.triu(gram, 1).T
        sums = np.zeros((len(rows), d), dtype=np.int64)
        for row, known in zip(sums, rows, strict=True):
            row[: len(known)] = known
        return cls(gram, sums, counts)

    def check(self, extent: Extent | None = None) -> None:
        """Raise InvalidInput unless some cells have these moments, as far as sums can tell: counts
        are not negative, features lie in [−1, 1], and what the cells of classes scatter by about
        their means, Σφφᵀ − Σ (Σφ)(Σφ)ᵀ/count, is no less than nothing in any direction. Without an
        `extent`, all is known of all classes."""
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
        known = np.full(n_classes, n_features) if extent is None else np.array(extent.of_class)
        for m in np.unique(known[known > 0]).tolist():
            # rounding: of the matrix itself, and of its eigenvalues
            least = float(np.linalg.eigvalsh(self._scatter(m, known >= m)).min())
            if least < -1e-9 * total:
                raise InvalidInput(
                    f"gram and sums contradict each other: no cells scatter by {least:.3g} < 0"
                )

    def _scatter(self, m: int, classes: np.ndarray) -> np.ndarray:
        """Σφφᵀ (m, m) of the first m features, less the part of these classes' means."""
        sums = np.ldexp(self.sums[classes, :m].astype(np.float64), -BITS)
        means = sums / np.maximum(self.counts[classes], 1)[:, None]
        return np.ldexp(self.gram[:m, :m].astype(np.float64), -2 * BITS) - means.T @ sums


def moments_of_points(
    points: np.ndarray,
    classes: np.ndarray,
    n_classes: int,
    drawn: Horocycles,
    curvature: float = 1.0,
    longest: float | None = None,
) -> Moments:
    """The moments of points (n, d) with classes (n,) in 0..J−1, by chunks, in constant memory.
    Features that are longer, as a vector, than `longest` are shortened to that."""
    total = Moments.none(len(drawn.phases), n_classes)
    for begin in range(0, len(points), AT_ONCE):
        part = slice(begin, begin + AT_ONCE)
        features = horocycle_features(points[part], drawn, curvature)
        if longest is not None:
            lengths = np.sqrt(np.square(features).sum(axis=1))
            features *= np.minimum(1.0, longest / np.maximum(lengths, 1e-300))[:, None]
        total += Moments.of(features, classes[part], n_classes)
    return total
