"""Discrete Gaussian noise has the distribution it says, to the last digit that can be tested."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mpmath import mp, mpf
from scipy.stats import chisquare, ks_2samp

import fedhull.noise as gaussian
from fedhull.noise import discrete_gaussian

KEY = bytes(range(32))


@pytest.mark.parametrize("variance", [1, 3, 64, 1000])
def test_every_number_has_its_probability(variance):
    noise = discrete_gaussian(variance, 200_000, KEY)
    width = math.isqrt(variance) * 3
    ys = np.arange(-width, width + 1)
    likely = np.exp(-np.square(ys) / (2.0 * variance))
    far = np.arange(-20 * width, 20 * width + 1)
    likely /= np.exp(-np.square(far.astype(float)) / (2.0 * variance)).sum()
    seen = np.array([(noise == y).sum() for y in ys])
    seen = np.append(seen, len(noise) - seen.sum())
    expected = np.append(likely, 1.0 - likely.sum()) * len(noise)
    assert chisquare(seen, expected).pvalue > 1e-4


@pytest.mark.parametrize("variance", [64, 10_000])
def test_the_distribution_is_opendps(variance):
    dp = pytest.importorskip("opendp.prelude")
    dp.enable_features("contrib")
    domain = dp.vector_domain(dp.atom_domain(T="i64"))
    release = dp.m.make_gaussian(domain, dp.l2_distance(T=float), math.sqrt(variance))
    n = 20_000
    theirs = np.array(release([0] * n))
    assert ks_2samp(discrete_gaussian(variance, n, KEY), theirs).pvalue > 1e-4


def test_wide_noise_has_its_moments():
    variance = (1 << 80) + 12_345
    noise = discrete_gaussian(variance, 100_000, KEY) / math.sqrt(variance)
    assert abs(noise.mean()) < 5 / math.sqrt(len(noise))
    assert abs(noise.var() - 1.0) < 5 * math.sqrt(2 / len(noise))
    assert abs((noise**4).mean() - 3.0) < 5 * math.sqrt(96 / len(noise))


@given(st.binary(min_size=32, max_size=32), st.integers(1, 50), st.integers(1, 1 << 90))
def test_a_key_gives_the_same_noise_again_and_none_beyond_its_tails(key, size, variance):
    noise = discrete_gaussian(variance, size, key)
    assert noise.shape == (size,)
    assert (noise == discrete_gaussian(variance, size, key)).all()
    assert (np.abs(noise) <= 16 * (math.isqrt(variance) + 1)).all()


def test_other_keys_give_other_noise():
    one, other = (discrete_gaussian(1 << 40, 100, bytes([i]) * 32) for i in range(2))
    assert not (one == other).any()


@given(st.integers(-30, 30), st.integers(0, 2**64 - 1), st.sampled_from([1, 4, 50]))
def test_a_float_that_decides_decides_as_ball_arithmetic_does(y, word, variance):
    with mp.workdps(60):
        likely = mp.exp(-(mpf(y) ** 2) / (2 * variance))
        below = mpf(word + 1) / 2**64 <= likely
        above = mpf(word) / 2**64 >= likely
    taken = gaussian._accepted(np.array([y]), variance, np.array([word], dtype=np.uint64), KEY)[0]
    assert taken or not below
    assert not (taken and above)


@pytest.mark.parametrize("off", [-1, 0, 1])
def test_what_a_float_cannot_decide_more_digits_do(off, monkeypatch):
    """The 64 bits around exp(−½) themselves: those below are taken, those above are not."""
    asked = []
    decide = gaussian._is_below
    monkeypatch.setattr(gaussian, "_is_below", lambda *args: asked.append(args) or decide(*args))
    with mp.workdps(60):
        word = int(mp.floor(mp.exp(mpf(-1) / 2) * 2**64)) + off
    taken = gaussian._accepted(np.array([1]), 1, np.array([word], dtype=np.uint64), KEY)
    assert len(asked) == 1
    assert off == 0 or bool(taken[0]) == (off < 0)
