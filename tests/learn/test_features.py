"""Horocycle features: bounded, exact at the rim, the same at every site."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracles import busemann, reference_busemann
from sklearn.utils.estimator_checks import parametrize_with_checks
from strategies import ball_points, curvatures, seeds

import fedhull
from fedhull import HorocycleFeatures
from fedhull.disc.rim import pull_inside
from fedhull.errors import InvalidInput, OutsideDisc

# scikit-learn's checks use points far outside the unit disc; with this curvature they are inside
WIDE = 1e-8


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@parametrize_with_checks([HorocycleFeatures(curvature=WIDE), HorocycleFeatures(3, curvature=WIDE)])
def test_horocycle_features_pass_the_checks_of_scikit_learn(estimator, check):
    check(estimator)


def unit(rng, n, dimension):
    directions = rng.standard_normal((n, dimension))
    return directions / np.linalg.norm(directions, axis=1)[:, None]


def at_the_rim(directions, curvature):
    """The outermost floats of the ball along these directions."""
    return pull_inside(directions / np.sqrt(curvature), curvature)


@given(ball_points(4, deepest_gap=1e-15), seeds)
def test_features_are_bounded_by_one(ball, seed):
    curvature, points = ball
    points = pull_inside(np.array(points), curvature)
    features = HorocycleFeatures(16, curvature=curvature, seed=seed).fit_transform(points)
    assert features.shape == (4, 16)
    assert (np.abs(features) <= 1.0).all()


@given(curvatures, seeds, st.sampled_from([1, 2, 3, 10]))
def test_features_are_finite_at_the_outermost_floats_under_the_directions_themselves(k, seed, d):
    model = HorocycleFeatures(12, curvature=k, seed=seed).fit(np.zeros((1, d)))
    points = at_the_rim(model.directions_, k)
    assert np.isfinite(busemann(points, model.directions_, k)).all()
    assert (np.abs(model.transform(points)) <= 1.0).all()


@given(
    curvatures,
    seeds,
    st.sampled_from([1, 2, 3, 5]),
    st.floats(-15.5, 0.0),
    st.sampled_from([0.0, 1e-14, 1e-9, 1e-3, 1.0]),
)
def test_horocycles_agree_with_sixty_digits_up_to_the_rim(k, seed, dimension, exponent, aside):
    rng = np.random.default_rng(seed)
    direction = unit(rng, 1, dimension)
    way = direction + aside * rng.standard_normal((1, dimension))
    way *= (1.0 - 10.0**exponent) / np.linalg.norm(way) / np.sqrt(k)
    point = pull_inside(way, k)
    exact = reference_busemann(point[0], direction[0], k)
    # the logarithm of a quotient that is good to a few units in the last place
    assert abs(busemann(point, direction, k)[0, 0] - exact) <= 2e-15 * (1.0 + abs(exact))


@given(curvatures, seeds, st.sampled_from([2, 3, 5]), st.floats(0.0, 8.0))
def test_rotating_points_and_directions_together_changes_nothing(k, seed, dimension, depth):
    rng = np.random.default_rng(seed)
    turn = np.linalg.qr(rng.standard_normal((dimension, dimension)))[0]
    directions = unit(rng, 6, dimension)
    points = np.tanh(depth / 2) * unit(rng, 5, dimension) / np.sqrt(k)
    turned = busemann(points @ turn, directions @ turn, k)
    np.testing.assert_allclose(turned, busemann(points, directions, k), atol=1e-9)


@given(curvatures, seeds, st.sampled_from([1, 2, 3]), st.floats(0.0, 6.0), st.floats(0.0, 6.0))
def test_a_step_towards_a_direction_adds_its_length(k, seed, dimension, depth, step):
    rng = np.random.default_rng(seed)
    end = unit(rng, 1, dimension)
    x = np.tanh(depth / 2) * unit(rng, 1, dimension)
    # where `end` is seen from x: (−x) ⊕ end, by the formula, which holds on the sphere as well
    dot, square = (x * end).sum(), (x * x).sum()
    seen = ((1 - square) * end - (2 - 2 * dot) * x) / (1 - 2 * dot + square)
    ahead = np.tanh(step / 2) * seen / np.linalg.norm(seen)
    moved = fedhull.mobius_add(x / np.sqrt(k), ahead / np.sqrt(k), k)
    grown = busemann(moved, end, k) - busemann(x / np.sqrt(k), end, k)
    assert grown == pytest.approx(step, abs=1e-7)
    assert np.sqrt(k) * fedhull.distance(x / np.sqrt(k), moved, k) == pytest.approx(step, abs=1e-7)


@given(seeds, curvatures)
def test_only_the_shape_of_the_ball_matters_not_its_size(seed, curvature):
    x = 0.9 * unit(np.random.default_rng(seed), 5, 2)
    a = HorocycleFeatures(8, seed=seed).fit_transform(x)
    b = HorocycleFeatures(8, seed=seed, curvature=curvature).fit_transform(x / np.sqrt(curvature))
    np.testing.assert_allclose(a, b, atol=1e-12)


def test_features_depend_on_settings_and_seed_and_on_no_value():
    rng = np.random.default_rng(0)
    x = 0.5 * rng.random((40, 3))
    whole = HorocycleFeatures(10, seed=4).fit(x)
    other = HorocycleFeatures(10, seed=4).fit(-0.3 * x[:2])
    assert (whole.transform(x) == other.transform(x)).all()
    assert not np.allclose(HorocycleFeatures(10, seed=5).fit_transform(x), whole.transform(x))


def test_the_draws_of_a_seed_stay_as_they_are():
    # another version of the package or of NumPy would else make other features than its peers
    model = HorocycleFeatures(3, seed=7).fit(np.zeros((1, 3)))
    drawn = [*model.frequencies_, *model.phases_, *model.directions_.ravel()]
    np.testing.assert_allclose(drawn, DRAWN_BY_SEED_7, rtol=1e-12)


DRAWN_BY_SEED_7 = [
    1.1186632301507777,
    0.8047518915756795,
    0.5919670129939278,
    0.033082884284244704,
    5.159930332220927,
    5.008134923536883,
    -0.3207229162809074,
    -0.021571988250125084,
    -0.9469273785751506,
    0.6633394292289814,
    -0.6670001877152679,
    0.33925145720831706,
    -0.3476719462506256,
    0.22619415000862808,
    -0.9099233068188638,
]


def test_in_the_disc_directions_are_equally_spaced_and_scales_take_turns():
    model = HorocycleFeatures(400, scales=(1.0, 50.0), seed=0).fit(np.zeros((1, 2)))
    angles = np.arctan2(*model.directions_.T[::-1])
    np.testing.assert_allclose(np.diff(np.sort(angles)), 2 * np.pi / 400)
    slow, fast = model.frequencies_[::2], model.frequencies_[1::2]
    assert np.mean(slow**2) == pytest.approx(1.0, rel=0.3)
    assert np.mean(fast**2) == pytest.approx(2500.0, rel=0.3)
    assert np.mean(np.exp(1j * model.phases_)) == pytest.approx(0.0, abs=0.1)


@pytest.mark.parametrize("n", [7, 64, 128, 129, 400])
def test_in_the_disc_the_first_directions_leave_no_gap_much_wider_than_they_must(n):
    directions = HorocycleFeatures(n).fit(np.zeros((1, 2))).directions_
    for first in range(2, n + 1):
        angles = np.sort(np.arctan2(*directions[:first].T[::-1]))
        widest = np.diff(angles, append=angles[0] + 2 * np.pi).max()
        assert widest <= 3.0 * 2 * np.pi / first + 1e-9


def test_in_other_dimensions_directions_are_uniform_on_the_sphere():
    directions = HorocycleFeatures(4000).fit(np.zeros((1, 3))).directions_
    np.testing.assert_allclose(np.linalg.norm(directions, axis=1), 1.0)
    np.testing.assert_allclose(directions.mean(axis=0), 0.0, atol=0.05)
    np.testing.assert_allclose(directions.T @ directions / 4000, np.eye(3) / 3, atol=0.03)


def test_directions_that_are_changed_in_place_are_not_taken_for_what_they_were():
    directions, point = np.array([[1.0, 0.0], [0.0, 1.0]]), [[0.5, 0.0]]
    before = busemann(point, directions)
    directions[:] = directions[::-1].copy()
    assert (busemann(point, directions) == before[:, ::-1]).all()


@given(ball_points(4, deepest_gap=1e-15), st.sampled_from([2, 3]))
def test_in_the_unit_ball_points_are_taken_as_they_are(ball, power):
    """The root of 1 needs no arithmetic: as in a ball that is larger by a power of two."""
    points = pull_inside(np.array(ball[1]) * np.sqrt(ball[0]), 1.0)
    directions = unit(np.random.default_rng(0), 5, points.shape[1])
    larger = busemann(points * 2.0**power, directions, 4.0**-power)
    assert (busemann(points, directions) == larger).all()


def test_many_points_are_worked_out_in_parts_that_do_not_show():
    x = 0.9 * unit(np.random.default_rng(0), 3000, 2)
    model = HorocycleFeatures(100).fit(x)
    assert (model.transform(x)[1234:1240] == model.transform(x[1234:1240])).all()


@given(seeds, curvatures, st.sampled_from([0.01, 1.0, 30.0, 1e4, 1e6, 1e12]))
def test_features_are_cosines_of_horocycles_whatever_the_frequency(seed, k, scale):
    rng = np.random.default_rng(seed)
    x = np.concatenate((0.9 * unit(rng, 5, 2) / np.sqrt(k), at_the_rim(unit(rng, 5, 2), k)))
    model = HorocycleFeatures(20, scales=(scale,), curvature=k, seed=seed).fit(x)
    expected = np.cos(model.frequencies_ * busemann(x, model.directions_, k) + model.phases_)
    np.testing.assert_allclose(model.transform(x), expected, rtol=0.0, atol=3e-16)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"n_features": 0}, "n_features must be a whole number ≥ 1"),
        ({"scales": (1.0, -1.0)}, "scales must be numbers > 0"),
        ({"scales": ()}, "scales must be numbers > 0"),
        ({"seed": -1}, "seed must be a whole number ≥ 0"),
        ({"curvature": 0.0}, "curvature"),
    ],
)
def test_settings_that_make_no_features_are_refused(settings, words):
    with pytest.raises(InvalidInput, match=words):
        HorocycleFeatures(**settings).fit(np.zeros((2, 2)))


def test_points_outside_the_ball_are_refused():
    with pytest.raises(OutsideDisc, match="row 1"):
        HorocycleFeatures().fit_transform([[0.0, 0.0], [1.0, 0.0]])
