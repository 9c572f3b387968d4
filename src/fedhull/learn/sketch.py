"""The sketch of a class at a site: its count and eight sums, by which classes are told apart.

A sketch is the sum, over the cells of a class, of cos B and sin B for four directions ω, B = B_ω(x)
being the horocycle of the cell (`horocycles`). In the disc the directions are a right-angled cross,
turned by an angle that the study's seed gives; in other dimensions they are drawn from the seed. A
cell adds at most 1 to each sum, wherever it lies.

Each number of each cell is rounded to a multiple of 2⁻²⁴ *before* it is added, so that sketches of
parts add up exactly, in any order. What leaves a site is rounded to halves (`slot_sketch`).
Matching needs no more, and 24 bits would tell whoever has a list of candidate cells which of them
are in the class. Eight numbers are fewer than the ten coordinates of five cells;
`tests/attacks/test_solving_moments.py` shows what can be solved for.
"""

import numpy as np
from numpy.typing import ArrayLike

from fedhull.errors import InvalidInput
from fedhull.learn.horocycles import Horocycles, draw_horocycles, horocycle_features

LENGTH = 8
# No sum of sketches may hold more cells: then it lies strictly between −2⁶⁰ and 2⁶⁰, so that its
# sign survives in a field of 2⁶¹ − 1 elements.
MOST_CELLS = (1 << 36) - 1
BITS = 24
# What leaves are multiples of ½; on six data sets matching first suffers at twice that.
_STEP = 1 << (BITS - 1)
_DIRECTIONS = LENGTH // 2
# The sketch of a cell is four points of a circle, each number rounded by up to half a unit: no
# longer than this, in units of 2⁻²⁴.
LONGEST = (2 << BITS) + 2
# Cells are processed in chunks, so that memory does not grow with their number.
_AT_ONCE = 1 << 16


def sketch_waves(dimension: int, seed: int) -> Horocycles:
    """The eight features of a study's sketches: cos and sin of B for each direction in turn."""
    turned, _, phases = draw_horocycles(_DIRECTIONS, dimension, (1.0,), seed)
    if dimension == 2:
        angle = phases[0]
        turned = turned @ np.array(
            [[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]]
        )
    quarter = np.tile([0.0, -np.pi / 2.0], _DIRECTIONS)
    return Horocycles(np.repeat(turned, 2, axis=0), np.ones(LENGTH), quarter)


def class_sketch(points: ArrayLike, curvature: float = 1.0, seed: int = 0) -> np.ndarray:
    """The sketch (8,) of cells (n, d) of one class, in units of 2⁻²⁴: whole numbers that add up.

    >>> cells = np.array([[0.1, 0.2], [0.3, 0.1], [-0.2, 0.5]])
    >>> whole, parts = class_sketch(cells), [class_sketch(cells[:1]), class_sketch(cells[1:])]
    >>> (whole == parts[0] + parts[1]).all()
    np.True_
    """
    cells = np.asarray(points, dtype=np.float64)
    if cells.ndim != 2 or cells.shape[1] == 0:
        raise InvalidInput(f"points must have shape (n, d) with d ≥ 1, got {cells.shape}")
    if len(cells) > MOST_CELLS:
        raise InvalidInput(f"a sketch holds at most {MOST_CELLS} cells, got {len(cells)}")
    waves = sketch_waves(cells.shape[1], seed)
    total = np.zeros(LENGTH, dtype=np.int64)
    for begin in range(0, len(cells), _AT_ONCE):
        part = horocycle_features(cells[begin : begin + _AT_ONCE], waves, curvature)
        total += to_fixed(part).sum(axis=0)
    return total


def slot_sketch(points: ArrayLike, curvature: float = 1.0, seed: int = 0) -> np.ndarray:
    """The sketch (8,) of cells (n, d) that leaves a site: multiples of ½ in units of 2⁻²⁴.

    >>> (slot_sketch([[0.1, 0.2], [0.3, 0.1], [-0.2, 0.5]]) / 2**24).tolist()
    [2.5, -1.5, 2.5, 1.0, 2.5, 0.0, 2.5, -1.5]
    """
    return (class_sketch(points, curvature, seed) + _STEP // 2) // _STEP * _STEP


def to_fixed(values: ArrayLike) -> np.ndarray:
    """Numbers in [−1, 1] as whole multiples of 2⁻²⁴, from −2²⁴ to 2²⁴."""
    return np.rint(np.ldexp(np.asarray(values, dtype=np.float64), BITS)).astype(np.int64)


def from_fixed(sums: ArrayLike) -> np.ndarray:
    """The numbers that sums of such whole numbers stand for."""
    return np.ldexp(np.asarray(sums).astype(np.float64), -BITS)


def slot_means(sums: ArrayLike, counts: ArrayLike) -> np.ndarray:
    """The mean sketches (n, 8) of slots with these sums (n, 8) and counts (n,) ≥ 1, which
    `match_slots` takes; sums that no cells can make are refused.

    >>> cells = np.array([[0.1, 0.2], [0.3, 0.1]])
    >>> slot_means([slot_sketch(cells)], [2]).shape
    (1, 8)
    """
    total, n = np.asarray(sums), np.asarray(counts)
    if total.ndim != 2 or total.shape[1] != LENGTH or n.shape != total.shape[:1]:
        raise InvalidInput(
            f"sums must have shape (n, {LENGTH}) and counts (n,), got {total.shape} and {n.shape}"
        )
    if not ((n >= 1) & (n <= MOST_CELLS)).all():
        raise InvalidInput(f"counts must be from 1 to {MOST_CELLS}, got {n.min()} to {n.max()}")
    means = from_fixed(total) / n[:, None]
    # a mean of points of the circle lies inside it; rounding moves a sum by up to half a step
    lengths = np.hypot(means[:, 0::2], means[:, 1::2])
    beyond = (lengths > 1.0 + 2.0**-BITS + from_fixed(_STEP) / n[:, None]).any(axis=1)
    if beyond.any():
        bad = int(np.argmax(beyond))
        raise InvalidInput(
            f"sums of cosines and sines of slot {bad} are more than its {n[bad]} cells can make"
        )
    return means
