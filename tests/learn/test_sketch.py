"""Sketches of classes: bounded, and whole numbers that add up exactly."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracles import busemann
from strategies import ball_points, curvatures, seeds

from fedhull.disc.rim import pull_inside
from fedhull.errors import InvalidInput
from fedhull.learn.sketch import (
    LENGTH,
    MOST_CELLS,
    class_sketch,
    from_fixed,
    sketch_waves,
    slot_means,
    slot_sketch,
    to_fixed,
)


def cells(seed, n, dimension, curvature=1.0):
    rng = np.random.default_rng(seed)
    ways = rng.standard_normal((n, dimension))
    ways /= np.linalg.norm(ways, axis=1)[:, None]
    radius = np.tanh(rng.exponential(2.0, (n, 1)))
    return pull_inside(radius * ways / np.sqrt(curvature), curvature)


@given(seeds, st.integers(1, 200), st.sampled_from([1, 2, 3, 5]), curvatures, st.integers(1, 5))
def test_sketches_of_parts_add_up_exactly_to_that_of_the_whole(seed, n, d, curvature, parts):
    x = cells(seed, n, d, curvature)
    part = np.random.default_rng(seed).integers(0, parts, n)
    total = sum(class_sketch(x[part == p], curvature, seed) for p in range(parts))
    whole = class_sketch(x, curvature, seed)
    assert total.tolist() == whole.tolist()
    assert whole.dtype == np.int64


def test_more_cells_than_are_worked_on_at_once_add_up_exactly():
    x = cells(0, 70_000, 2)
    assert (class_sketch(x) == class_sketch(x[:30_000]) + class_sketch(x[30_000:])).all()


@given(ball_points(6, deepest_gap=1e-15), seeds)
def test_no_number_of_a_sketch_exceeds_the_number_of_its_cells(ball, seed):
    curvature, points = ball
    x = pull_inside(np.array(points), curvature)
    sketch = class_sketch(x, curvature, seed)
    assert (np.abs(sketch) <= len(x) << 24).all()
    slot_means([sketch], [len(x)])


def test_a_sketch_is_cosine_and_sine_of_four_horocycles_in_turn():
    x = cells(1, 50, 2)
    waves = sketch_waves(2, seed=9)
    b = busemann(x, waves.directions[::2])
    expected = np.stack((np.cos(b), np.sin(b)), axis=2).sum(axis=0).ravel()
    np.testing.assert_allclose(from_fixed(class_sketch(x, seed=9)), expected, atol=50 * 2.0**-24)


@given(ball_points(7, deepest_gap=1e-15), seeds)
def test_what_leaves_is_rounded_to_halves_and_still_a_sketch_of_its_cells(ball, seed):
    curvature, points = ball
    x = pull_inside(np.array(points), curvature)
    whole, sent = class_sketch(x, curvature, seed), slot_sketch(x, curvature, seed)
    assert (sent % (1 << 23) == 0).all()
    assert (np.abs(sent - whole) <= 1 << 22).all()
    assert (np.abs(sent) <= len(x) << 24).all()
    slot_means([sent], [len(x)])


def test_in_the_disc_the_directions_are_a_cross_that_the_seed_turns():
    angles = []
    for seed in range(20):
        directions = sketch_waves(2, seed).directions[::2]
        np.testing.assert_allclose(directions @ directions.T, CROSS, atol=1e-15)
        angles.append(np.arctan2(directions[0, 1], directions[0, 0]))
    assert len(set(angles)) == 20


CROSS = [[1, 0, -1, 0], [0, 1, 0, -1], [-1, 0, 1, 0], [0, -1, 0, 1]]


def test_no_sum_of_sketches_leaves_the_range_that_the_field_has():
    # as many values as elements, from −n·2²⁴ to n·2²⁴
    assert 2 * (MOST_CELLS << 24) + 1 <= 2**61 - 1
    assert np.abs(to_fixed([-1.0, 1.0])).max() == 1 << 24


@given(st.lists(st.floats(-1.0, 1.0), min_size=1, max_size=20))
def test_fixed_point_is_right_to_half_a_unit(values):
    back = from_fixed(to_fixed(values))
    assert (np.abs(back - values) <= 2.0**-25).all()


@pytest.mark.parametrize(
    ("sums", "counts", "words"),
    [
        (np.zeros((2, 7)), [1, 1], r"shape \(n, 8\)"),
        (np.zeros((2, 8)), [1, 0], "from 1 to"),
        (np.full((1, 8), 2 << 24), [1], "slot 0 are more than its 1 cells can make"),
    ],
)
def test_sums_that_no_cells_can_make_are_refused(sums, counts, words):
    with pytest.raises(InvalidInput, match=words):
        slot_means(sums, counts)


def test_what_is_no_table_of_points_is_refused():
    with pytest.raises(InvalidInput, match="shape"):
        class_sketch([0.1, 0.2])
    assert class_sketch(np.empty((0, 2))).tolist() == [0] * LENGTH
