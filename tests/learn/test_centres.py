"""Centres of classes: whole numbers that add up, move with isometries and never wrap."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import curvatures, seeds

from fedhull.disc.isometry import rotation, translation
from fedhull.disc.maps import centroid, distance
from fedhull.disc.rim import pull_inside
from fedhull.errors import InvalidInput
from fedhull.learn.centres import FARTHEST, MOST_CELLS, Centres, class_centres, clipped


def cells(seed, n, dimension=2, curvature=1.0, farthest=6.0):
    """Cells whose distances from the origin are uniform up to `farthest`."""
    rng = np.random.default_rng(seed)
    ways = rng.standard_normal((n, dimension))
    ways /= np.linalg.norm(ways, axis=1)[:, None]
    radius = np.tanh(rng.uniform(0.0, farthest, (n, 1)) / 2.0)
    return pull_inside(radius * ways / np.sqrt(curvature), curvature), rng.integers(0, 3, n)


@given(seeds, st.integers(0, 100), st.sampled_from([1, 2, 3]), curvatures, st.integers(1, 5))
def test_centres_of_parts_add_up_exactly_to_those_of_the_whole(seed, n, d, curvature, parts):
    x, y = cells(seed, n, d, curvature, farthest=20.0)
    part = np.random.default_rng(seed).integers(0, parts, n)
    total = Centres.none(3, d)
    for p in range(parts):
        total += class_centres(x[part == p], y[part == p], 3, curvature)
    whole = class_centres(x, y, 3, curvature)
    assert total.packed().tolist() == whole.packed().tolist()
    assert whole.packed().dtype == np.int64
    whole.check()


@given(seeds, st.integers(1, 50), st.sampled_from([1, 2, 3]), curvatures)
def test_points_are_the_centroids_of_the_classes(seed, n, d, curvature):
    x, y = cells(seed, n, d, curvature)
    points = class_centres(x, y, 3, curvature).points(curvature)
    for c in np.unique(y):
        apart = distance(points[c], centroid(x[y == c], curvature=curvature), curvature)
        assert np.sqrt(curvature) * apart < 2e-4


@given(seeds, st.floats(0.0, 1.0), st.floats(-3.0, 3.0))
def test_centres_move_with_isometries_and_scatter_does_not_change(seed, length, turn):
    x, y = cells(seed, 60)
    f = translation([np.tanh(length / 2.0), 0.0]) @ rotation(turn)
    here, there = class_centres(x, y, 3), class_centres(f.apply(x), y, 3)
    assert (distance(f.apply(here.points()), there.points()) < 1e-3).all()
    np.testing.assert_allclose(here.scatter(), there.scatter(), atol=1e-3)


@given(seeds, st.integers(1, 20))
def test_a_cell_beyond_the_farthest_counts_as_if_it_were_there(seed, n):
    x, y = cells(seed, n, farthest=30.0)
    far = distance(np.zeros(2), x) > FARTHEST
    near = clipped(x)
    assert (near[~far] == x[~far]).all()
    np.testing.assert_allclose(distance(np.zeros(2), near[far]), FARTHEST, rtol=1e-9)
    np.testing.assert_array_equal(
        class_centres(x, y, 3).packed(), class_centres(near, y, 3).packed()
    )


@given(st.floats(0.0, 2.0 * np.pi), st.floats(1e-12, 1.0), curvatures)
def test_no_sum_of_allowed_size_wraps_in_the_field(angle, gap, curvature):
    cell = (1.0 - gap) * np.array([[np.cos(angle), np.sin(angle)]]) / np.sqrt(curvature)
    sums = class_centres(cell, [0], 1, curvature).sums
    assert all(abs(MOST_CELLS * s) < 2**60 for s in sums.ravel().tolist())
    # the centre of a cell is the cell, as far as rounding lets it
    found = class_centres(cell, [0], 1, curvature).points(curvature)
    assert np.sqrt(curvature) * distance(found, clipped(cell, curvature), curvature)[0] < 2e-3


@given(seeds, st.floats(0.01, 0.4))
def test_scatter_is_the_variance_along_an_axis_of_cells_that_are_close(seed, width):
    rng = np.random.default_rng(seed)
    flat = width * rng.standard_normal((4000, 2))
    lengths = np.linalg.norm(flat, axis=1)
    x = np.tanh(lengths / 2.0)[:, None] * flat / lengths[:, None]
    x = translation([0.8, 0.1]).apply(x)
    scatter = class_centres(x, np.zeros(4000, dtype=int), 1).scatter()[0]
    assert 0.7 * width**2 < scatter < 1.1 * width**2


def test_a_class_without_cells_is_at_the_origin_and_scatters_by_nothing():
    none = Centres.none(2, 3)
    none.check()
    assert not none.points().any()
    assert not none.scatter().any()


def test_packed_centres_come_back():
    x, y = cells(1, 30)
    sent = class_centres(x, y, 3)
    back = Centres.unpacked(sent.packed(), 3)
    np.testing.assert_array_equal(back.counts, sent.counts)
    np.testing.assert_array_equal(back.sums, sent.sums)
    with pytest.raises(InvalidInput, match="d \\+ 2 numbers each"):
        Centres.unpacked(sent.packed()[:-1], 3)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda c: Centres(-c.counts, c.sums), "counts must be"),
        (lambda c: Centres(c.counts * 0, c.sums), "points of the hyperboloid"),
        (lambda c: Centres(c.counts, c.sums // 2), "points of the hyperboloid"),
        (lambda c: Centres(c.counts, c.sums * 2000), "points of the hyperboloid"),
        (lambda c: Centres(c.counts + MOST_CELLS, c.sums), "counts must be"),
        (lambda c: Centres(c.counts[:2], c.sums), "shapes"),
    ],
)
def test_sums_that_no_cells_have_are_refused(change, words):
    x, y = cells(3, 40, farthest=1.0)
    with pytest.raises(InvalidInput, match=words):
        change(class_centres(x, y, 3)).check()


@pytest.mark.parametrize("classes", [[0, 1], [0, 1, 3], [0, -1, 1]])
def test_classes_that_do_not_exist_are_refused(classes):
    with pytest.raises(InvalidInput, match="classes must be"):
        class_centres(np.zeros((3, 2)), classes, 3)
