"""What the coordinator makes of a tally: which candidate is chosen, and how well it does."""

from collections.abc import Sequence
from copy import copy
from typing import Any, NamedTuple

import numpy as np

from fedhull.learn.judged import Judged, Level
from fedhull.learn.landmarks import Landmarks
from fedhull.learn.tally import EDGES, TEMPERATURES, Tally

# At most this share of held-out cells may be too far from all classes.
_MOST_LOST = 0.01
# A candidate other than the first must make held-out cells e³ = 20 times as likely.
_CLEARLY_BETTER = 3.0
# Where cells are few, temperatures near 1 are more credible: log T ~ N(0, (1/2)²).
_DOUBT = 2.0


class Doubts(NamedTuple):
    """The standard deviations of the noise in a tally: of how many cells a candidate gets right,
    and of its log-loss."""

    cells: float
    loss: float


NO_DOUBTS = Doubts(0.0, 0.0)


def decide(tally: Tally, doubts: Doubts = NO_DOUBTS) -> tuple[int, int]:
    """Which candidate is chosen and at which of the temperatures: the one under which held-out
    cells are most likely, of those that get as many right as the first; the first one, if no other
    is clearly better, by more than noise can make it look."""
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
    """What a tally says of the chosen one of these candidates, at one of the temperatures; its
    counts may be off by so many cells, if they are `noisy` those of the first candidate too."""
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


def calibrated(model: Any, found: Judged) -> Any:
    """The model at the temperature that held-out cells ask for, if it can be, and what they say."""
    tempered = getattr(model, "tempered", None)
    made = copy(model) if tempered is None else tempered(found.temperature)
    made.judged_ = found
    return made


def _shares(part: np.ndarray, whole: np.ndarray) -> list[float | None]:
    """In percent; None of nothing."""
    return [
        100.0 * p / w if w else None for p, w in zip(part.tolist(), whole.tolist(), strict=True)
    ]
