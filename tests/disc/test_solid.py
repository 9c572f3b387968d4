"""Hulls in 1 and 3 to 8 dimensions, against linear programming."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog
from strategies import curvatures, examples, seeds

import fedhull
from fedhull.errors import InvalidInput


def corners_by_linear_programming(klein: np.ndarray) -> list[int]:
    """A point is a corner iff it is no convex combination of the others."""
    corners = []
    for i in range(len(klein)):
        others = np.delete(klein, i, axis=0)
        system = np.vstack((others.T, np.ones(len(others))))
        answer = linprog(np.zeros(len(others)), A_eq=system, b_eq=np.append(klein[i], 1.0))
        if answer.status == 2:  # infeasible
            corners.append(i)
    return corners


@given(seeds, st.sampled_from([3, 4, 5]), curvatures)
@examples(25)
def test_corners_match_linear_programming(seed, dimension, curvature):
    rng = np.random.default_rng(seed)
    points = rng.uniform(-1, 1, (25, dimension)) / np.sqrt(dimension * curvature) * 0.99
    klein = fedhull.poincare_to_klein(points, curvature) * np.sqrt(curvature)
    assert fedhull.minimal_hull(points, curvature).tolist() == corners_by_linear_programming(klein)


def test_points_inside_faces_and_edges_are_no_corners():
    cube = np.array(np.meshgrid(*[[-1.0, 0.0, 1.0]] * 3)).reshape(3, -1).T * 0.3
    points = fedhull.klein_to_poincare(cube)
    expected = np.flatnonzero((np.abs(cube) == 0.3).all(axis=1))
    assert fedhull.minimal_hull(points).tolist() == expected.tolist()


@pytest.mark.parametrize("dimension", [3, 5, 8])
def test_flat_sets_are_solved_in_their_own_dimension(dimension):
    rng = np.random.default_rng(0)
    plane = fedhull.sample_uniform(200, 0.9, seed=0)
    axes = np.linalg.qr(rng.standard_normal((dimension, 2)))[0]
    assert (
        fedhull.minimal_hull(plane @ axes.T).tolist()
        == np.sort(fedhull.minimal_hull(plane)).tolist()
    )
    line = np.outer(np.linspace(-0.5, 0.5, 9), axes[:, 0])
    assert fedhull.minimal_hull(line).tolist() == [0, 8]


@pytest.mark.parametrize("dimension", [1, 3, 8])
def test_equal_points_are_represented_by_the_first(dimension):
    one = np.full((1, dimension), 0.1)
    assert fedhull.minimal_hull(np.repeat(one, 100, axis=0)).tolist() == [0]
    assert fedhull.minimal_hull(np.concatenate((one, one, -one, one, -one))).tolist() == [0, 2]


def test_on_a_line_the_corners_are_the_extremes():
    assert fedhull.minimal_hull([[0.1], [-0.3], [0.9], [0.2]]).tolist() == [1, 2]


def test_all_points_of_a_sphere_are_corners():
    directions = np.random.default_rng(0).standard_normal((500, 3))
    points = 0.9 * directions / np.linalg.norm(directions, axis=1, keepdims=True)
    assert len(fedhull.minimal_hull(points)) == 500


def test_more_than_eight_dimensions_are_refused():
    with pytest.raises(InvalidInput, match="at most 8 coordinates, got an array of shape"):
        fedhull.minimal_hull(np.zeros((3, 9)))
