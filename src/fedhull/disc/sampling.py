"""Points drawn uniformly from the disc, by hyperbolic area (App. F, Alg. 3)."""

import numpy as np

from fedhull.disc.points import check_count, check_curvature
from fedhull.disc.quantize import check_radius
from fedhull.disc.rim import rim_gap
from fedhull.errors import InvalidInput

Seed = int | np.random.Generator | None


def as_generator(seed: Seed) -> np.random.Generator:
    """A generator from a seed; a generator is used as it is, None draws fresh randomness."""
    if isinstance(seed, bool) or not isinstance(
        seed, (int, np.integer, np.random.Generator, type(None))
    ):
        raise InvalidInput(f"seed must be a whole number, a numpy Generator or None, got {seed!r}")
    if isinstance(seed, (int, np.integer)) and seed < 0:
        raise InvalidInput(f"seed must not be negative, got {seed}")
    return np.random.default_rng(seed)


def sample_uniform(n: int, radius: float, curvature: float = 1.0, seed: Seed = None) -> np.ndarray:
    """n points (n, 2), uniform over the disc of Euclidean radius R with respect to area (Alg. 3).

    With η uniform on (0, 1], sinh²(τ/2s) = η·sinh²(R_H/2s). As sinh²(τ/2s) = kα²/(1−kα²), the
    Euclidean radius α follows without going through exp and log.

    >>> sample_uniform(3, radius=0.95, seed=0).shape
    (3, 2)
    """
    n = check_count(n, "n", least=0)
    curvature = check_curvature(curvature)
    radius = check_radius(radius, curvature)
    rng = as_generator(seed)
    share = curvature * radius * radius
    eta = 1.0 - rng.random(n)
    gap = float(rim_gap(np.array([radius]), curvature))
    alpha = radius * np.sqrt(eta / (gap + eta * share))
    zeta = rng.random(n)
    zeta *= 2.0 * np.pi
    points = np.empty((n, 2))
    np.cos(zeta, out=points[:, 0])
    np.sin(zeta, out=points[:, 1])
    points *= alpha[:, None]
    return points
