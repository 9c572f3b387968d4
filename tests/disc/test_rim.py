"""The gap to the rim, against exact rationals."""

from fractions import Fraction

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from fedhull.disc.rim import rim_gap, square_norm

depths = st.floats(-15.0, -0.1).map(lambda e: 1.0 - 10.0**e)


@given(st.floats(-4.0, 4.0), depths, st.sampled_from([1e-6, 0.3, 1.0, 7.7]))
def test_the_gap_is_right_to_a_few_units_in_the_last_place_up_to_the_rim(angle, depth, curvature):
    point = depth / np.sqrt(curvature) * np.array([np.cos(angle), np.sin(angle)])
    exact = 1 - Fraction(curvature) * sum(Fraction(x) ** 2 for x in point.tolist())
    gap = rim_gap(point, curvature)
    assert abs(Fraction(float(gap)) - exact) <= 8 * abs(exact) * Fraction(1, 2**52)


@given(st.integers(0, 100), st.sampled_from([(5, 2), (3, 4, 2), (7, 3), (2,)]))
def test_the_gap_of_many_points_is_that_of_each(seed, shape):
    points = np.random.default_rng(seed).uniform(-0.5, 0.5, shape)
    gaps = rim_gap(points, 1.0)
    assert np.shape(gaps) == shape[:-1]
    each = [rim_gap(point, 1.0) for point in points.reshape(-1, shape[-1])]
    assert np.ravel(gaps).tolist() == each
    strided = np.repeat(points, 2, axis=-2)[..., ::2, :] if points.ndim > 1 else points
    assert np.array_equal(rim_gap(strided, 1.0), gaps)


@given(st.integers(0, 100))
def test_squared_norms_and_gaps_are_of_the_same_points(seed):
    points = np.random.default_rng(seed).uniform(-0.7, 0.7, (20, 2))
    squares, errors = square_norm(points)
    np.testing.assert_allclose(1.0 - squares - errors, rim_gap(points, 1.0), rtol=1e-14, atol=1e-16)
