"""How candidates for a study's model do on held-out cells, in whole numbers that sites add up.

Of each candidate: a confusion matrix; at each of a few temperatures, by which its logits would be
divided, the log-loss, and how often it is right at each level of confidence. And, once for all of
them, how far cells are from the classes. Counts are whole by themselves; losses and confidences are
summed over a site's cells and then rounded to sixteenths, which is all that a choice needs.

A cell's loss counts as no more than 5, so that none decides alone. Cells of classes with few cells
at a site stand in one row together, of which only right and wrong are told apart.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import log_softmax

from fedhull.errors import InvalidInput

TEMPERATURES = 2.0 ** (np.arange(-4, 5) / 2.0)
LEVELS = 10
# Farness (learn/reach.py) is counted between these.
EDGES = 2.0 ** (np.arange(-8, 25) / 4.0)
UNIT = 16
_LARGEST_LOSS = 5.0
# No sum over so many cells is larger than so many units for each.
UNITS_PER_CELL = int(_LARGEST_LOSS * UNIT) + 1


@dataclass(frozen=True)
class Tally:
    """confusion (C, J+1, J): cells by candidate, true and predicted class, in the last row those
    whose class is not said. losses (C, T) and the third number in levels (C, T, V, 3) are in
    sixteenths; the first two count cells, and those of them that are classified correctly, at V
    levels of confidence. far (F,): cells by how far they are from the classes."""

    confusion: np.ndarray
    losses: np.ndarray
    levels: np.ndarray
    far: np.ndarray

    @classmethod
    def none(cls, n_candidates: int, n_classes: int) -> "Tally":
        """Of no cells."""
        temperatures = len(TEMPERATURES)
        return cls(
            np.zeros((n_candidates, n_classes + 1, n_classes), dtype=np.int64),
            np.zeros((n_candidates, temperatures), dtype=np.int64),
            np.zeros((n_candidates, temperatures, LEVELS, 3), dtype=np.int64),
            np.zeros(len(EDGES) + 1, dtype=np.int64),
        )

    @classmethod
    def of(
        cls,
        log_probabilities: np.ndarray,
        predicted: np.ndarray,
        true: np.ndarray,
        said: np.ndarray,
        farness: np.ndarray,
    ) -> "Tally":
        """The tally of cells with log-probabilities (C, n, J), predicted classes (C, n), true ones
        (n,) and farness (n,); classes are columns, 0 to J−1. Which it is, is `said` (n,) of some.

        >>> sure = np.log([[[0.9, 0.1], [0.2, 0.8], [0.6, 0.4]]])
        >>> true, said = np.array([0, 1, 1]), np.array([False, True, True])
        >>> tally = Tally.of(sure, sure.argmax(axis=2), true, said, np.ones(3))
        >>> tally.confusion.tolist(), tally.correct.tolist()
        ([[[0, 0], [1, 1], [1, 0]]], [2])
        """
        n_candidates, n, n_classes = log_probabilities.shape
        tally, rows = cls.none(n_candidates, n_classes), np.arange(n)
        np.add.at(tally.far, np.searchsorted(EDGES, farness), 1)
        row = np.where(said, true, n_classes)
        for c in range(n_candidates):
            np.add.at(tally.confusion[c], (row, predicted[c]), 1)
            right = (predicted[c] == true).astype(np.float64)
            for t, temperature in enumerate(TEMPERATURES):
                tempered = log_softmax(log_probabilities[c] / temperature, axis=1)
                loss = np.minimum(-tempered[rows, true], _LARGEST_LOSS)
                sure = np.exp(tempered.max(axis=1))
                level = np.minimum((sure * LEVELS).astype(int), LEVELS - 1)
                tally.losses[c, t] = round(loss.sum() * UNIT)
                counted = (
                    np.bincount(level, weights, minlength=LEVELS)
                    for weights in (None, right, sure * UNIT)
                )
                tally.levels[c, t] = np.rint(np.column_stack(list(counted)))
        return tally

    @staticmethod
    def squares(n_candidates: int) -> tuple[int, int, int, int, int]:
        """By how much one more cell changes the confusion matrices, the losses, counts and
        confidences in the levels, and farness: the squares of the lengths of these changes, at
        most. Sums are rounded, which adds a unit to what is measured in units."""
        runs = n_candidates * len(TEMPERATURES)
        return n_candidates, runs * UNITS_PER_CELL**2, runs * 2, runs * (UNIT + 1) ** 2, 1

    @property
    def parts(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """All arrays, in the order in which they are packed."""
        return self.confusion, self.losses, self.levels, self.far

    def without_noise(self) -> "Tally":
        """The nearest tally that cells can have to one with noise in it: no number is negative, and
        all parts are of as many cells as the confusion matrices are on average."""
        n = max(round(self.confusion[:, :-1].sum(axis=(1, 2)).mean()), 1)
        made = Tally.none(*self.confusion.shape[::2])
        made.far[:] = _nearest(self.far, n)
        made.losses[:] = np.maximum(self.losses, 0)
        for c, matrix in enumerate(self.confusion):
            # every cell's class was said, so that there is nothing in the last row
            made.confusion[c, :-1] = _nearest(matrix[:-1], n)
            hits = int(np.trace(made.confusion[c]))
            for t in range(len(TEMPERATURES)):
                cells, right, sure = self.levels[c, t].T
                cells = _nearest(cells, n)
                right = np.minimum(_nearest(right, hits), cells)
                made.levels[c, t] = np.column_stack((cells, right, np.clip(sure, 0, cells * UNIT)))
        return made

    @property
    def n_cells(self) -> int:
        """How many cells were judged."""
        return int(self.far.sum())

    @property
    def smallest_row(self) -> int | None:
        """The fewest cells behind a row of the confusion matrices; None if there are no cells."""
        rows = self.confusion[0].sum(axis=1)
        return int(rows[rows > 0].min()) if rows.any() else None

    @property
    def correct(self) -> np.ndarray:
        """How many cells each candidate classifies correctly: (C,)."""
        if not self.confusion[:, -1].any():
            return np.trace(self.confusion, axis1=1, axis2=2)
        return self.levels[:, 0, :, 1].sum(axis=1)

    @property
    def log_losses(self) -> np.ndarray:
        """In nats, over all cells together: (C, T)."""
        return self.losses / UNIT

    def confidences(self, candidate: int, temperature: int) -> np.ndarray:
        """Of each level that has cells: how many, how sure the candidate is of them on average, and
        the share that it is right of: (v, 3)."""
        cells, right, sure = self.levels[candidate, temperature].T
        some = cells > 0
        n = cells[some]
        mean = np.clip(sure[some] / UNIT / n, 0.0, 1.0)
        return np.column_stack((n, mean, right[some] / n))

    def packed(self) -> np.ndarray:
        """All numbers as one array."""
        return np.concatenate([part.ravel() for part in self.parts])

    @classmethod
    def unpacked(cls, values: Sequence[int], n_candidates: int, n_classes: int) -> "Tally":
        """The inverse of `packed`."""
        like = cls.none(n_candidates, n_classes)
        numbers = np.asarray(values, dtype=np.int64)
        ends = np.cumsum([part.size for part in like.parts])
        if numbers.shape != (ends[-1],):
            raise InvalidInput(
                f"a tally of {n_candidates} candidates and {n_classes} classes is {ends[-1]} "
                f"numbers, got an array of shape {numbers.shape}"
            )
        pieces = np.split(numbers, ends[:-1])
        return cls(
            *(piece.reshape(part.shape) for piece, part in zip(pieces, like.parts, strict=True))
        )

    def check(self, sites: int) -> None:
        """Raise InvalidInput unless so many sites can have judged some cells like this: all
        candidates the same cells, each in one place."""
        n = self.n_cells
        of_class = self.confusion.sum(axis=2)
        cells, right, sure = np.moveaxis(self.levels, 3, 0)
        hits, unsaid = np.trace(self.confusion, axis1=1, axis2=2), of_class[0, -1]
        correct = right.sum(axis=2)
        fits = (
            (of_class == of_class[0]).all()
            and (of_class.sum(axis=1) == n).all()
            and (cells.sum(axis=2) == n).all()
            and (correct == correct[:, :1]).all()
            and (hits <= correct[:, 0]).all()
            and (correct[:, 0] <= hits + unsaid).all()
            and (right <= cells).all()
            # every site has rounded once
            and (sure <= cells * UNIT + sites).all()
            and (self.losses <= n * UNITS_PER_CELL + sites).all()
        )
        if not fits:
            raise InvalidInput("no held-out cells were judged like this")


def _nearest(values: np.ndarray, total: int) -> np.ndarray:
    """The nearest numbers that are not negative and add up to a total, up to rounding: all are
    lowered, or raised, by the same, and none below 0.

    >>> _nearest(np.array([9, 3, -2]), 10).tolist()
    [8, 2, 0]
    >>> _nearest(np.array([9, 3, -2]), 0).tolist()
    [0, 0, 0]
    """
    ordered = np.sort(values.ravel().astype(np.float64))[::-1]
    over = (np.cumsum(ordered) - total) / np.arange(1, ordered.size + 1)
    by = over[np.flatnonzero(ordered >= over)[-1]]
    return np.rint(np.maximum(values - by, 0.0)).astype(np.int64)


def tally_size(n_candidates: int, n_classes: int) -> int:
    """How many numbers a tally is."""
    return n_candidates * (
        (n_classes + 1) * n_classes + len(TEMPERATURES) * (1 + 3 * LEVELS)
    ) + len(EDGES) + 1  # fmt: skip
