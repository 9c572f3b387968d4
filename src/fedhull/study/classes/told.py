"""What a site says of one of its classes: how many cells it has, and their sketch. Sites that may
have been measured differently also say where the cells lie, in numbers that can be moved."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from fedhull.errors import InvalidInput
from fedhull.learn.places import LENGTH as PLACE_LENGTH
from fedhull.learn.places import class_place, slot_places
from fedhull.learn.sketch import LENGTH as SKETCH_LENGTH
from fedhull.learn.sketch import class_sketch, from_fixed, slot_means, slot_sketch
from fedhull.study.study import Study

# Place and sketch are thirteen numbers, and of n cells 2n − 2 may be known: with fewer cells than
# this the place is all that is said.
BOTH_FROM = 8
# The variance of a number of a sketch over the cells of a class, about.
_SPREAD = 0.1


class Understood(NamedTuple):
    """Of n classes: counts (n,), mean sketches (n, 8), which where none was sent are those that the
    places suggest, and places (n, 5), if they were sent."""

    counts: np.ndarray
    means: np.ndarray
    places: np.ndarray | None


def length_told(placed: bool) -> int:
    """How many numbers are said of the cells of a class, besides their count."""
    return PLACE_LENGTH + SKETCH_LENGTH if placed else SKETCH_LENGTH


def tell(study: Study, cells: np.ndarray, placed: bool = False) -> list[int]:
    """What is said of the cells (n, 2) of a class."""
    n, k, seed = len(cells), study.geometry.curvature, study.learning.seed
    if study.privacy is not None:
        # rounded sums could change by more than a cell adds to them, and noise hides no more
        return [n, *class_sketch(cells, k, seed).tolist()]
    if not placed:
        return [n, *slot_sketch(cells, k, seed).tolist()]
    sketch = slot_sketch(cells, k, seed).tolist() if n >= BOTH_FROM else [0] * SKETCH_LENGTH
    return [n, *class_place(cells, k).tolist(), *sketch]


def understand_in_noise(
    rows: Sequence[Sequence[int]], deviations: tuple[float, float]
) -> Understood:
    """What rows of numbers with noise in them say, the standard deviations of which are these, of
    counts and of sketches. A slot counts like one of fewer cells without noise whose mean would be
    as uncertain."""
    table = np.array(rows).reshape(-1, 1 + SKETCH_LENGTH).astype(np.float64)
    counts = np.maximum(table[:, 0], 1.0)
    means = from_fixed(table[:, 1:]) / counts[:, None]
    circles = means.reshape(len(means), -1, 2)
    lengths = np.hypot(circles[..., 0], circles[..., 1])
    circles /= np.maximum(lengths, 1.0)[..., None]
    noise = float(from_fixed(deviations[1])) ** 2
    worth = counts / (1.0 + noise / (_SPREAD * counts))
    return Understood(np.maximum(np.rint(worth), 1.0).astype(np.int64), means, None)


def understand(rows: Sequence[Sequence[int]], placed: bool, seed: int) -> Understood:
    """What rows of numbers say; InvalidInput if it is what no cells can make."""
    table = np.array(rows).reshape(-1, 1 + length_told(placed))
    counts = table[:, 0]
    if (counts < 1).any():
        raise InvalidInput(f"counts must be at least 1, got {counts.min()}")
    if not placed:
        return Understood(counts, slot_means(table[:, 1:], counts), None)
    places, sums = table[:, 1 : 1 + PLACE_LENGTH], table[:, 1 + PLACE_LENGTH :]
    both = counts >= BOTH_FROM
    if sums[~both].any():
        raise InvalidInput(f"classes of fewer than {BOTH_FROM} cells must not have a sketch")
    means = slot_places(places).sketches(seed)
    if both.any():
        means[both] = slot_means(sums[both], counts[both])
    return Understood(counts, means, places)
