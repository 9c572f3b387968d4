"""The Poincaré ball and its three relatives: Klein, hyperboloid, polar. Shape (..., d) throughout.

A point x of the Poincaré ball k‖x‖² < 1 is

- in the Klein ball      2x / (1+k‖x‖²), where geodesics are straight;
- on the hyperboloid     (1+k‖x‖², 2√k·x) / (√k·(1−k‖x‖²)), of shape (..., d+1), with
                         −X₀² + X₁² + … + X_d² = −1/k, where geodesics are cut out by planes;
- in polar coordinates   (hyperbolic distance from the origin, angles), where circles are straight.

The Klein ball squeezes the rim: its floats cannot tell apart points beyond ‖x‖√k ≈ 1−1e-8.
"""

import numpy as np
from numpy.typing import ArrayLike

from fedhull.disc.points import as_ball_points, as_vectors, check_curvature
from fedhull.disc.rim import pull_inside
from fedhull.errors import InvalidInput


def poincare_to_klein(points: ArrayLike, curvature: float = 1.0) -> np.ndarray:
    """2x / (1+k‖x‖²).

    >>> poincare_to_klein([0.5, 0.0])
    array([0.8, 0. ])
    """
    k = check_curvature(curvature)
    x, gap = as_ball_points(points, k)
    return 2.0 * x / (2.0 - gap)[..., None]


def klein_to_poincare(points: ArrayLike, curvature: float = 1.0) -> np.ndarray:
    """X / (1 + √(1−k‖X‖²)).

    >>> klein_to_poincare([0.8, 0.0])
    array([0.5, 0. ])
    """
    k = check_curvature(curvature)
    x, gap = as_ball_points(points, k)
    return pull_inside(x / (1.0 + np.sqrt(gap))[..., None], k)


def poincare_to_hyperboloid(points: ArrayLike, curvature: float = 1.0) -> np.ndarray:
    """(1+k‖x‖², 2√k·x) / (√k·(1−k‖x‖²)), shape (..., d+1).

    >>> poincare_to_hyperboloid([0.5, 0.0]).round(6)
    array([1.666667, 1.333333, 0.      ])
    """
    k = check_curvature(curvature)
    x, gap = as_ball_points(points, k)
    gap = gap[..., None]
    return np.concatenate(((2.0 - gap) / (np.sqrt(k) * gap), 2.0 * x / gap), axis=-1)


def hyperboloid_to_poincare(points: ArrayLike, curvature: float = 1.0) -> np.ndarray:
    """X_{1…d} / (1 + √k·X₀). X₀ is taken from X_{1…d}, so small errors off the sheet do no harm.

    >>> hyperboloid_to_poincare([5 / 3, 4 / 3, 0.0])
    array([0.5, 0. ])
    """
    k = check_curvature(curvature)
    vectors = as_vectors(points, "points")
    if vectors.shape[-1] < 2 or (vectors[..., 0] <= 0.0).any():
        raise InvalidInput(
            "points must lie on the upper sheet of the hyperboloid, shape (..., d+1) with X₀ > 0"
        )
    space = vectors[..., 1:]
    time = np.hypot(1.0, np.sqrt(k) * np.hypot.reduce(space, axis=-1))
    return pull_inside(space / (1.0 + time)[..., None], k)


def poincare_to_polar(points: ArrayLike, curvature: float = 1.0) -> np.ndarray:
    """(ρ, φ₁, …, φ_{d−1}): distance from the origin and hyperspherical angles, the last in [0, 2π).

    In the disc that is (ρ, φ); eq. 6 relates ρ and the Euclidean radius.

    >>> poincare_to_polar([0.0, 0.5]).round(6)
    array([1.098612, 1.570796])
    """
    k = check_curvature(curvature)
    x, gap = as_ball_points(points, k)
    polar = np.empty_like(x)
    polar[..., 0] = (
        2.0 / np.sqrt(k) * np.arcsinh(np.sqrt(k) * np.hypot.reduce(x, axis=-1) / np.sqrt(gap))
    )
    for i in range(1, x.shape[-1] - 1):
        polar[..., i] = np.arctan2(np.hypot.reduce(x[..., i:], axis=-1), x[..., i - 1])
    if x.shape[-1] > 1:
        polar[..., -1] = full_turn_angle(x[..., -2], x[..., -1])
    else:
        polar[..., 0] = np.copysign(polar[..., 0], x[..., 0])
    return polar


def polar_to_poincare(points: ArrayLike, curvature: float = 1.0) -> np.ndarray:
    """The inverse of `poincare_to_polar`.

    >>> polar_to_poincare([np.log(3.0), np.pi]).round(6) + 0.0
    array([-0.5,  0. ])
    """
    k = check_curvature(curvature)
    polar = as_vectors(points, "points")
    radius = np.tanh(np.sqrt(k) * polar[..., 0] / 2.0) / np.sqrt(k)
    x = np.empty_like(polar)
    for i in range(1, polar.shape[-1]):
        x[..., i - 1] = radius * np.cos(polar[..., i])
        radius = radius * np.sin(polar[..., i])
    x[..., -1] = radius
    return pull_inside(x, k)


def full_turn_angle(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """The angle of (x, y) in [0, 2π)."""
    angle = np.arctan2(y, x)
    angle = np.where(angle < 0.0, angle + 2.0 * np.pi, angle)
    # −tiny + 2π rounds to 2π, which is 0 again
    return np.where(angle >= 2.0 * np.pi, 0.0, angle) + 0.0
