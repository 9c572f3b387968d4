import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedhull.disc.maps import exp_map, parallel_transport
from fedhull.disc.models import poincare_to_hyperboloid
from fedhull_lab.autoencoder.loss import (
    boost,
    lay_out,
    log_density_of_vector,
    take_back,
)

CURVATURES = [0.3, 1.0, 2.5]
vectors = st.tuples(*[st.floats(-2, 2, width=32)] * 2).map(lambda v: np.array(v, np.float32))


def tangent(v: np.ndarray) -> np.ndarray:
    """The vector at the origin of the disc whose Riemannian length is ‖v‖."""
    return np.asarray(v, dtype=float) / 2


def space(points: np.ndarray, k: float) -> np.ndarray:
    return np.sqrt(k) * poincare_to_hyperboloid(points, k)[..., 1:]


def log_density(x, m, log_sigma, k=1.0):
    """At x, of the wrapped normal whose mean the tangent vector m leads to."""
    return log_density_of_vector(take_back(boost(x, -m, k), k), log_sigma, k)


@pytest.mark.parametrize("k", CURVATURES)
@pytest.mark.parametrize("log_sigma", [(-1.5, -1.5), (0.0, 0.0), (-1.0, 0.3)])
@pytest.mark.parametrize("mean", [(0.0, 0.0), (1.0, -0.5), (-2.0, 1.5)])
def test_density_integrates_to_one_over_the_disc(k, log_sigma, mean):
    step = 2 / 1000
    side = np.arange(-1 + step / 2, 1, step)
    x = np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2)
    gap = 1 - (x**2).sum(axis=1)
    x, gap = x[gap > 0] / np.sqrt(k), gap[gap > 0]
    area = (2 / gap) ** 2 * step**2 / k
    points = 2 * np.sqrt(k) * x / gap[:, None]
    densities = np.exp(log_density(jnp.asarray(points), jnp.array(mean), jnp.array(log_sigma), k))
    assert (densities * area).sum() == pytest.approx(1.0, abs=0.02)


@pytest.mark.parametrize("k", CURVATURES)
@given(m=vectors, v=vectors)
def test_boost_is_transport_and_exponential_map(k, m, v):
    origin = np.zeros(2)
    mean = exp_map(origin, tangent(m), k)
    there = exp_map(mean, parallel_transport(origin, mean, tangent(v), k), k)
    np.testing.assert_allclose(boost(lay_out(v, k), m, k), space(there, k), rtol=2e-3, atol=2e-3)


@given(m=vectors, v=vectors)
def test_boost_back_undoes_boost(m, v):
    np.testing.assert_allclose(boost(boost(v, m), -m), v, atol=2e-2)


@pytest.mark.parametrize("k", CURVATURES)
@given(v=vectors)
def test_take_back_undoes_lay_out(k, v):
    np.testing.assert_allclose(take_back(lay_out(v, k), k), v, atol=1e-4)


@given(m=vectors, v=vectors)
def test_a_samples_density_is_that_of_its_vector(m, v):
    log_sigma = jnp.array([-0.5, 0.2])
    at_point = log_density(boost(lay_out(v), m), m, log_sigma)
    np.testing.assert_allclose(at_point, log_density_of_vector(v, log_sigma), atol=2e-2)


@pytest.mark.parametrize("k", CURVATURES)
def test_flat_limit_is_the_normal_density(k):
    v = jnp.array([1e-3, -2e-3])
    normal = -0.5 * (v @ v) - jnp.log(2 * jnp.pi)
    assert log_density_of_vector(v, 0.0, k) == pytest.approx(float(normal), abs=1e-5)


@pytest.mark.parametrize("at", [0.0, 1e-6, 5.0])
def test_gradients_are_finite_at_the_origin_and_far_away(at):
    x = jnp.array([at, 0.0])
    for m in (jnp.zeros(2), jnp.array([3.0, 4.0])):
        for gradient in jax.grad(log_density, argnums=(0, 1, 2))(x, m, jnp.zeros(2)):
            assert jnp.isfinite(gradient).all()
