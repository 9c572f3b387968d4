"""The centroid held to its laws, from the centre to the rim, and to 60 digits."""

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracles import reference_centroid, reference_distance
from strategies import ball_point, ball_points, curvatures, seeds

from fedhull.disc.hull import minimal_hull
from fedhull.disc.isometry import Isometry
from fedhull.disc.maps import centroid, centroids, distance, geodesic_midpoint
from fedhull.disc.rim import rim_gap
from fedhull.errors import InvalidInput

log_gaps = st.floats(-12.0, 0.0)


def scattered(rng, n, dimension, gap):
    """Points of the unit ball from the centre to 1−gap."""
    return np.array([ball_point(rng, dimension, gap ** rng.random()) for _ in range(n)])


def together(rng, n, dimension, gap):
    """Points of the unit ball about 1 apart, all at about 1−gap."""
    way = ball_point(rng, dimension, 0.0)
    beside = way + gap * rng.standard_normal((n, dimension))
    beside /= np.linalg.norm(beside, axis=1, keepdims=True)
    return beside * (1.0 - gap * rng.uniform(0.5, 1.0, (n, 1)))


def few_floats(point, curvature):
    """The hyperbolic distance, times √k, over a few floats at a point: no result can be nearer."""
    return 1e-12 + 4 * 2.0**-52 / float(rim_gap(point, curvature))


@given(
    st.sampled_from([scattered, together]), curvatures, seeds, st.sampled_from([1, 2, 5]), log_gaps
)
def test_a_centroid_is_that_of_sixty_digits(arrangement, k, seed, dimension, log_gap):
    rng = np.random.default_rng(seed)
    points = arrangement(rng, int(rng.integers(1, 9)), dimension, 10.0**log_gap) / np.sqrt(k)
    weights = rng.random(len(points)) + 1e-3
    found = centroid(points, weights, k)
    away = reference_distance(found, reference_centroid(points, weights, k), k)
    assert float(away) * np.sqrt(k) <= few_floats(found, k)
    if log_gap >= -6.0:
        assert float(away) * np.sqrt(k) <= 1e-9


@given(curvatures, seeds, st.sampled_from([2, 3]), st.floats(-3.0, 0.0), st.floats(-9.0, 0.0))
def test_a_centroid_moves_with_isometries(k, seed, dimension, log_move, log_gap):
    rng = np.random.default_rng(seed)
    points = scattered(rng, 7, dimension, 10.0**log_gap) / np.sqrt(k)
    weights = rng.random(7)
    turn, _ = np.linalg.qr(rng.standard_normal((dimension, dimension)))
    f = Isometry(ball_point(rng, dimension, 10.0**log_move) / np.sqrt(k), turn, k)
    moved = f.apply(centroid(points, weights, k))
    assert distance(centroid(f.apply(points), weights, k), moved, k) * np.sqrt(k) <= 1e-5


@given(curvatures, seeds, st.integers(3, 20), st.floats(-3.0, 0.0))
def test_a_centroid_lies_inside_the_hull(k, seed, n, log_gap):
    rng = np.random.default_rng(seed)
    points = scattered(rng, n, 2, 10.0**log_gap) / np.sqrt(k)
    middle = centroid(points, rng.random(n) + 0.1, k)
    assert n not in minimal_hull(np.vstack((points, middle)), k)


@given(ball_points(2, dimensions=(2, 3)))
def test_the_centroid_of_two_points_is_their_midpoint(drawn):
    k, (x, y) = drawn
    middle = geodesic_midpoint(x, y, k)
    assert distance(centroid([x, y], curvature=k), middle, k) * np.sqrt(k) <= 1e-9


@given(curvatures, seeds, log_gaps)
def test_the_centroid_of_a_point_repeated_is_the_point(k, seed, log_gap):
    x = ball_point(np.random.default_rng(seed), 2, 10.0**log_gap) / np.sqrt(k)
    assert distance(centroid([x] * 5, curvature=k), x, k) * np.sqrt(k) <= few_floats(x, k)


def test_weights_count_points():
    x = np.array([[0.1, 0.2], [0.9, 0.0], [-0.3, 0.4]])
    np.testing.assert_allclose(centroid(x, [3, 1, 0]), centroid(x[[0, 0, 0, 1]]), rtol=1e-14)


@given(seeds, st.integers(1, 6))
def test_a_group_knows_nothing_of_the_others(seed, n_groups):
    rng = np.random.default_rng(seed)
    x = np.array([ball_point(rng, 2, 10.0 ** rng.uniform(-12, 0)) for _ in range(5 * n_groups)])
    weights = rng.random(len(x)) * 10.0 ** rng.integers(-9, 9)
    groups = rng.permutation(np.arange(len(x)) % n_groups)
    found = centroids(x, groups, weights)
    for g in range(n_groups):
        assert (found[g] == centroid(x[groups == g], weights[groups == g])).all()


@pytest.mark.parametrize("weights", [[1, 2], [0, 0, 0], [1, -1, 1], [1, np.nan, 1]])
def test_weights_must_be_weights(weights):
    with pytest.raises(InvalidInput, match="weights must"):
        centroid(np.zeros((3, 2)), weights)


@pytest.mark.parametrize(
    ("groups", "words"),
    [
        ([0, 1], "3 whole numbers"),
        ([0, 1, -1], "3 whole numbers"),
        ([0.0, 1.0, 1.0], "3 whole numbers"),
        ([0, 2, 2], "group 1 is empty"),
    ],
)
def test_groups_must_be_numbered(groups, words):
    with pytest.raises(InvalidInput, match=words):
        centroids(np.zeros((3, 2)), groups)


def test_the_oracle_agrees_with_a_point_known_by_hand():
    found = reference_centroid(np.array([[0.8, 0.0], [0.0, 0.0]]), [1.0, 1.0], 1.0)
    assert abs(found[0] - mpmath.mpf("0.5")) < 1e-15
