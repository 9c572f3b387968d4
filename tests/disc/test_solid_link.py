"""The shortest geodesic off the plane: the same as in the plane, and optimal by its certificate."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from oracles import hull_distance
from strategies import curvatures, examples, seeds

from fedhull.disc.hull import minimal_hull
from fedhull.disc.isometry import Isometry
from fedhull.disc.link import nearest_in_hull, shortest_link, solid_link
from fedhull.disc.maps import distance, geodesic, hyperplane_distance, log_map, mobius_add


def two_clouds(rng, dimension, curvature, n=8):
    """Two sets of points, each around a place of its own, mostly apart."""
    places = rng.uniform(-1, 1, (2, dimension)) / np.sqrt(dimension)
    sizes = 10.0 ** rng.uniform(-2, -0.3, 2)
    steps = rng.uniform(-1, 1, (2, n, dimension)) / np.sqrt(dimension)
    return [
        mobius_add(0.9 * place, size * step) / np.sqrt(curvature)
        for place, size, step in zip(places, sizes, steps, strict=True)
    ]


@given(seeds, curvatures)
@examples(40)
def test_in_the_plane_it_is_the_exact_one(seed, k):
    first, second = (
        side[minimal_hull(side, k)] for side in two_clouds(np.random.default_rng(seed), 2, k)
    )
    exact = hull_distance(first, second, k) * np.sqrt(k)
    assume(exact > 0.05)
    assert distance(*solid_link(first, second, k), k) * np.sqrt(k) == pytest.approx(exact, abs=1e-7)


@given(seeds, curvatures, st.sampled_from([1, 3, 5, 9]))
@examples(40)
def test_planes_across_its_ends_have_the_hulls_behind_them(seed, k, dimension):
    first, second = two_clouds(np.random.default_rng(seed), dimension, k)
    a, b = shortest_link(first, second, k)
    assume(distance(a, b, k) * np.sqrt(k) > 0.05)
    # then no point of one hull is nearer to one of the other than a to b
    for here, there, hull in ((a, b, first), (b, a, second)):
        beyond = hyperplane_distance(hull, here, log_map(here, there, k), k) * np.sqrt(k)
        assert beyond.max() <= 1e-6


@given(seeds, st.sampled_from([2, 3, 5]))
@examples(20)
def test_its_length_stays_under_isometries(seed, dimension):
    rng = np.random.default_rng(seed)
    hulls = two_clouds(rng, dimension, 1.0)
    turn, _ = np.linalg.qr(rng.standard_normal((dimension, dimension)))
    f = Isometry(0.5 * rng.uniform(-1, 1, dimension) / np.sqrt(dimension), turn)
    length = distance(*solid_link(*hulls, 1.0))
    assume(length > 0.05)
    assert distance(*solid_link(*map(f.apply, hulls), 1.0)) == pytest.approx(length, abs=1e-7)


@given(seeds)
@examples(20)
def test_the_nearest_point_of_an_edge_is_that_of_a_dense_search(seed):
    rng = np.random.default_rng(seed)
    x, y, p = 0.9 * rng.uniform(-1, 1, (3, 3)) / np.sqrt(3)
    found = nearest_in_hull(np.array([x, y]), p, 1.0)
    dense = distance(geodesic(x, y, np.linspace(0, 1, 2001)), p).min()
    assert distance(found, p) == pytest.approx(dense, abs=1e-5)
    assert distance(found, p) <= dense + 1e-9


def test_hulls_that_meet_are_no_distance_apart():
    cross = np.array([[0.5, 0, 0], [-0.5, 0, 0]]), np.array([[0, 0.5, 0], [0, -0.5, 0]])
    assert hull_distance(*cross) == 0.0
    one = np.array([[0.1, 0.2, 0.3]])
    assert hull_distance(one, one) == 0.0
