"""What noise promises, against Google's accounting and against laws."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import examples

from fedhull.noise import cost_of, delta_of, epsilon_of, variance_for

epsilons = st.floats(0.05, 30.0)
deltas = st.floats(-30.0, -5.0).map(math.exp)


@pytest.mark.parametrize("delta", [1e-5, 1e-8])
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0, 10.0])
def test_a_promise_is_that_of_dp_accounting(epsilon, delta):
    dp = pytest.importorskip("dp_accounting")
    from dp_accounting.rdp import RdpAccountant

    accountant = RdpAccountant()
    accountant.compose(dp.GaussianDpEvent(math.sqrt(0.5 / cost_of(epsilon, delta))))
    # theirs knows a grid of orders only, and is never below the best of all
    assert epsilon <= accountant.get_epsilon(delta) * (1.0 + 1e-6) <= epsilon * 1.01


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 4.0])
def test_a_promise_is_never_more_than_the_gaussian_mechanism_keeps(epsilon):
    """Balle and Wang's exact δ of continuous noise, to which ours comes near from above."""
    from scipy.stats import norm

    mu = math.sqrt(2.0 * cost_of(epsilon, 1e-5))
    exact = norm.cdf(mu / 2 - epsilon / mu) - math.exp(epsilon) * norm.cdf(-mu / 2 - epsilon / mu)
    assert 1e-6 < exact <= 1e-5


@given(epsilons, deltas)
@examples(20)
def test_cost_and_promise_are_inverse(epsilon, delta):
    cost = cost_of(epsilon, delta)
    assert delta_of(cost, epsilon) <= delta * (1 + 1e-6)
    assert epsilon_of(cost, delta) == pytest.approx(epsilon, rel=1e-4)


@given(epsilons, deltas, st.floats(1.01, 3.0))
@examples(20)
def test_stronger_promises_cost_more_noise(epsilon, delta, times):
    assert cost_of(epsilon, delta) < cost_of(epsilon * times, delta)
    assert cost_of(epsilon, delta) < cost_of(epsilon, min(delta * times, 0.1))


@given(st.integers(1, 1 << 60), st.floats(1e-4, 10.0), st.integers(1, 50))
def test_parts_of_noise_are_together_what_is_needed(square, cost, parts):
    variance = variance_for(square, cost, parts)
    assert square / (2.0 * variance * parts) <= cost * (1 + 1e-12)


def test_nothing_released_promises_everything():
    assert epsilon_of(0.0, 1e-5) == 0.0
