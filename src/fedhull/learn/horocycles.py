"""Horocycle features: bounded, smooth functions on the ball in which linear models do well.

Seen from a direction ω of the sphere, the ball is filled with horocycles, the spheres that touch
its rim at ω. The Busemann function says on which of them a point lies, as a signed distance from
the one through the origin, positive towards ω:

    B_ω(x) = log((1−k‖x‖²) / ‖√k·x−ω‖²).

It is what ⟨ω, x⟩ is in flat space: its level sets are orthogonal to all geodesics that end at ω,
and the waves exp(((d−1)/2 + iλ)·B_ω) are eigenfunctions of the Laplacian, as exp(iλ⟨ω, x⟩) are
there. Averaged over ω, the product of such a wave at x and its conjugate at y depends on the
distance of x and y alone, so a random draw of ω and λ stands for a kernel (Rahimi and Recht, 2007,
in flat space; Yu and De Sa, "Random Laplacian features for learning with hyperbolic space", ICLR
2023, in this one). The amplitude exp((d−1)/2·B_ω) is left out here: linear models do without it,
and it grows without bound at the rim. What is left of the real part, with a phase b,

    φ(x) = cos(λ·B_ω(x) + b),

lies in [−1, 1], so that a cell adds at most 1 to any sum of features, wherever it lies.
"""

from functools import lru_cache
from math import gcd
from typing import Any, NamedTuple

import numpy as np

from fedhull.disc.points import as_ball_points, check_curvature
from fedhull.disc.rim import square_norm, two_product
from fedhull.errors import InvalidInput
from fedhull.learn.waves import fill_busemann, fill_waves

# The scales of frequencies, in turn, of all studies.
SCALES = (1.0, 3.0)

Sides = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]


class Horocycles(NamedTuple):
    """Which features: directions (D, d), frequencies λ (D,) and phases b (D,)."""

    directions: np.ndarray
    frequencies: np.ndarray
    phases: np.ndarray


def draw_horocycles(
    n_features: int, dimension: int, scales: tuple[float, ...], seed: int
) -> Horocycles:
    """The features that settings and a seed stand for."""
    if not isinstance(n_features, int | np.integer) or n_features < 1:
        raise InvalidInput(f"n_features must be a whole number ≥ 1, got {n_features!r}; try 128")
    if not isinstance(seed, int | np.integer) or seed < 0:
        raise InvalidInput(f"seed must be a whole number ≥ 0, got {seed!r}; try 0")
    widths = np.atleast_1d(np.asarray(scales, dtype=np.float64))
    if widths.ndim != 1 or not len(widths) or not (np.isfinite(widths) & (widths > 0.0)).all():
        raise InvalidInput(f"scales must be numbers > 0, got {scales!r}; try (1.0, 3.0)")
    stream = np.random.PCG64(int(seed))
    frequencies = np.abs(_normal(stream, n_features)) * np.resize(widths, n_features)
    phases = 2.0 * np.pi * _uniform(stream, n_features)
    if dimension == 2:
        angles = 2.0 * np.pi * np.arange(n_features) / n_features
        directions = np.column_stack((np.cos(angles), np.sin(angles)))
        order = _spread(n_features)
        return Horocycles(directions[order], frequencies[order], phases[order])
    directions = _normal(stream, n_features * dimension).reshape(n_features, dimension)
    directions /= np.hypot.reduce(directions, axis=1)[:, None]
    return Horocycles(directions, frequencies, phases)


def horocycle_features(points: Any, drawn: Horocycles, curvature: float) -> np.ndarray:
    """cos(λ·B_ω(x) + b), shape (n, D), for points (n, d)."""
    parts = _in_two_floats(points, drawn.directions, check_curvature(curvature))
    features = np.empty((len(parts[0]), len(drawn.phases)))
    fill_waves(*parts, drawn.frequencies, drawn.phases, features)
    return features


def busemann(points: Any, directions: Any, curvature: float = 1.0) -> np.ndarray:
    """B_ω(x) = log((1−k‖x‖²) / ‖√k·x−ω‖²), shape (n, D), for points (n, d) and directions (D, d),
    each of which stands for the point of the sphere to which it points.

    >>> busemann([[0.5, 0.0]], [[1.0, 0.0], [-1.0, 0.0]]) / np.log(3.0)
    array([[ 1., -1.]])
    """
    ways = np.asarray(directions, dtype=np.float64)
    parts = _in_two_floats(points, ways, check_curvature(curvature))
    found = np.empty((len(parts[0]), len(ways)))
    fill_busemann(*parts, found)
    return found


def _in_two_floats(points: Any, directions: np.ndarray, k: float) -> Sides:
    """√k·x and what that leaves out, both (n, d), the gap 1−k‖x‖² (n,), ω and what its floats have
    too much, both (d, D). Near ω the difference √k·x−ω cancels, so both sides need a second float.
    """
    x, gap = as_ball_points(points, k)
    scaled, scaled_rest = _times_root(np.ascontiguousarray(x), k)
    return scaled, scaled_rest, gap, *_directed(directions.tobytes(), directions.shape)


# A search asks for features of a few points at a time, and always in the same directions.
@lru_cache(maxsize=16)
def _directed(raw: bytes, shape: tuple[int, int]) -> tuple[np.ndarray, np.ndarray]:
    """ω and what its floats have too much, both (d, D), of the bytes of directions (D, d)."""
    directions = np.frombuffer(raw).reshape(shape)
    # ω is the direction at length one: (1 − δ/2)·direction, δ being what its square has too much
    square, error = square_norm(directions)
    rest = directions * (0.5 * ((square - 1.0) + error))[:, None]
    return directions.T.copy(), rest.T.copy()


def _times_root(x: np.ndarray, k: float) -> tuple[np.ndarray, np.ndarray]:
    """√k·x as a float and what that leaves out."""
    if k == 1.0:
        return x, np.zeros_like(x)
    root = np.sqrt(k)
    square, error = two_product(root, root)
    root_rest = ((k - square) - error) / (2.0 * root)
    product, product_rest = two_product(x, root)
    return product, product_rest + root_rest * x


def _spread(n: int) -> np.ndarray:
    """0, …, n−1 in an order in which the first few are already spread over all: in steps near the
    golden section, which alternate between odd and even wherever n is even."""
    step = round(n * 0.6180339887)
    while gcd(step, n) != 1:
        step += 1
    return np.arange(n) * step % n


def _uniform(stream: np.random.PCG64, n: int) -> np.ndarray:
    """n numbers in [0, 1) from the stream's next n words."""
    return (np.asarray(stream.random_raw(n), dtype=np.uint64) >> np.uint64(11)) * 2.0**-53


def _normal(stream: np.random.PCG64, n: int) -> np.ndarray:
    """n normal numbers from the stream's next 2n words, by the method of Box and Muller."""
    pairs = _uniform(stream, 2 * n).reshape(n, 2)
    return np.sqrt(-2.0 * np.log1p(-pairs[:, 0])) * np.cos(2.0 * np.pi * pairs[:, 1])
