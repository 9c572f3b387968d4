"""What a site holds, and what of it would leave."""

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from fedhull.disc.epsilon_hull import epsilon_hull
from fedhull.disc.points import as_ball_points
from fedhull.errors import InvalidInput
from fedhull.learn.guard import Guard
from fedhull.protocol.study import Geometry, Study


@dataclass(frozen=True)
class Holdings:
    """A site's classes in its own order, the bins of their hulls, how many points each hull was
    made from, and the points kept for testing.

    `points_held` counts the points that the hulls were made from, `points_guarded` those of them
    that the guard left out.
    """

    classes: list[Any]
    hulls: list[list[int]]
    points_held: int
    points_guarded: int
    sizes: list[int] = field(default_factory=list)
    test_x: np.ndarray = field(default_factory=lambda: np.empty((0, 2)))
    test_y: np.ndarray = field(default_factory=lambda: np.empty(0))

    @property
    def points_sent(self) -> int:
        """How many points leave, each as its bin: the corners of all hulls."""
        return sum(map(len, self.hulls))


def make_hulls(
    x: np.ndarray, y: np.ndarray, geometry: Geometry, guard: str, classes: np.ndarray | None = None
) -> Holdings:
    """Guard the points and make the quantized hull of each class, in the order of `classes`."""
    guarded = Guard.of(guard).apply(x, y, geometry.curvature)
    classes = np.unique(y) if classes is None else classes
    hulls = [epsilon_hull(guarded.x[guarded.y == c], geometry.quantizer).tolist() for c in classes]
    sizes = [int((y == c).sum()) for c in classes]
    return Holdings(classes.tolist(), hulls, len(x), len(x) - int(guarded.cells.sum()), sizes)


def prepare(study: Study, x: np.ndarray, y: np.ndarray) -> Holdings:
    """What a site would take into a study: some points of each class are kept for testing, the
    others guarded and made into hulls. The same data and study always give the same."""
    points, _ = as_ball_points(x, study.geometry.curvature, "x")
    if points.shape[1] != 2:
        raise InvalidInput(f"x must lie in the disc, shape (n, 2), got shape {points.shape}")
    study.quantizer.encode(points)  # a point beyond R is an error before anything is sent
    n_classes = len(np.unique(y))
    if n_classes > study.labels.classes:
        raise InvalidInput(
            f"the data hold {n_classes} classes, the study allows {study.labels.classes} at a site"
        )
    test = _held_out(y, study.learning.holdout, study.learning.seed)
    made = make_hulls(points[~test], y[~test], study.geometry, study.learning.guard)
    return replace(made, test_x=points[test], test_y=y[test])


def _held_out(y: np.ndarray, share: float, seed: int) -> np.ndarray:
    """Which points are kept for testing: the share of each class, rounded down."""
    rng = np.random.default_rng(seed)
    test = np.zeros(len(y), dtype=bool)
    for label in np.unique(y):
        members = np.flatnonzero(y == label)
        test[rng.permutation(members)[: int(share * len(members))]] = True
    return test
