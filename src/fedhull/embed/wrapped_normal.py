"""The wrapped normal distribution of hyperbolic space, in JAX (Nagano et al. 2019).

A normal vector is drawn in the tangent space at the origin, laid out along geodesics, and the whole
is moved so that the origin comes to the mean. Moving along the geodesic from the origin to the mean
is a boost of the hyperboloid; it carries tangent vectors exactly as parallel transport does.

Points are given by X₁ … X_d of the unit hyperboloid, X₀ = √(1+‖X‖²): no constraint has to be kept,
and nothing cancels near the rim. Vectors have lengths of the space of curvature −k.
"""

import jax.numpy as jnp
from jax import Array
from jax.typing import ArrayLike

_TINY = 1e-12  # under the root, so that lengths have a gradient at zero


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
