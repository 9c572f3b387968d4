"""How many numbers may be known of cells: always fewer than the cells have coordinates.

From as many sums over n cells as they have coordinates, the cells could be solved for. Whatever
moments leave, those of a class and those of all cells together, therefore stay below that. Features
come in an order in which the first few already spread over all directions, so that moments of fewer
cells are simply of fewer features: Σφφᵀ over all cells of the first D′, and Σφ over the cells of a
class of the first m ≤ D′, where n cells with d coordinates allow m ≤ d·n − 2.

The rule counts numbers against unknowns; it is not differential privacy. It is also sound
statistics: of few cells not much can be learned.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

# By how much the coordinates of cells must outnumber what is known of them.
_SPARE = 2


@dataclass(frozen=True)
class Extent:
    """Σφφᵀ is of the first `features`; Σφ of class j is of the first `of_class[j]`, none if nothing
    of the class is known."""

    features: int
    of_class: tuple[int, ...]

    @classmethod
    def of(cls, counts: Sequence[int], most: int, dimension: int, least: int = 1) -> "Extent":
        """The largest extent of at most so many features for classes with these counts of cells in
        so many dimensions; of classes with fewer than `least` cells nothing is known.

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
        """How many numbers moments of this extent are, the counts of the classes included."""
        return _numbers(self.features, np.array(self.of_class)) + len(self.of_class)


def _numbers(features: int, room: np.ndarray) -> int:
    return features * (features + 1) // 2 + int(np.minimum(room, features).sum())
