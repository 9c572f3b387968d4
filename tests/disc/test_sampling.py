"""Uniform means uniform by hyperbolic area."""

import numpy as np
import pytest
from scipy import stats

import fedhull
from fedhull.errors import InvalidInput


@pytest.mark.parametrize("curvature", [1.0, 0.25, 30.0])
@pytest.mark.parametrize("share", [0.3, 0.95, 0.9999, 1 - 1e-12])
def test_area_law(curvature, share):
    radius = share / np.sqrt(curvature)
    x = fedhull.sample_uniform(20_000, radius, curvature, seed=0)
    polar = fedhull.poincare_to_polar(x, curvature)
    s = 1 / np.sqrt(curvature)
    whole = fedhull.poincare_to_polar([radius, 0.0], curvature)[0]
    # A(r) = 4πs²·sinh²(r/2s) (App. C): the share of the area inside a point's circle is uniform
    inside = np.sinh(polar[:, 0] / (2 * s)) ** 2 / np.sinh(whole / (2 * s)) ** 2
    assert stats.kstest(inside, "uniform").pvalue > 1e-3
    assert stats.kstest(polar[:, 1] / (2 * np.pi), "uniform").pvalue > 1e-3
    assert np.hypot(*x.T).max() <= radius * (1 + 1e-15)


def test_same_seed_same_points():
    a, b = (fedhull.sample_uniform(10, 0.9, seed=7) for _ in range(2))
    assert a.tolist() == b.tolist()
    rng = np.random.default_rng(7)
    assert fedhull.sample_uniform(10, 0.9, seed=rng).tolist() == a.tolist()
    assert fedhull.sample_uniform(10, 0.9, seed=rng).tolist() != a.tolist()


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: fedhull.sample_uniform(-1, 0.9), "n must be a whole number of at least 0, got -1"),
        (lambda: fedhull.sample_uniform(3, 1.5), "radius must be below"),
        (lambda: fedhull.sample_uniform(3, 0.5, seed="x"), "seed must be"),
        (lambda: fedhull.sample_uniform(3, 0.5, seed=-1), "seed must not be negative"),
    ],
)
def test_bad_input_is_refused_in_a_sentence(call, words):
    with pytest.raises(InvalidInput, match=words):
        call()
