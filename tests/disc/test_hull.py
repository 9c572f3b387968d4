"""The minimal hull: both implementations against each other and against exact rationals."""

import numpy as np
import pytest
from hypothesis import given
from oracles import brute_force_hull
from scipy.spatial import ConvexHull
from strategies import adversarial_discs, curvatures, examples, seeds

import fedhull
from fedhull.disc import hull as hull_module
from fedhull.disc.scan import chain_hull
from fedhull.disc.sieve import build_sieve, survivors
from fedhull.errors import InvalidInput, OutsideDisc


@given(adversarial_discs())
@examples(600)
def test_fast_path_graham_and_exact_brute_force_agree(drawn):
    curvature, points = drawn
    truth = brute_force_hull(points, curvature)
    assert fedhull.minimal_hull(points, curvature).tolist() == truth
    assert fedhull.minimal_hull(points, curvature, method="graham").tolist() == truth


@given(adversarial_discs(largest=80))
@examples(300)
def test_sieve_drops_no_corner(drawn):
    curvature, points = drawn
    sieve = build_sieve(points[chain_hull(points[::2], curvature) * 2], curvature)
    if sieve is not None:
        kept = survivors(points, sieve, curvature)
        assert set(brute_force_hull(points, curvature)) <= set(kept.tolist())


@given(adversarial_discs(largest=400))
@examples(100)
def test_sieve_and_scan_agree_with_the_scan_alone(drawn):
    curvature, points = drawn
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(hull_module, "_SIEVE_FROM", 32)
        patch.setattr(hull_module, "_SAMPLE_BLOCK", 4)
        patch.setattr(hull_module, "_SAMPLE_SHARE", 4)
        sieved = fedhull.minimal_hull(points, curvature)
    assert sieved.tolist() == chain_hull(points, curvature).tolist()


@pytest.mark.parametrize("curvature", [1.0, 0.3])
def test_large_sets_match_graham_and_qhull(curvature):
    points = fedhull.sample_uniform(30_000, 0.95 / curvature**0.5, curvature, seed=1)
    fast = fedhull.minimal_hull(points, curvature)
    assert fast.tolist() == fedhull.minimal_hull(points, curvature, method="graham").tolist()
    qhull = ConvexHull(fedhull.poincare_to_klein(points, curvature)).vertices
    assert set(fast.tolist()) == set(qhull.tolist())


@given(seeds, curvatures)
@examples(30)
def test_off_centre_and_elongated_sets_match_qhull(seed, curvature):
    rng = np.random.default_rng(seed)
    blob = rng.standard_normal((8000, 2)) * [0.05, 10.0 ** rng.uniform(-5, -1)]
    centre = rng.uniform(-0.5, 0.5, 2)
    points = fedhull.mobius_add(centre, np.clip(blob, -0.6, 0.6)) / np.sqrt(curvature)
    qhull = ConvexHull(fedhull.poincare_to_klein(points, curvature)).vertices
    assert set(fedhull.minimal_hull(points, curvature).tolist()) == set(qhull.tolist())


def test_thousands_of_equal_points_are_one_corner():
    points = np.tile([[0.3, 0.4]], (50_000, 1))
    assert fedhull.minimal_hull(points).tolist() == [0]


def test_equal_points_are_represented_by_the_first():
    points = np.array([[0.0, 0.0], [0.5, 0.5], [0.5, 0.0]])[[1, 1, 0, 2, 0, 2] * 2000]
    assert fedhull.minimal_hull(points).tolist() == [0, 2, 3]


def test_points_that_scaling_would_merge_stay_apart():
    for points, curvature in [
        ([[1e-290, 0], [0, 1e-290], [-1e-290, -1e-290]], 1e-100),
        ([[5e-324, 0], [0, 0], [0, 5e-324]], 0.25),
    ]:
        fast = fedhull.minimal_hull(points, curvature).tolist()
        assert fast == fedhull.minimal_hull(points, curvature, method="graham").tolist()
        assert len(fast) == 3


def test_a_pair_of_close_corners_or_a_tight_cluster_does_not_switch_the_sieve_off():
    points = fedhull.sample_uniform(20_000, 0.95, seed=0)
    points[:2] = [[0.9499999, 0.0], [0.9499999, 1e-9]]
    cluster = 0.5 + 1e-9 * np.random.default_rng(0).random((20_000, 2))
    for crowd in (points, cluster):
        corners = crowd[fedhull.minimal_hull(crowd)]
        kept = hull_module.survivors_of_sieve(crowd, corners, 1.0)
        assert len(corners) <= len(kept) < 2000


def test_masked_points_are_refused():
    masked = np.ma.masked_array([[0.1, 0.2], [0.3, 0.4]], mask=[[0, 0], [1, 1]])
    with pytest.raises(InvalidInput, match="masked array"):
        fedhull.minimal_hull(masked)


def test_signed_zeros_are_the_same_point():
    assert fedhull.minimal_hull([[0.0, 0.5], [-0.0, 0.5], [0.0, -0.0]]).tolist() == [0, 2]


def test_points_between_two_others_are_no_corners():
    # 20,000 points on one diameter
    points = np.outer(np.arange(-10_000, 10_001) / 16384.0, [1.0, 0.5])
    assert fedhull.minimal_hull(points).tolist() == [0, 20_000]


def test_order_is_counter_clockwise_from_the_farthest_point():
    points = np.array([[0.1, 0.1], [0.0, 0.9], [-0.5, 0.0], [0.5, 0.0], [0.0, -0.5]])
    assert fedhull.minimal_hull(points).tolist() == [1, 2, 4, 3]


@given(adversarial_discs())
def test_hull_of_the_hull_is_the_hull(drawn):
    curvature, points = drawn
    corners = fedhull.minimal_hull(points, curvature)
    assert fedhull.minimal_hull(points[corners], curvature).tolist() == list(range(len(corners)))


def test_points_closer_to_the_rim_than_their_square_can_tell_are_accepted():
    for dimension in (2, 3):
        inside = (1.0 - 2.0**-53) * np.eye(dimension + 1)[:, :dimension]
        assert fedhull.minimal_hull(inside).tolist() == list(range(dimension + 1))
        with pytest.raises(OutsideDisc, match="row 0"):
            fedhull.minimal_hull(np.eye(dimension))


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: fedhull.minimal_hull([[0.0, 0.0], [1.0, 0.0]]), OutsideDisc, "row 1 has norm 1"),
        (lambda: fedhull.minimal_hull([[3.0, 0.0]], 0.25), OutsideDisc, "radius 1/√k = 2"),
        (lambda: fedhull.minimal_hull([[0.0, np.nan]]), InvalidInput, "row 0 holds NaN"),
        (lambda: fedhull.minimal_hull([[0.0, 0.0], [np.inf, 0]]), InvalidInput, "row 1 holds NaN"),
        (lambda: fedhull.minimal_hull(np.empty((0, 2))), InvalidInput, "at least one point"),
        (lambda: fedhull.minimal_hull([0.1, 0.2]), InvalidInput, r"shape \(n, d\)"),
        (lambda: fedhull.minimal_hull([["a", "b"]]), InvalidInput, "array of numbers"),
        (lambda: fedhull.minimal_hull([[0.1, 0.2]], method="x"), InvalidInput, "got 'x'"),
        (lambda: fedhull.minimal_hull([[0.1] * 3], method="graham"), InvalidInput, "3 coord"),
        (lambda: fedhull.minimal_hull([[0.1, 0.2]], curvature=0), InvalidInput, "curvature"),
    ],
)
def test_bad_input_is_refused_in_a_sentence(call, error, words):
    with pytest.raises(error, match=words):
        call()
