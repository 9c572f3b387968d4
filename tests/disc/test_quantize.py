"""Bins: numbered as the paper says, ε wide at most, and defined on every edge."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import curvatures, examples, seeds

import fedhull
from fedhull import EqualAreaQuantizer, Quantizer
from fedhull.errors import InvalidInput, OutsideRadius, TooManyBins

log_epsilons = st.floats(-3, 1)
# R as a share of the disc's radius
shares = st.one_of(st.floats(0.05, 0.99), st.sampled_from([0.999, 1 - 1e-6, 1 - 1e-8]))


@st.composite
def quantizers(draw):
    curvature = draw(curvatures)
    radius = draw(shares) / math.sqrt(curvature)
    if draw(st.booleans()):
        return Quantizer(10.0 ** draw(log_epsilons) / math.sqrt(curvature), radius, curvature)
    return EqualAreaQuantizer(
        draw(st.integers(1, 10**6)), draw(st.integers(1, 10**4)), radius, curvature
    )


@st.composite
def epsilon_quantizers(draw):
    curvature = draw(curvatures)
    radius = draw(shares) / math.sqrt(curvature)
    return Quantizer(10.0 ** draw(log_epsilons) / math.sqrt(curvature), radius, curvature)


@given(epsilon_quantizers(), seeds)
@examples(200)
def test_definition_2_two_points_of_a_bin_are_within_epsilon(quantizer, seed):
    rng = np.random.default_rng(seed)
    x = fedhull.sample_uniform(400, quantizer.radius, quantizer.curvature, rng)
    centres = quantizer.decode(quantizer.encode(x))
    # neighbours of x at all scales up to ε: many share its bin
    step = quantizer.epsilon * rng.random(400) * np.sqrt(quantizer.curvature) / 2
    angle = 2 * np.pi * rng.random(400)
    moves = np.tanh(step / 2)[:, None] * np.column_stack((np.cos(angle), np.sin(angle)))
    y = fedhull.mobius_add(centres, moves / np.sqrt(quantizer.curvature), quantizer.curvature)
    y = y[np.hypot(*y.T) <= quantizer.radius]
    points = np.concatenate((x, y, centres))
    bins = quantizer.encode(points)
    order = np.argsort(bins, kind="stable")
    same = np.flatnonzero(np.diff(bins[order]) == 0)
    apart = fedhull.distance(points[order[same]], points[order[same + 1]], quantizer.curvature)
    assert len(same) >= 400
    assert (apart <= quantizer.epsilon * (1 + 1e-6)).all()


@given(epsilon_quantizers())
def test_opposite_corners_of_the_outermost_bin_are_within_epsilon(quantizer):
    # the largest bin: its inner clockwise and outer counter-clockwise corner, from eq. 7-8
    k = quantizer.curvature
    outer = fedhull.poincare_to_polar([quantizer.radius, 0.0], k)[0]
    inner = outer * (1 - 1 / quantizer.n_rings)
    corners = fedhull.polar_to_poincare([[inner, 0.0], [outer, 2 * np.pi / quantizer.n_angles]], k)
    assert fedhull.distance(*corners, k) <= quantizer.epsilon * (1 + 1e-6)


@given(quantizers(), seeds)
@examples(200)
def test_encode_inverts_decode(quantizer, seed):
    rng = np.random.default_rng(seed)
    bins = np.append(rng.integers(1, quantizer.n_bins + 1, 300), [1, quantizer.n_bins])
    assert quantizer.encode(quantizer.decode(bins)).tolist() == bins.tolist()


@given(quantizers(), seeds)
def test_bins_count_from_the_innermost_ring_counter_clockwise(quantizer, seed):
    x = fedhull.sample_uniform(200, quantizer.radius, quantizer.curvature, seed)
    bins = quantizer.encode(x)
    rings, sectors = quantizer.ring_and_sector(bins)
    assert bins.min() >= 1
    assert bins.max() <= quantizer.n_bins == quantizer.n_rings * quantizer.n_angles
    assert ((rings - 1) * quantizer.n_angles + sectors == bins).all()
    polar = fedhull.poincare_to_polar(x, quantizer.curvature)
    assert (np.diff(rings[np.argsort(polar[:, 0])]) >= 0).all()
    assert (np.diff(sectors[np.argsort(polar[:, 1])]) >= 0).all()


def test_the_papers_counts():
    # eq. 6: R_H = ln(1.95/0.05); eq. 7: Cir = 2π·sinh(R_H); twice each over ε
    hyperbolic = math.log(1.95 / 0.05)
    quantizer = Quantizer(0.01, 0.95)
    assert quantizer.n_rings == math.ceil(2 * hyperbolic / 0.01)
    assert quantizer.n_angles == math.ceil(4 * math.pi * math.sinh(hyperbolic) / 0.01)


@given(epsilon_quantizers(), seeds)
def test_centres_halve_the_bin_in_radius_and_angle(quantizer, seed):
    bins = np.random.default_rng(seed).integers(1, quantizer.n_bins + 1, 100)
    rings, sectors = quantizer.ring_and_sector(bins)
    polar = fedhull.poincare_to_polar(quantizer.decode(bins), quantizer.curvature)
    whole = fedhull.poincare_to_polar([quantizer.radius, 0.0], quantizer.curvature)[0]
    tolerance = 0.1 / quantizer.n_rings * whole
    np.testing.assert_allclose(
        polar[:, 0], (rings - 0.5) / quantizer.n_rings * whole, atol=tolerance
    )
    np.testing.assert_allclose(polar[:, 1], (sectors - 0.5) * 2 * np.pi / quantizer.n_angles)


@pytest.mark.parametrize("curvature", [1.0, 0.3])
def test_equal_area_bins_catch_equal_shares_of_uniform_points(curvature):
    quantizer = EqualAreaQuantizer(8, 5, 0.95 / curvature**0.5, curvature)
    x = fedhull.sample_uniform(400_000, quantizer.radius, curvature, seed=0)
    counts = np.bincount(quantizer.encode(x), minlength=41)[1:]
    # 40 bins of 10,000 expected: five standard deviations are 5 %
    assert counts.shape == (40,)
    assert np.abs(counts / 10_000 - 1).max() < 0.05


@pytest.mark.parametrize(
    "quantizer", [Quantizer(0.1, 0.9), EqualAreaQuantizer(360, 100, 0.9)], ids=["epsilon", "area"]
)
class TestEdges:
    def test_the_origin_is_in_the_first_bin(self, quantizer):
        assert quantizer.encode([[0.0, 0.0], [0.0, -0.0]]).tolist() == [1, 1]

    def test_the_circle_of_radius_r_is_in_the_last_ring(self, quantizer):
        angles = np.linspace(0, 2 * np.pi, 1000)
        rim = 0.9 * np.column_stack((np.cos(angles), np.sin(angles)))
        assert set(quantizer.ring_and_sector(quantizer.encode(rim))[0]) == {quantizer.n_rings}

    def test_just_below_a_full_turn_is_the_last_sector(self, quantizer):
        points = [[0.5, -1e-3], [0.5, -1e-20], [0.5, -5e-324], [0.5, 0.0], [0.5, -0.0]]
        sectors = quantizer.ring_and_sector(quantizer.encode(points))[1]
        assert sectors.tolist() == [quantizer.n_angles] * 3 + [1, 1]

    def test_an_edge_belongs_to_the_bin_outside_and_counter_clockwise_of_it(self, quantizer):
        # sector edge at exactly 0, ring edge just at and just below the computed radius
        _, sectors = quantizer.ring_and_sector(quantizer.encode([[0.4, 0.0], [0.4, 1e-9]]))
        assert sectors.tolist() == [1, 1]
        low, high = 0.0, 0.9
        while (middle := (low + high) / 2) not in (low, high):
            ring = quantizer.ring_and_sector(quantizer.encode([middle, 0.0]))[0]
            low, high = (low, middle) if ring > 7 else (middle, high)
        rings = quantizer.ring_and_sector(quantizer.encode([[low, 0.0], [high, 0.0]]))[0]
        assert rings.tolist() == [7, 8]

    def test_outside_r_is_an_error_that_names_the_row(self, quantizer):
        with pytest.raises(OutsideRadius, match=r"row 1 has norm 0\.91.*larger radius"):
            quantizer.encode([[0.5, 0.0], [0.0, 0.91], [0.95, 0.0]])

    def test_what_is_no_bin_is_refused(self, quantizer):
        for wrong in (0, quantizer.n_bins + 1, -3):
            with pytest.raises(InvalidInput, match=f"between 1 and .*, got {wrong}"):
                quantizer.decode([1, wrong])
        with pytest.raises(InvalidInput, match="whole numbers"):
            quantizer.decode([1.5])

    def test_shapes_are_kept(self, quantizer):
        assert quantizer.encode([0.1, 0.2]).shape == ()
        assert quantizer.encode(np.zeros((4, 3, 2))).shape == (4, 3)
        assert quantizer.encode(np.zeros((0, 2))).shape == (0,)
        assert quantizer.decode(1).shape == (2,)
        assert quantizer.decode(np.ones((4, 3), dtype=int)).shape == (4, 3, 2)


def test_more_bins_than_32_bits_are_numbered_exactly():
    quantizer = Quantizer(1e-6, 0.99)
    assert isinstance(quantizer.n_bins, int)
    assert 2**50 < quantizer.n_bins < 2**62
    last = quantizer.encode(quantizer.decode(quantizer.n_bins))
    assert last.dtype == np.int64
    assert int(last) == quantizer.n_bins


def test_absurdly_small_bins_are_refused_too():
    for call in (
        lambda: Quantizer(1e-308, 0.9),
        lambda: EqualAreaQuantizer(10**200, 10**200, 0.9),
        lambda: EqualAreaQuantizer(8, 10**6, 1 - 1e-12),
    ):
        with pytest.raises(TooManyBins):
            call()


def test_the_slack_at_r_does_not_reach_beyond_the_disc():
    for quantizer in (EqualAreaQuantizer(4, 1, 1 - 2**-53), EqualAreaQuantizer(4, 2, 0.9)):
        with pytest.raises(OutsideRadius):
            quantizer.encode([[1.0, 0.0]])


@pytest.mark.parametrize(("epsilon", "radius"), [(1e-9, 0.95), (1e-3, 1 - 1e-13), (0.1, 1 - 1e-15)])
def test_too_many_bins_are_refused_with_an_epsilon_that_works(epsilon, radius):
    with pytest.raises(TooManyBins, match="2\\^62") as caught:
        Quantizer(epsilon, radius)
    suggested = float(str(caught.value).split("≥ ")[1].split(" ")[0])
    assert Quantizer(suggested, radius).n_bins <= 2**62


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: Quantizer(-1, 0.9), "epsilon must be a number > 0, got -1; try 0.01"),
        (lambda: Quantizer(float("nan"), 0.9), "epsilon"),
        (lambda: Quantizer("x", 0.9), "epsilon must be a number > 0, got 'x'"),
        (lambda: Quantizer(0.1, 1.0), "radius must be below the disc's own, 1/√k = 1, got 1.0"),
        (lambda: Quantizer(0.1, 0.9, 4.0), "1/√k = 0.5, got 0.9"),
        (lambda: EqualAreaQuantizer(0, 3, 0.9), "n_angles must be a whole number of at least 1"),
        (lambda: EqualAreaQuantizer(3, 2.5, 0.9), "n_rings must be a whole number"),
        (lambda: EqualAreaQuantizer(2**40, 2**40, 0.9), "make too many bins"),
        (lambda: Quantizer(0.1, 0.9).encode([0.1, 0.2, 0.3]), r"shape \(\.\.\., 2\)"),
        (lambda: Quantizer(0.1, 0.9).encode([[np.nan, 0.2]]), "row 0 holds NaN"),
    ],
)
def test_bad_input_is_refused_in_a_sentence(call, words):
    with pytest.raises(InvalidInput, match=words):
        call()
