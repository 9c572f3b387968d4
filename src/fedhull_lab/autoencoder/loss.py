"""The autoencoder's loss, and one step of Adam on it, in JAX.

The loss of a cell is −log p(cell | z) + β·(log q(z | cell) − log p(z)) with one sample z of the
wrapped normal q that the encoder gives; the prior p is the wrapped normal with σ = 1 at the origin
(Mathieu et al. 2019, Skopek et al. 2020). Nothing here is static but the shapes, so that one
compiled step serves the whole training.
"""

from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optax
from jax import Array
from jax.typing import ArrayLike

from fedhull_lab.autoencoder.network import FARTHEST

_TINY = 1e-12  # under the root, so that lengths have a gradient at zero
_LOG_SIGMA = (-7.0, 2.0)
_LOG_DISPERSION = (-6.0, 6.0)
_LARGEST_GRADIENT = 100.0
ADAM = optax.chain(optax.clip_by_global_norm(_LARGEST_GRADIENT), optax.scale_by_adam())


def length(v: ArrayLike) -> Array:
    """‖v‖, shape (..., 1), with a finite gradient everywhere.

    >>> print(length(jnp.array([3.0, 4.0])))
    [5.]
    """
    return jnp.sqrt(jnp.sum(jnp.square(v), axis=-1, keepdims=True) + _TINY)


def lay_out(v: Array, k: ArrayLike = 1.0) -> Array:
    """The point that the tangent vector v at the origin leads to: sinh(√k‖v‖)·v/‖v‖.

    >>> print(lay_out(jnp.array([jnp.log(2.0), 0.0])).round(4))
    [0.75 0.  ]
    """
    r = length(v)
    return jnp.sinh(jnp.sqrt(k) * r) * v / r


def take_back(x: Array, k: ArrayLike = 1.0) -> Array:
    """The tangent vector at the origin that leads to x, the inverse of `lay_out`.

    >>> print(take_back(lay_out(jnp.array([0.5, -2.0]))).round(3))
    [ 0.5 -2. ]
    """
    r = length(x)
    return jnp.arcsinh(r) / jnp.sqrt(k) * x / r


def boost(x: Array, m: Array, k: ArrayLike = 1.0) -> Array:
    """x moved as the origin is moved along its tangent vector m, with e = m/‖m‖, ρ = √k‖m‖:

        x + ((cosh ρ − 1)·⟨x,e⟩ + sinh ρ·X₀)·e.

    >>> there = boost(jnp.array([0.3, 0.4]), jnp.array([1.0, 2.0]))
    >>> print(boost(there, -jnp.array([1.0, 2.0])).round(3))
    [0.3 0.4]
    """
    e, rho = m / length(m), jnp.sqrt(k) * length(m)
    along = jnp.sum(x * e, axis=-1, keepdims=True)
    time = jnp.sqrt(1.0 + jnp.sum(jnp.square(x), axis=-1, keepdims=True))
    return x + ((jnp.cosh(rho) - 1.0) * along + jnp.sinh(rho) * time) * e


def log_density_of_vector(v: Array, log_sigma: ArrayLike, k: ArrayLike = 1.0) -> Array:
    """log density, by hyperbolic volume, of the point that the normal vector v leads to; (...).

    A normal density, less the growth of volume with distance r = ‖v‖ (Nagano et al., eq. 12):

        Σᵢ log N(vᵢ; 0, σᵢ²)  −  (d−1)·log( sinh(√k·r) / (√k·r) ).

    >>> print(log_density_of_vector(jnp.array([1.0, 0.0]), 0.0).round(3))
    -2.499
    """
    d = v.shape[-1]
    log_sigma = jnp.broadcast_to(jnp.asarray(log_sigma), v.shape)
    normal = -0.5 * jnp.square(v * jnp.exp(-log_sigma)) - log_sigma - 0.5 * jnp.log(2.0 * jnp.pi)
    return jnp.sum(normal, axis=-1) - (d - 1) * _log_sinhc(jnp.sqrt(k) * length(v))[..., 0]


def _log_sinhc(r: Array) -> Array:
    """log(sinh r / r) without overflow; a series where the closed form would cancel."""
    far = jnp.maximum(r, 0.1)
    closed = far + jnp.log1p(-jnp.exp(-2.0 * far)) - jnp.log(2.0 * far)
    return jnp.where(r < 0.1, jnp.square(r) / 6.0 - jnp.square(jnp.square(r)) / 180.0, closed)


Parameters = dict[str, Array]


class Batch(NamedTuple):
    """Some cells: features for the encoder; targets for the decoder, which are counts if there are
    totals, and scaled features otherwise; labels, or none."""

    features: ArrayLike
    targets: ArrayLike
    totals: ArrayLike | None = None
    labels: ArrayLike | None = None


class Plan(NamedTuple):
    """Numbers that change from step to step or from study to study; none is compiled in."""

    rate: ArrayLike
    kl_weight: ArrayLike
    label_weight: ArrayLike
    curvature: ArrayLike


@partial(jax.jit, donate_argnums=(0, 1))
def step(
    weights: Parameters, moments: optax.OptState, noise: ArrayLike, batch: Batch, plan: Plan
) -> tuple[Parameters, optax.OptState, Array]:
    """Weights and Adam's moments after one step on a batch, and the loss before it."""
    value, gradient = jax.value_and_grad(loss)(weights, noise, batch, plan)
    change, moments = ADAM.update(gradient, moments)
    return {name: w - plan.rate * change[name] for name, w in weights.items()}, moments, value


def loss(weights: Parameters, noise: ArrayLike, batch: Batch, plan: Plan) -> Array:
    """The mean over the batch's cells of −log p(cell|z) + β·KL + weight·cross-entropy, shape ().

    noise : (n, 2), standard normal, makes the sample z.
    """
    k = jnp.exp(weights["log_curvature"]) if "log_curvature" in weights else plan.curvature
    mean, log_sigma = encode(weights, batch.features, k)
    vector = jnp.exp(log_sigma) * noise
    z = take_back(boost(lay_out(vector, k), mean, k), k)
    divergence = log_density_of_vector(vector, log_sigma, k) - log_density_of_vector(z, 0.0, k)
    total = plan.kl_weight * divergence - log_likelihood(weights, jnp.sqrt(k) * z, batch)
    if batch.labels is not None:
        total = total + plan.label_weight * _cross_entropy(weights, lay_out(mean, k), batch.labels)
    return jnp.mean(total)


def encode(weights: Parameters, features: ArrayLike, k: ArrayLike = 1.0) -> tuple[Array, Array]:
    """The posterior's mean, as a tangent vector at the origin, and its log σ, both (n, 2)."""
    hidden = jax.nn.relu(features @ weights["encoder_hidden"] + weights["encoder_hidden_bias"])
    t = hidden @ weights["encoder_mean"] + weights["encoder_mean_bias"]
    r = length(t)
    log_sigma = hidden @ weights["encoder_log_sigma"] + weights["encoder_log_sigma_bias"]
    mean = FARTHEST * jnp.tanh(r / FARTHEST) / jnp.sqrt(k) * t / r
    return mean, jnp.clip(log_sigma, *_LOG_SIGMA)


def log_likelihood(weights: Parameters, z: Array, batch: Batch) -> Array:
    """log p(cell | z), (n,), up to a constant; z is its log map at the origin, times √k."""
    hidden = jax.nn.relu(z @ weights["decoder_hidden"] + weights["decoder_hidden_bias"])
    output = hidden @ weights["decoder_output"] + weights["decoder_output_bias"]
    if batch.totals is None:
        return gaussian(batch.targets, output, weights["log_dispersion"])
    return negative_binomial(batch.targets, batch.totals, output, weights["log_dispersion"])


def gaussian(x: ArrayLike, mean: Array, log_variance: Array) -> Array:
    """Σ log N(x; mean, variance) up to a constant, (n,), with a variance for each gene."""
    # a gene that is always the same must not pull everything else along with it
    log_variance = jnp.clip(log_variance, -4.0, 2.0)
    return -0.5 * jnp.sum(jnp.square(x - mean) * jnp.exp(-log_variance) + log_variance, axis=-1)


def negative_binomial(x: ArrayLike, totals: ArrayLike, logits: Array, log_theta: Array) -> Array:
    """Σ log NB(x; μ, θ) up to −log x!, (n,), with μ = total·softmax(logits) and θ for each gene:

    log Γ(x+θ) − log Γ(θ) + x·log(μ/θ) − (x+θ)·log(1+μ/θ).
    """
    x, log_theta = jnp.asarray(x), jnp.clip(log_theta, *_LOG_DISPERSION)
    theta = jnp.exp(log_theta)
    # in cells that have none of their counts in any gene, μ is tiny and not zero
    log_ratio = jnp.log(totals + 1e-6)[:, None] + jax.nn.log_softmax(logits) - log_theta
    gammas = _log_gamma(x + theta) - _log_gamma(theta)
    terms = gammas + x * log_ratio - (x + theta) * jnp.logaddexp(log_ratio, 0.0)
    return jnp.sum(terms, axis=-1)


def _log_gamma(z: Array) -> Array:
    """log Γ(z), by Stirling's series at z+3; its gradient needs no digamma function."""
    far = z + 3.0
    series = (far - 0.5) * jnp.log(far) - far + 0.5 * jnp.log(2.0 * jnp.pi)
    series = series + 1.0 / (12.0 * far) - 1.0 / (360.0 * far**3)
    return series - jnp.log(z * (z + 1.0) * (z + 2.0))


def _cross_entropy(weights: Parameters, space: Array, labels: ArrayLike) -> Array:
    """−log of the label's probability, linear in the mean's hyperboloid coordinates, (n,)."""
    time = jnp.sqrt(1.0 + jnp.sum(jnp.square(space), axis=-1, keepdims=True))
    logits = jnp.concatenate((time, space), axis=-1) @ weights["label"] + weights["label_bias"]
    return optax.softmax_cross_entropy_with_integer_labels(logits, labels)


def fresh_moments(weights: Parameters) -> Any:
    """Adam's state before the first step."""
    return ADAM.init(weights)
