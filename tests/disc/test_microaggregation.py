"""Groups of at least K points held to their promises, wherever the points lie."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import adversarial_discs, ball_point, ball_points, seeds

from fedhull.data.generated import sample_uniform
from fedhull.disc.isometry import Isometry
from fedhull.disc.maps import centroid, centroids, distance, pairwise_distance
from fedhull.disc.microaggregation import microaggregate
from fedhull.errors import InvalidInput, OutsideDisc

sizes = st.integers(1, 9)


def partition_of(points, groups):
    """The groups as a multiset of multisets of places."""
    return sorted(sorted(points[groups == g].tolist()) for g in np.unique(groups))


@given(adversarial_discs(), sizes)
def test_every_point_is_in_one_group_and_every_group_is_large_enough(drawn, size):
    k, points = drawn
    groups = microaggregate(points, size, k)
    counts = np.bincount(groups)
    assert groups.shape == (len(points),)
    assert counts.min() >= min(size, len(points))
    assert len(counts) == max(1, len(points) // size)
    assert (counts[:-1] == size).all()
    assert counts[-1] < max(2 * size, 2)


@given(ball_points(23, deepest_gap=1e-12), sizes)
def test_groups_are_large_enough_in_any_dimension_and_at_the_rim(drawn, size):
    k, points = drawn
    assert np.bincount(microaggregate(points, size, k)).min() >= size


@given(adversarial_discs(), sizes, seeds)
def test_groups_do_not_depend_on_the_order_of_rows(drawn, size, seed):
    k, points = drawn
    turned = np.random.default_rng(seed).permutation(len(points))
    groups = microaggregate(points, size, k)
    assert (microaggregate(points, size, k) == groups).all()
    again = microaggregate(points[turned], size, k)
    assert partition_of(points[turned], again) == partition_of(points, groups)


@given(seeds, st.integers(2, 9), st.integers(2, 80))
def test_no_centroid_is_a_point_of_its_own(seed, size, n):
    points = sample_uniform(n, 0.99, seed=seed)
    middles = centroids(points, microaggregate(points, size))
    assert distance(points[:, None], middles[None]).min() > 1e-9


def one_after_another(points, size, curvature):
    """The same groups by looking at all distances."""
    order = np.lexsort(points.T)
    x = points[order]
    apart = pairwise_distance(x, x, curvature)
    far_first = np.argsort(-distance(x, centroid(x, curvature=curvature), curvature), kind="stable")
    groups, number = np.full(len(x), -1), 0
    for i in far_first:
        left = np.flatnonzero(groups < 0)
        if len(left) < 2 * size:
            break
        if groups[i] < 0:
            near = left[np.argsort(np.where(left == i, -1.0, apart[i, left]), kind="stable")]
            groups[near[:size]] = number
            number += 1
    groups[groups < 0] = number
    found = np.empty_like(groups)
    found[order] = groups
    return found


@given(seeds, sizes, st.integers(1, 200), st.sampled_from([2, 3]), st.sampled_from([1.0, 0.25]))
def test_groups_are_those_of_a_search_over_all_pairs(seed, size, n, dimension, k):
    rng = np.random.default_rng(seed)
    points = np.array([ball_point(rng, dimension, 1e-4 ** rng.random()) for _ in range(n)])
    points /= np.sqrt(k)
    assert (microaggregate(points, size, k) == one_after_another(points, size, k)).all()


@given(seeds, st.integers(2, 6))
def test_groups_move_with_isometries(seed, size):
    rng = np.random.default_rng(seed)
    points = sample_uniform(60, 0.9, seed=rng)
    turn, _ = np.linalg.qr(rng.standard_normal((2, 2)))
    moved = Isometry(ball_point(rng, 2, 0.5), turn, 1.0).apply(points)
    assert (microaggregate(points, size) == microaggregate(moved, size)).all()


def test_the_outermost_point_is_in_the_first_group():
    points = sample_uniform(500, 0.95, seed=0)
    outermost = distance(points, centroid(points)).argmax()
    assert microaggregate(points, 5)[outermost] == 0


def test_weights_move_the_middle_from_which_groups_are_peeled():
    points = np.array([[-0.5, 0.0], [-0.4, 0.0], [0.5, 0.0], [0.45, 0.0]])
    assert microaggregate(points, 2).tolist() == [0, 0, 1, 1]
    assert microaggregate(points, 2, weights=[9, 9, 1, 1]).tolist() == [1, 1, 0, 0]


def test_many_points_keep_the_promise():
    # many levels of the tree, and leaves that are not full
    groups = microaggregate(sample_uniform(100_003, 0.99, seed=0), 5)
    assert np.bincount(np.bincount(groups)).nonzero()[0].tolist() == [5, 8]


@pytest.mark.parametrize("size", [0, -1, 1.5, True, "5"])
def test_a_size_must_be_a_count(size):
    with pytest.raises(InvalidInput, match="size must be a whole number of at least 1"):
        microaggregate([[0.1, 0.0]], size)


def test_points_must_lie_in_the_ball():
    with pytest.raises(OutsideDisc, match="row 1"):
        microaggregate([[0.1, 0.0], [1.0, 0.0]], 2)
