"""Tallies of candidates for a study's model on held-out cells, which sites add up, and the choice.

Of each candidate: a confusion matrix; at each of a few temperatures, by which its logits would be
divided, the log-loss and calibration at each level of confidence. And, once for all of them, how
far cells are from the classes. Counts are whole by themselves; losses and confidences are summed
over a site's cells and then rounded to sixteenths. A cell's loss counts as no more than 5, so that
none decides alone. Cells of classes with few cells at a site stand in one row together, of which
only right and wrong are told apart.
"""

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.special import log_softmax

from fedhull.errors import InvalidInput
from fedhull.learn.content import Judged, Landmarks, Level

TEMPERATURES = 2.0 ** (np.arange(-4, 5) / 2.0)
LEVELS = 10
# Farness (`judged`) is counted between these.
EDGES = 2.0 ** (np.arange(-8, 25) / 4.0)
UNIT = 16
_LARGEST_LOSS = 5.0
# Upper bound of a sum, in units for each cell.
UNITS_PER_CELL = int(_LARGEST_LOSS * UNIT) + 1
# At most this share of held-out cells may be too far from all classes.
_MOST_LOST = 0.01
# A candidate other than the first must make held-out cells e³ = 20 times as likely.
_CLEARLY_BETTER = 3.0
# Where cells are few, temperatures near 1 are more credible: log T ~ N(0, (1/2)²).
_DOUBT = 2.0


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
        """The tally of no cells."""
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
        nearest = Tally.none(*self.confusion.shape[::2])
        nearest.far[:] = _nearest(self.far, n)
        nearest.losses[:] = np.maximum(self.losses, 0)
        for c, matrix in enumerate(self.confusion):
            # every cell's class was said, so that there is nothing in the last row
            nearest.confusion[c, :-1] = _nearest(matrix[:-1], n)
            hits = int(np.trace(nearest.confusion[c]))
            for t in range(len(TEMPERATURES)):
                cells, right, sure = self.levels[c, t].T
                cells = _nearest(cells, n)
                right = np.minimum(_nearest(right, hits), cells)
                nearest.levels[c, t] = np.column_stack(
                    (cells, right, np.clip(sure, 0, cells * UNIT))
                )
        return nearest

    @property
    def n_cells(self) -> int:
        """Number of cells judged."""
        return int(self.far.sum())

    @property
    def smallest_row(self) -> int | None:
        """The fewest cells behind a row of the confusion matrices; None if there are no cells."""
        rows = self.confusion[0].sum(axis=1)
        return int(rows[rows > 0].min()) if rows.any() else None

    @property
    def correct(self) -> np.ndarray:
        """Number of cells that each candidate classifies correctly: (C,)."""
        if not self.confusion[:, -1].any():
            return np.trace(self.confusion, axis1=1, axis2=2)
        return self.levels[:, 0, :, 1].sum(axis=1)

    @property
    def log_losses(self) -> np.ndarray:
        """In nats, over all cells together: (C, T)."""
        return self.losses / UNIT

    def confidences(self, candidate: int, temperature: int) -> np.ndarray:
        """Cells, mean confidence and accuracy of each level that has cells: (v, 3)."""
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
        """Raise InvalidInput unless this many sites can have judged the same cells like this."""
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
    """The nearest numbers ≥ 0 with this total, up to rounding: all move by the same, none below 0.

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
    """Number of numbers in a tally."""
    return n_candidates * (
        (n_classes + 1) * n_classes + len(TEMPERATURES) * (1 + 3 * LEVELS)
    ) + len(EDGES) + 1  # fmt: skip


class Doubts(NamedTuple):
    """Standard deviations of the noise in a tally: of correct cells, and of a log-loss."""

    cells: float
    loss: float


NO_DOUBTS = Doubts(0.0, 0.0)


def decide(tally: Tally, doubts: Doubts = NO_DOUBTS) -> tuple[int, int]:
    """The chosen candidate and its temperature: those under which held-out cells are most likely,
    of the candidates that get as many right as the first; the first one, if no other is clearly
    better, by more than noise can make it look."""
    losses = tally.log_losses + _DOUBT * np.square(np.log(TEMPERATURES))
    at = losses.argmin(axis=1)
    as_good = tally.correct >= tally.correct[0] + 2.0 * doubts.cells
    as_good[0] = True
    best = np.where(as_good, losses.min(axis=1), np.inf)
    chosen = int(best.argmin())
    if best[0] - best[chosen] <= _CLEARLY_BETTER + 2.0 * doubts.loss:
        chosen = 0
    return chosen, int(at[chosen])


def verdict(
    tally: Tally,
    chosen: int,
    at: int,
    candidates: Sequence[str],
    landmarks: Landmarks,
    curvature: float,
    tolerance: int = 0,
    noisy: bool = False,
) -> Judged:
    """The tally's evaluation of the chosen one of these candidates, at one of the temperatures; its
    counts may be off by `tolerance` cells, if they are `noisy` those of the first candidate too."""
    confusion, unsaid = tally.confusion[chosen, :-1], tally.confusion[chosen, -1]
    n, correct = tally.n_cells, int(tally.correct[chosen])
    levels = tally.confidences(chosen, at)
    # how many cells are farther than each of the edges, and no farther than the last one twice
    beyond = np.append(n - np.cumsum(tally.far)[:-1], 0)
    edges = np.append(EDGES, 2.0 * EDGES[-1])
    return Judged(
        candidates=len(candidates),
        chosen=chosen,
        candidate=candidates[chosen],
        cells=n,
        unnamed=int(unsaid.sum()),
        # the first candidate is never answered as another
        tolerance=tolerance if chosen or noisy else 0,
        correct=correct,
        accuracy=100.0 * correct / n,
        recall=_shares(np.diagonal(confusion), confusion.sum(axis=1)),
        precision=_shares(
            # a class whose cells are not named cannot be found right
            np.diagonal(confusion),
            confusion.sum(axis=0) * (confusion.sum(axis=1) > 0),
        ),
        confusion=confusion.tolist(),
        temperature=float(TEMPERATURES[at]),
        log_loss=float(tally.log_losses[chosen, at]) / n,
        calibration_error=float(levels[:, 0] @ np.abs(levels[:, 1] - levels[:, 2]) / n),
        calibration=[
            Level(cells=int(cells), confidence=sure, accuracy=right)
            for cells, sure, right in levels.tolist()
        ],
        curvature=curvature,
        landmarks=landmarks.to_lists(),
        reach=float(edges[np.argmax(beyond <= _MOST_LOST * n)]),
    )


def calibrated(model: Any, judged: Judged) -> Any:
    """The model at the temperature that held-out cells ask for, if it can be, and what they say."""
    tempered = getattr(model, "tempered", None)
    tempered_model = copy(model) if tempered is None else tempered(judged.temperature)
    tempered_model.judged_ = judged
    return tempered_model


def _shares(part: np.ndarray, whole: np.ndarray) -> list[float | None]:
    """In percent; None of nothing."""
    return [
        100.0 * p / w if w else None for p, w in zip(part.tolist(), whole.tolist(), strict=True)
    ]
