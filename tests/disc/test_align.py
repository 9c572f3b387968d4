"""Isometries held to the laws of their group, alignment to what it is given to find."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracles import reflection
from scipy.optimize import minimize
from strategies import ball_point, ball_points, curvatures, examples, seeds

from fedhull.disc.align import align, align_by_class
from fedhull.disc.isometry import Isometry, rotation, translation
from fedhull.disc.maps import distance, pairwise_distance
from fedhull.disc.models import hyperboloid_to_poincare, poincare_to_hyperboloid
from fedhull.errors import InvalidInput

DIMENSIONS = (2, 3)


def random_isometry(rng, dimension, curvature, gap=0.1, reflects=None):
    turn, _ = np.linalg.qr(rng.standard_normal((dimension, dimension)))
    if reflects is not None and (np.linalg.det(turn) < 0) != reflects:
        turn[:, 0] *= -1.0
    return Isometry(ball_point(rng, dimension, gap) / np.sqrt(curvature), turn, curvature)


def cloud(rng, n, dimension, curvature, gap):
    """Points from the centre to the rim, at 1−gap at the farthest."""
    return np.array([ball_point(rng, dimension, gap ** rng.random()) for _ in range(n)]) / np.sqrt(
        curvature
    )


@st.composite
def clouds(draw, smallest=3, largest=12, deepest=-6.0):
    """(curvature, points (n, d), an isometry, a generator)"""
    k, rng = draw(curvatures), np.random.default_rng(draw(seeds))
    d, n = draw(st.sampled_from(DIMENSIONS)), draw(st.integers(smallest, largest))
    points = cloud(rng, n, d, k, 10.0 ** draw(st.floats(deepest, 0.0)))
    return k, points, random_isometry(rng, d, k, 10.0 ** draw(st.floats(-3.0, 0.0))), rng


@given(clouds())
def test_isometries_keep_distances(drawn):
    k, points, f, _ = drawn
    before, after = (pairwise_distance(p, curvature=k) for p in (points, f.apply(points)))
    np.testing.assert_allclose(after * np.sqrt(k), before * np.sqrt(k), atol=1e-5)


@given(ball_points(3, deepest_gap=1e-2, dimensions=DIMENSIONS), seeds)
def test_isometries_keep_distances_to_the_last_digits_inside(drawn, seed):
    k, points = drawn
    f = random_isometry(np.random.default_rng(seed), len(points[0]), k)
    before, after = (pairwise_distance(p, curvature=k) for p in (points, f.apply(points)))
    np.testing.assert_allclose(after * np.sqrt(k), before * np.sqrt(k), atol=1e-11)


@given(clouds())
def test_the_inverse_undoes(drawn):
    k, points, f, _ = drawn
    gap = 1.0 - np.sqrt(k) * np.linalg.norm(f.shift)
    back = f.inverse().apply(f.apply(points))
    assert np.abs(back - points).max() * np.sqrt(k) <= 1e-14 / gap
    both = f @ f.inverse()
    assert np.abs(both.shift).max() * np.sqrt(k) <= 1e-14 / gap
    assert np.abs(both.turn - np.eye(len(both.turn))).max() <= 1e-13 / gap


@given(clouds(), seeds)
def test_composition_is_one_after_the_other(drawn, seed):
    k, points, f, _ = drawn
    g = random_isometry(np.random.default_rng(seed), points.shape[1], k)
    gap = 1.0 - np.sqrt(k) * np.linalg.norm(f.shift)
    apart = (f @ g).apply(points) - f.apply(g.apply(points))
    assert np.abs(apart).max() * np.sqrt(k) <= 1e-13 / gap
    assert (f @ g).reflects == (f.reflects != g.reflects)


@given(clouds(deepest=-2.0), seeds)
def test_composition_is_associative(drawn, seed):
    k, points, f, rng = drawn
    g, h = (random_isometry(rng, points.shape[1], k) for _ in range(2))
    one, other = (f @ g) @ h, f @ (g @ h)
    gap = 1.0 - np.sqrt(k) * np.linalg.norm(f.shift)
    assert np.abs(one.shift - other.shift).max() * np.sqrt(k) <= 1e-13 / gap
    assert np.abs(one.turn - other.turn).max() <= 1e-12 / gap


def test_long_chains_stay_isometries():
    step = translation([0.1, 0.05]) @ rotation(0.3)
    chain = step
    for _ in range(500):
        chain = step @ chain
    assert np.abs(chain.turn.T @ chain.turn - np.eye(2)).max() < 1e-14


@given(clouds(deepest=-3.0))
def test_the_matrix_does_the_same_on_the_hyperboloid(drawn):
    k, points, f, _ = drawn
    gap = 1.0 - np.sqrt(k) * np.linalg.norm(f.shift)
    moved = hyperboloid_to_poincare(poincare_to_hyperboloid(points, k) @ f.matrix.T, k)
    assert np.abs(moved - f.apply(points)).max() * np.sqrt(k) <= 1e-11 / gap
    metric = np.diag([-1.0] + [1.0] * points.shape[1])
    np.testing.assert_allclose(f.matrix.T @ metric @ f.matrix, metric, atol=1e-13 / gap**2)


@given(clouds())
def test_json_round_trip_is_exact(drawn):
    k, points, f, _ = drawn
    again = Isometry.from_json(json.loads(json.dumps(f.to_json())))
    assert (again.apply(points) == f.apply(points)).all()
    assert again.curvature == k


@pytest.mark.parametrize(
    "make",
    [
        lambda: translation([1.0, 0.0]),
        lambda: rotation(np.nan),
        lambda: Isometry(np.zeros(2), np.ones((2, 2))),
        lambda: Isometry(np.zeros(2), np.eye(3)),
        lambda: translation([0.1, 0.2]) @ translation([0.1, 0.2], 2.0),
        lambda: translation([0.1, 0.2]).apply([0.1, 0.2, 0.3]),
        lambda: Isometry.from_json({"shift": [0.0, 0.0]}),
        lambda: Isometry.from_json([1]),
    ],
)
def test_what_is_no_isometry_is_refused(make):
    with pytest.raises(InvalidInput):
        make()


@given(clouds(smallest=5, deepest=-3.0), st.booleans())
@examples(25)
def test_alignment_recovers_an_isometry(drawn, reflects):
    k, points, f, rng = drawn
    f = random_isometry(rng, points.shape[1], k, 0.2, reflects)
    found = align(points, f.apply(points), curvature=k, reflect=reflects)
    assert found.misfit * np.sqrt(k) <= 1e-9
    spread = pairwise_distance(points, curvature=k).max() * np.sqrt(k)
    if spread > 0.1:
        assert np.abs(found.isometry.shift - f.shift).max() * np.sqrt(k) <= 1e-6


@given(clouds(smallest=1, deepest=-4.0), st.booleans(), st.floats(-3.0, 0.5))
@examples(10)
def test_misfit_never_increases(drawn, reflect, log_noise):
    k, points, f, rng = drawn
    weights = rng.random(len(points)) + 0.01
    target = noisy(f.apply(points), 10.0**log_noise, rng, k)
    found = align(points, target, weights, k, reflect)
    assert found.misfit <= found.before
    assert reflect or not found.isometry.reflects
    np.testing.assert_allclose(
        found.distances, distance(found.isometry.apply(points), target, k), rtol=1e-12
    )


def noisy(points, noise, rng, k):
    steps = np.tanh(noise * rng.standard_normal(points.shape) / 4.0) / np.sqrt(2.0 * k)
    return np.array([translation(p, k).apply(s) for p, s in zip(points, steps, strict=True)])


@pytest.mark.parametrize("noise", [0.05, 0.5, 1.5])
@pytest.mark.parametrize("seed", range(2))
def test_under_noise_a_dense_search_finds_nothing_better(noise, seed):
    rng = np.random.default_rng(seed)
    points = cloud(rng, 8, 2, 1.0, 0.02)
    target = noisy(random_isometry(rng, 2, 1.0, 0.3).apply(points), noise, rng, 1.0)
    found = align(points, target)

    x, y = (rows @ [1.0, 1.0j] for rows in (points, target))

    def misfit(parameters, mirrored):
        # in complex numbers: turned, then moved along a line through the origin
        length = np.hypot(*parameters[:2])
        shift = np.tanh(length / 2) * complex(*parameters[:2]) / (length or 1.0)
        turned = np.exp(1j * parameters[2]) * (x.conj() if mirrored else x)
        moved = (turned + shift) / (1 + np.conj(shift) * turned)
        apart = 2 * np.arctanh(np.abs((moved - y) / (1 - y.conj() * moved)))
        return np.sqrt((apart**2).mean())

    grid = [
        (misfit(np.array([a, b, angle]), mirrored), (a, b, angle), mirrored)
        for mirrored in (False, True)
        for a in np.linspace(-2.0, 2.0, 5)
        for b in np.linspace(-2.0, 2.0, 5)
        for angle in np.linspace(0.0, 2 * np.pi, 8, endpoint=False)
    ]
    best = min(
        minimize(misfit, start, (mirrored,), "Nelder-Mead", tol=1e-7).fun
        for _, start, mirrored in sorted(grid, key=lambda g: g[0])[:4]
    )
    assert found.misfit <= best + 1e-8
    assert found.misfit == pytest.approx(best, rel=1e-4)


@pytest.mark.parametrize("points", [[[0.3, 0.2]], [[0.3, 0.2]] * 4])
def test_one_point_is_moved_without_a_turn(points):
    target = np.tile([-0.1, 0.6], (len(points), 1))
    found = align(points, target)
    assert found.misfit < 1e-12
    straight = translation(target[0]) @ translation(-np.array(points[0]))
    np.testing.assert_allclose(found.isometry.turn, straight.turn, atol=1e-9)


def test_a_reflection_that_nothing_shows_is_not_made():
    line = np.array([[-0.5, 0.0], [0.1, 0.0], [0.7, 0.0]])
    f = translation([0.2, 0.3]) @ rotation(1.0) @ reflection()
    for pairs in (line, line[:2]):
        found = align(pairs, f.apply(pairs))
        assert found.misfit < 1e-12
        assert not found.isometry.reflects


def test_alignment_keeps_to_heavy_pairs():
    rng = np.random.default_rng(3)
    points = cloud(rng, 6, 2, 1.0, 0.1)
    f = random_isometry(rng, 2, 1.0)
    target = f.apply(points)
    target[0] = [0.0, 0.0]
    found = align(points, target, weights=[0, 1, 1, 1, 1, 1])
    assert found.misfit < 1e-10
    assert found.distances[0] > 0.1


@pytest.mark.parametrize("reflects", [True, False])
@given(seeds, curvatures)
@examples(20)
def test_classes_align_whatever_their_order_and_names(reflects, seed, k):
    rng = np.random.default_rng(seed)
    points, labels = cloud(rng, 200, 2, k, 0.01), rng.integers(0, 4, 200)
    f = random_isometry(rng, 2, k, 0.3, reflects)
    shuffled = rng.permutation(200)
    found = align_by_class(points, labels, f.apply(points)[shuffled], labels[shuffled], k)
    assert found.misfit * np.sqrt(k) < 1e-8
    assert found.isometry.reflects == reflects
    assert found.classes == (0, 1, 2, 3)


def test_only_shared_classes_count():
    x = np.array([[0.1, 0.2], [0.5, 0.0], [-0.3, 0.4], [0.0, -0.9]])
    y = rotation(1.0).apply(x)
    found = align_by_class(x, list("abcd"), y, list("abce"))
    assert found.classes == ("a", "b", "c")
    assert found.misfit < 1e-10
    with pytest.raises(InvalidInput, match="at least 3 classes to fix a reflection, but share 2"):
        align_by_class(x, list("abcd"), y, list("abef"))
    assert align_by_class(x, list("abcd"), y, list("abef"), reflect=False).misfit < 1e-10
    with pytest.raises(InvalidInput, match="share 0"):
        align_by_class(x, list("abcd"), y, list("efgh"))
    with pytest.raises(InvalidInput, match="target_labels must"):
        align_by_class(x, list("abcd"), y, list("ab"))


def test_pairs_must_be_pairs():
    with pytest.raises(InvalidInput, match="must be pairs"):
        align(np.zeros((3, 2)), np.zeros((4, 2)))
    with pytest.raises(InvalidInput, match="at least one"):
        align(np.zeros((0, 2)), np.zeros((0, 2)))
