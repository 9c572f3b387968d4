"""The four models of hyperbolic space agree with each other."""

import numpy as np
import pytest
from hypothesis import assume, given
from strategies import ball_points

import fedhull
from fedhull.errors import InvalidInput

TO_AND_FRO = [
    (fedhull.poincare_to_klein, fedhull.klein_to_poincare),
    (fedhull.poincare_to_hyperboloid, fedhull.hyperboloid_to_poincare),
    (fedhull.poincare_to_polar, fedhull.polar_to_poincare),
]


@pytest.mark.parametrize(("there", "back"), TO_AND_FRO)
@given(drawn=ball_points(1, deepest_gap=1e-3))
def test_conversions_invert_each_other(there, back, drawn):
    k, (x,) = drawn
    assert np.abs(back(there(x, k), k) - x).max() * np.sqrt(k) <= 1e-12


@given(ball_points(1, deepest_gap=1e-12))
def test_polar_and_hyperboloid_keep_the_rim(drawn):
    k, (x,) = drawn
    for there, back in TO_AND_FRO[1:]:
        assert np.abs(back(there(x, k), k) - x).max() * np.sqrt(k) <= 1e-15


@given(ball_points(3, deepest_gap=1e-3, dimensions=(2, 3)))
def test_geodesics_are_straight_in_klein(drawn):
    k, (x, y, _) = drawn
    a, b, middle = (
        fedhull.poincare_to_klein(p, k) for p in (x, y, fedhull.geodesic_midpoint(x, y, k))
    )
    assume((a != b).any())
    along = (b - a) / np.linalg.norm(b - a)
    off_line = (middle - a) - ((middle - a) @ along) * along
    assert np.linalg.norm(off_line) * np.sqrt(k) <= 1e-9


@given(ball_points(2, deepest_gap=1e-3))
def test_lorentz_product_gives_the_distance(drawn):
    k, (x, y) = drawn
    a, b = (fedhull.poincare_to_hyperboloid(p, k) for p in (x, y))
    product = -a[0] * b[0] + a[1:] @ b[1:]
    cosh = np.cosh(np.sqrt(k) * fedhull.distance(x, y, k))
    np.testing.assert_allclose(-k * product, cosh, rtol=1e-9)
    np.testing.assert_allclose(k * (a[1:] @ a[1:] - a[0] ** 2), -1.0, atol=1e-9 * k * a[0] ** 2)


@given(ball_points(1, deepest_gap=1e-9))
def test_polar_radius_is_the_distance_from_the_origin(drawn):
    k, (x,) = drawn
    radius = abs(fedhull.poincare_to_polar(x, k)[..., 0])
    np.testing.assert_allclose(radius, fedhull.distance(x, 0 * x, k), rtol=1e-14)


def test_polar_angle_is_in_zero_to_two_pi():
    angles = fedhull.poincare_to_polar([[0.5, -1e-300], [0.5, -0.0], [-0.5, 0.0], [0.0, -0.5]])[
        :, 1
    ]
    np.testing.assert_allclose(angles, [0.0, 0.0, np.pi, 1.5 * np.pi])


def test_lower_sheet_is_refused():
    with pytest.raises(InvalidInput, match="upper sheet"):
        fedhull.hyperboloid_to_poincare([-1.0, 0.0, 0.0])
