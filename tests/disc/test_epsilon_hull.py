"""The ε-minimal hull is what leaves a site; its size is the leakage that is reported."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracles import brute_force_hull
from strategies import seeds

import fedhull
from fedhull.errors import InvalidInput, OutsideRadius


@given(seeds, st.sampled_from([0.01, 0.1, 1.0, 3.0]), st.integers(1, 60))
def test_epsilon_hull_is_hull_then_quantize_then_hull(seed, epsilon, n):
    points = fedhull.sample_uniform(n, 0.9, seed=seed)
    quantizer = fedhull.Quantizer(epsilon, 0.9)
    bins = np.unique(quantizer.encode(points[brute_force_hull(points, 1.0)]))
    expected = bins[brute_force_hull(quantizer.decode(bins), 1.0)]
    assert fedhull.epsilon_hull(points, quantizer).tolist() == expected.tolist()
    assert fedhull.hull_complexity(points, quantizer) == len(expected)


@given(seeds, st.sampled_from([0.01, 0.1, 1.0]))
def test_every_sent_centre_is_within_epsilon_of_a_corner(seed, epsilon):
    points = fedhull.sample_uniform(500, 0.9, seed=seed)
    quantizer = fedhull.Quantizer(epsilon, 0.9)
    sent = quantizer.decode(fedhull.epsilon_hull(points, quantizer))
    corners = points[fedhull.minimal_hull(points)]
    assert fedhull.pairwise_distance(sent, corners).min(axis=1).max() <= epsilon


def test_an_outsider_is_named_by_its_own_row():
    points = np.vstack((fedhull.sample_uniform(200, 0.9, seed=0), [[0.99, 0.0]]))
    with pytest.raises(OutsideRadius, match=r"row 200 has norm 0\.99"):
        fedhull.epsilon_hull(points, fedhull.Quantizer(0.1, 0.95))
    with pytest.raises(InvalidInput, match="quantizer must be a Quantizer"):
        fedhull.epsilon_hull(points, 0.1)


def test_coarse_bins_leak_fewer_points():
    points = fedhull.sample_uniform(20_000, 0.95, seed=0)
    sizes = [
        fedhull.hull_complexity(points, fedhull.Quantizer(epsilon, 0.95))
        for epsilon in (0.001, 0.1, 1.0, 4.0)
    ]
    assert sizes[0] > sizes[1] > sizes[2] > sizes[3]
