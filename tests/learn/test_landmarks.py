"""Where classes lie: found from corners and from features, and moved with the cells."""

from functools import cache

import numpy as np
import pytest
from hypothesis import given
from strategies import seeds

from fedhull import distance
from fedhull.disc.isometry import rotation, translation
from fedhull.disc.maps import exp_map
from fedhull.learn.centres import class_centres
from fedhull.learn.content import landmarks_of_centres
from fedhull.learn.horocycles import draw_horocycles, horocycle_features
from fedhull.learn.places import landmarks_of_corners, landmarks_of_features

DRAWN = draw_horocycles(64, 2, (1.0, 3.0), 0)


@cache
def classes(seed, k=1.0):
    """Normally distributed cells of three classes, and the classes' centres and spreads."""
    rng = np.random.default_rng(seed)
    centres = np.array([[0.0, 0.0], [0.6, 0.2], [-0.3, 0.7]]) / np.sqrt(k)
    spreads = np.array([0.3, 0.5, 0.2]) / np.sqrt(k)
    points, of_class = [], []
    for j, (centre, spread) in enumerate(zip(centres, spreads, strict=True)):
        away = exp_map(np.zeros((400, 2)), rng.normal(size=(400, 2)) * spread / 2.0, k)
        points.append(translation(centre, k).apply(away))
        of_class += [j] * 400
    return np.concatenate(points), np.array(of_class), centres, np.sqrt(2.0) * spreads


@pytest.mark.parametrize("k", [0.25, 1.0, 4.0])
def test_corners_centres_and_features_all_find_the_classes(k):
    x, y, centres, spreads = classes(0, k)
    means = [horocycle_features(x[y == j], DRAWN, k).mean(axis=0) for j in range(3)]
    for found in (
        landmarks_of_corners(x, y, k),
        landmarks_of_centres(class_centres(x, y, 3, k), k),
        landmarks_of_features(means, DRAWN, k),
    ):
        assert (distance(found.centres, centres, k) < 0.3 * spreads).all()
        assert found.spreads == pytest.approx(spreads, rel=0.25)


@given(seeds)
def test_farness_does_not_change_when_cells_and_landmarks_move_together(seed):
    x, y, _, _ = classes(seed % 5)
    rng = np.random.default_rng(seed)
    turn, shift = rotation(rng.uniform(0, 6)), translation(rng.uniform(-0.4, 0.4, 2))
    moved = shift.apply(turn.apply(x))
    before = landmarks_of_corners(x, y).farness(x)
    assert landmarks_of_corners(moved, y).farness(moved) == pytest.approx(before, rel=1e-6)


def test_a_cell_far_from_all_classes_is_farther_than_theirs():
    x, y, _, _ = classes(1)
    marks = landmarks_of_corners(x, y)
    assert marks.farness([[0.0, -0.99]])[0] > np.quantile(marks.farness(x), 0.999)
    assert (marks.farness(marks.centres) < 1e-6).all()


def test_landmarks_survive_a_file():
    x, y, _, _ = classes(2)
    marks = landmarks_of_corners(x, y)
    again = type(marks).from_lists(marks.to_lists())
    assert (again.farness(x) == marks.farness(x)).all()
