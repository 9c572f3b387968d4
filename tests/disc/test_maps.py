"""Each function of the ball, held to its algebraic laws and to 50-digit arithmetic."""

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracles import reference_distance
from strategies import ball_point, ball_points, curvatures, examples, seeds

import fedhull
from fedhull.errors import InvalidInput, OutsideDisc

# laws of points up to 1−1e-6 hold to this share of the ball's radius
CLOSE = 1e-9


def assert_near(a, b, curvature, tolerance=CLOSE):
    assert np.abs(a - b).max() * np.sqrt(curvature) <= tolerance


@given(ball_points(2, deepest_gap=1e-12), st.floats(-16, 0))
@examples(300)
def test_distance_matches_50_digit_reference(drawn, log_step):
    k, (x, y) = drawn
    # half the time y is a close neighbour of x, where cancellation bites
    if log_step < -8:
        moved = x * (1.0 - 10.0**log_step)
        y = moved if (moved != x).any() else y
    deepest = max(np.linalg.norm(x), np.linalg.norm(y)) * np.sqrt(k)
    bound = 1e-9 if deepest <= 1 - 1e-6 else 1e-5
    truth = reference_distance(x, y, k)
    assert abs(mpmath.mpf(float(fedhull.distance(x, y, k))) - truth) <= bound * truth
    one = fedhull.pairwise_distance(x[None], y[None], k)[0, 0]
    assert abs(mpmath.mpf(float(one)) - truth) <= bound * truth


def test_distance_keeps_growing_up_to_the_rim():
    radii = 1.0 - 10.0 ** -np.arange(1.0, 16.0)
    points = np.column_stack((radii, np.zeros_like(radii)))
    assert (np.diff(fedhull.distance([0.0, 0.0], points)) > 2.0).all()


@given(ball_points(3))
def test_distance_is_a_metric(drawn):
    k, (x, y, z) = drawn
    d = fedhull.pairwise_distance([x, y, z], curvature=k)
    assert (d == d.T).all()
    assert (np.diag(d) == 0).all()
    assert d[0, 2] <= (d[0, 1] + d[1, 2]) * (1 + 1e-12)


@given(ball_points(2))
def test_mobius_addition_left_cancellation(drawn):
    k, (x, y) = drawn
    gap = 1.0 - np.sqrt(k) * np.linalg.norm(x)
    back = fedhull.mobius_add(-x, fedhull.mobius_add(x, y, k), k)
    # rounding of x ⊕ y next to the rim is magnified by 1/gap on the way back
    assert_near(back, y, k, 1e-14 / gap)


@given(ball_points(1))
def test_mobius_zero_is_the_identity_and_minus_x_the_inverse(drawn):
    k, (x,) = drawn
    assert_near(fedhull.mobius_add(x, 0 * x, k), x, k, 1e-15)
    assert_near(fedhull.mobius_add(0 * x, x, k), x, k, 1e-15)
    assert (fedhull.mobius_add(-x, x, k) == 0).all()


@given(ball_points(3, deepest_gap=1e-2))
def test_mobius_translation_is_an_isometry(drawn):
    k, (a, x, y) = drawn
    moved = fedhull.distance(fedhull.mobius_add(a, x, k), fedhull.mobius_add(a, y, k), k)
    np.testing.assert_allclose(moved, fedhull.distance(x, y, k), rtol=1e-9, atol=1e-9 / np.sqrt(k))


@given(ball_points(2))
def test_exp_inverts_log(drawn):
    k, (p, x) = drawn
    gap = 1.0 - np.sqrt(k) * np.linalg.norm(p)
    assert_near(fedhull.exp_map(p, fedhull.log_map(p, x, k), k), x, k, 1e-14 / gap)


@given(ball_points(2))
def test_log_has_the_riemannian_length_of_the_distance(drawn):
    k, (p, x) = drawn
    conformal = 2.0 / (1.0 - k * p @ p)
    length = conformal * np.linalg.norm(fedhull.log_map(p, x, k))
    np.testing.assert_allclose(length, fedhull.distance(p, x, k), rtol=1e-9)


@given(ball_points(2), st.floats(0, 1))
def test_geodesic_divides_the_distance(drawn, t):
    k, (x, y) = drawn
    whole = fedhull.distance(x, y, k)
    point = fedhull.geodesic(x, y, t, k)
    tolerance = 1e-8 * (whole + 1 / np.sqrt(k))
    np.testing.assert_allclose(fedhull.distance(x, point, k), t * whole, atol=tolerance, rtol=0)
    np.testing.assert_allclose(
        fedhull.distance(point, y, k), (1 - t) * whole, atol=tolerance, rtol=0
    )


@given(ball_points(2, deepest_gap=1e-8))
def test_midpoint_is_half_way_and_symmetric(drawn):
    k, (x, y) = drawn
    middle = fedhull.geodesic_midpoint(x, y, k)
    half = fedhull.distance(x, y, k) / 2
    tolerance = 1e-6 * (half + 1 / np.sqrt(k))
    np.testing.assert_allclose(fedhull.distance(x, middle, k), half, atol=tolerance, rtol=0)
    np.testing.assert_allclose(fedhull.distance(y, middle, k), half, atol=tolerance, rtol=0)
    assert_near(middle, fedhull.geodesic_midpoint(y, x, k), k, 1e-15)


def gyration(u, v, w, k):
    """gyr[u, v]w = ⊖(u⊕v) ⊕ (u⊕(v⊕w)), the textbook definition."""
    add = fedhull.mobius_add
    return add(-add(u, v, k), add(u, add(v, w, k), k), k)


@given(ball_points(3, deepest_gap=0.1))
def test_parallel_transport_is_the_scaled_gyration(drawn):
    k, (p, q, v) = drawn
    carried = fedhull.parallel_transport(p, q, v, k)
    scale = (1 - k * q @ q) / (1 - k * p @ p)
    assert_near(carried, scale * gyration(q, -p, v, k), k, 1e-10)


@given(ball_points(4))
def test_parallel_transport_keeps_angles_and_lengths(drawn):
    k, (p, q, v, w) = drawn
    scale = (1 - k * q @ q) / (1 - k * p @ p)
    carried = [fedhull.parallel_transport(p, q, u, k) / scale for u in (v, w)]
    np.testing.assert_allclose(carried[0] @ carried[1], v @ w, atol=1e-9 / k)


@given(ball_points(2))
def test_parallel_transport_keeps_the_geodesic_direction(drawn):
    k, (p, q) = drawn
    onward = -fedhull.log_map(q, p, k)
    carried = fedhull.parallel_transport(p, q, fedhull.log_map(p, q, k), k)
    np.testing.assert_allclose(carried, onward, atol=1e-8 * np.linalg.norm(onward))


@given(ball_points(2, deepest_gap=1e-3, dimensions=(2, 3, 5)), seeds)
def test_hyperplane_distance_is_the_distance_to_the_mirror_image_halved(drawn, seed):
    k, (x, p) = drawn
    w = np.random.default_rng(seed).standard_normal(len(x))
    signed = fedhull.hyperplane_distance(x, p, w, k)
    # reflect in the hyperplane: move p to the origin, where it is flat, and back
    local = fedhull.mobius_add(-p, x, k)
    unit = w / np.linalg.norm(w)
    image = fedhull.mobius_add(p, local - 2 * (local @ unit) * unit, k)
    np.testing.assert_allclose(
        abs(signed), fedhull.distance(x, image, k) / 2, atol=1e-8 / np.sqrt(k), rtol=1e-8
    )
    assert fedhull.hyperplane_side(x, p, w, k) == np.sign(fedhull.log_map(p, x, k) @ w)


@given(seeds, curvatures)
def test_results_stay_inside_the_ball(seed, k):
    rng = np.random.default_rng(seed)
    x = np.array([ball_point(rng, 2, 1e-15) for _ in range(50)]) / np.sqrt(k) * (1 - 1e-15)
    y = fedhull.mobius_add(x, x[::-1], k)
    far = fedhull.exp_map(x, 100 * rng.standard_normal((50, 2)) / np.sqrt(k), k)
    for points in (y, far, fedhull.geodesic_midpoint(x, y, k)):
        assert np.isfinite(fedhull.distance(points, 0 * points, k)).all()


@pytest.mark.parametrize("gap", [1e-6, 1e-9, 1e-12, 1e-15])
def test_geodesics_across_the_disc_read_the_same_from_both_ends(gap):
    rng = np.random.default_rng(0)
    for _ in range(50):
        x, y = ball_point(rng, 2, gap), ball_point(rng, 2, gap * rng.random())
        for t in (0.0, 0.25, 0.5, 0.9, 1.0):
            assert_near(fedhull.geodesic(x, y, t), fedhull.geodesic(y, x, 1 - t), 1.0, 1e-14)
        assert_near(fedhull.geodesic(x, y, 0.0), x, 1.0, 1e-14)
        assert_near(fedhull.geodesic(x, y, 0.5), fedhull.geodesic_midpoint(x, y), 1.0, 1e-14)


@pytest.mark.parametrize("k", [1.0, 0.7, 5.0])
def test_exp_crosses_the_disc_from_the_rim(k):
    # from near the rim straight through the origin, by the distance to the origin, and by far more
    p = np.array([(1.0 - 1e-13) / np.sqrt(k), 0.0])
    to_origin = fedhull.log_map(p, [0.0, 0.0], k)
    assert_near(fedhull.exp_map(p, to_origin, k), [0.0, 0.0], k, 1e-13)
    assert_near(fedhull.exp_map(p, 2 * to_origin, k), -p, k, 1e-14)
    assert_near(fedhull.exp_map(p, 50 * to_origin, k), [-1 / np.sqrt(k), 0.0], k, 1e-14)


def test_exp_takes_vectors_of_any_length():
    for length in (0.0, 5e-324, 1e-200, 1e5, 1e200, 1.7e308):
        far = fedhull.exp_map([0.5, 0.0], [length, length])
        assert np.isfinite(fedhull.distance(far, [0.0, 0.0]))
    assert_near(far, [0.5**0.5, 0.5**0.5], 1.0, 0.5)


@given(ball_points(2, deepest_gap=1e-2, dimensions=(2, 3, 5)), st.floats(0, 3))
def test_exp_is_the_papers_formula(drawn, scale):
    k, (p, v) = drawn
    v = scale * v
    length = np.linalg.norm(v)
    reach = np.tanh(np.sqrt(k) * length / (1 - k * p @ p)) / np.sqrt(k)
    step = reach * v / length if length else v
    if np.sqrt(k) * np.linalg.norm(step) < 1 - 1e-6:
        assert_near(fedhull.exp_map(p, v, k), fedhull.mobius_add(p, step, k), k, 1e-9)


def test_shapes_broadcast():
    points = np.full((4, 3, 2), 0.1)
    assert fedhull.distance(points, [0.0, 0.0]).shape == (4, 3)
    assert fedhull.mobius_add([0.1, 0.0], points).shape == (4, 3, 2)
    assert fedhull.geodesic([0.1, 0.0], [0.5, 0.0], np.linspace(0, 1, 7)).shape == (7, 2)
    assert fedhull.log_map(points, points).tolist() == np.zeros((4, 3, 2)).tolist()


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: fedhull.distance([1.0, 0.0], [0.0, 0.0]), OutsideDisc, "x must lie inside"),
        (lambda: fedhull.distance([[0.0], [2.0]], [0.0]), OutsideDisc, "row 1 has norm 2"),
        (lambda: fedhull.distance([1e300, 0.0], [0.0, 0.0]), OutsideDisc, "has norm 1e\\+300"),
        (lambda: fedhull.distance([[2.0], [3.0]], [0.0]), OutsideDisc, "1 more are outside"),
        (lambda: fedhull.distance([np.nan, 0.0], [0.0, 0.0]), InvalidInput, "NaN"),
        (lambda: fedhull.distance([0.1], [0.1], curvature=-1), InvalidInput, "curvature must be"),
        (lambda: fedhull.distance([0.1], [0.1], curvature="x"), InvalidInput, "got 'x'"),
        (lambda: fedhull.distance("ab", [0.1]), InvalidInput, "x must be an array of numbers"),
        (lambda: fedhull.distance(0.1, 0.1), InvalidInput, r"shape \(\.\.\., d\)"),
        (lambda: fedhull.pairwise_distance([0.1, 0.2]), InvalidInput, r"\(n, d\) and \(m, d\)"),
        (lambda: fedhull.geodesic([0.1], [0.2], np.nan), InvalidInput, "t must be finite"),
        (lambda: fedhull.geodesic([0.1], [0.2], "a"), InvalidInput, "t must be an array"),
        (lambda: fedhull.distance([0.5], [0.1, 0.2]), InvalidInput, "coordinates, got 1, 2"),
        (lambda: fedhull.distance([[0.1]] * 3, [[0.1]] * 2), InvalidInput, "that broadcast"),
        (lambda: fedhull.distance([1j], [0.1]), InvalidInput, "array of numbers"),
        (lambda: fedhull.exp_map([0.1], [0.1, 0.2]), InvalidInput, "p and v must have"),
        (lambda: fedhull.hyperplane_side([0.1], [0.1], [0.0]), InvalidInput, "zero vector"),
    ],
)
def test_bad_input_is_refused_in_a_sentence(call, error, words):
    with pytest.raises(error, match=words):
        call()
