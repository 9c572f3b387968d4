"""Protection from proposals that ask about fewer cells than the study's minimum.

What sites say of candidates is summed over their cells, but candidates are the coordinator's, and
may be made to ask. One that gives a class to a small island in the disc counts the cells on it; two
that differ in a small place count the cells there by the difference of their numbers. A site looks
for both. It leaves cells on islands out, so that its numbers are those of a site that does not have
them, and answers alike for candidates that so few cells tell apart.
"""

from collections.abc import Callable, Sequence

import numpy as np

Predict = Callable[[np.ndarray], np.ndarray]

# Points on a circle at which a candidate is asked whether a region reaches it.
_AROUND = np.exp(2j * np.pi * np.arange(64) / 64)
# Probabilities, and logarithms of those of true classes, that differ by less are the same.
_SAME = 0.01


def on_islands(
    predicts: Sequence[Predict],
    given: np.ndarray,
    tested: np.ndarray,
    cells: np.ndarray,
    least: int,
    curvature: float,
) -> np.ndarray:
    """Mask of the points `tested` (m, 2) that lie on an island of some candidate, given each
    candidate's predictions for them, (C, m). An island is a region with fewer than `least` of the
    site's `cells` (n, 2) that ends before the circle through the farthest of its `least` nearest
    cells. A region that merely begins between two cells goes on beyond that circle."""
    from scipy.spatial import cKDTree  # slow to import, and only judges need it

    islands = np.zeros(len(tested), dtype=bool)
    distances, nearest = cKDTree(cells).query(tested, k=min(least, len(cells)))
    farthest = distances.reshape(len(tested), -1)[:, -1]
    neighbours, position = np.unique(nearest.reshape(len(tested), -1), return_inverse=True)
    position = position.reshape(len(tested), -1)
    for predict, mine in zip(predicts, given, strict=True):
        around = predict(cells[neighbours])[position]
        doubtful = np.flatnonzero((around != mine[:, None]).any(axis=1))
        if len(doubtful):
            reaches = _reaches_circle(
                predict, mine[doubtful], tested[doubtful], farthest[doubtful], curvature
            )
            islands[doubtful] |= ~reaches
    return islands


def _reaches_circle(
    predict: Predict, given: np.ndarray, centres: np.ndarray, radii: np.ndarray, curvature: float
) -> np.ndarray:
    """Mask of points (m, 2) whose class is also given somewhere on the circles around them."""
    circles = (centres @ (1.0, 1j))[:, None] + radii[:, None] * _AROUND
    inside = np.abs(circles) < (1.0 - 1e-12) / np.sqrt(curvature)
    probes = circles[inside]
    alike = np.zeros(circles.shape, dtype=bool)
    if len(probes):
        predicted = predict(np.column_stack((probes.real, probes.imag)))
        alike[inside] = predicted == np.repeat(given, inside.sum(axis=1))
    # a circle outside the disc is no end
    return alike.any(axis=1) | ~inside.any(axis=1)


def settled(
    log_probabilities: np.ndarray, true: np.ndarray, least: int
) -> tuple[np.ndarray, np.ndarray]:
    """A site's answers: log-probabilities (C, n, J) and predicted columns (C, n) of its cells,
    whose true columns are `true` (n,).

    A candidate that differs from an earlier one on a few cells only, fewer than `least`, counts as
    that one: in all that it says, if so few cells tell their probabilities apart; in what it
    predicts, if so few predictions differ.
    """
    said = log_probabilities.copy()
    predicted = said.argmax(axis=2)
    rows = np.arange(len(true))
    for c in range(1, len(said)):
        loss = np.abs(said[:c, rows, true] - said[c, rows, true]) > _SAME
        sure = (np.abs(np.exp(said[:c]) - np.exp(said[c])) > _SAME).any(axis=2)
        same = _first_like(loss | sure, least)
        if same is not None:
            said[c], predicted[c] = said[same], predicted[same]
            continue
        alike = _first_like(predicted[:c] != predicted[c], least)
        if alike is not None:
            predicted[c] = predicted[alike]
    return said, predicted


def _first_like(differs: np.ndarray, least: int) -> int | None:
    """The first row of (c, n) in which some cells differ, but too few to be told."""
    few = differs.sum(axis=1)
    alike = np.flatnonzero((few > 0) & (few < least))
    return int(alike[0]) if len(alike) else None
