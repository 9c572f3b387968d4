"""The paper's synthetic data: two classes on either side of a geodesic (Sec. 6.2)."""

from typing import NamedTuple

import numpy as np

from fedhull.disc.maps import hyperplane_distance
from fedhull.disc.points import check_count, check_curvature, check_share
from fedhull.disc.quantize import check_radius
from fedhull.disc.sampling import Seed, as_generator, sample_uniform
from fedhull.errors import InvalidInput

_SMALLEST_SHARE = 0.05
_TRIES = 200
_PILOT = 200


class TwoClasses(NamedTuple):
    """Points `x` (n, 2), labels `y` (n,) in {−1, +1}, and the geodesic between them: the reference
    point `p` (2,) and the unit normal `w` (2,), which points to class +1."""

    x: np.ndarray
    y: np.ndarray
    p: np.ndarray
    w: np.ndarray


def make_two_class(
    n: int = 20_000,
    *,
    mu: float = 0.4,
    gamma: float = 0.01,
    radius: float = 0.95,
    curvature: float = 1.0,
    seed: Seed = None,
) -> TwoClasses:
    """n points uniform over the disc of radius R, without those nearer than γ to a random geodesic.

    The geodesic's reference point lies at ‖p‖ = μR in a random direction, its normal is random too;
    a geodesic that leaves less than 5 % of the points on one side is drawn again. Points that fall
    into the margin are replaced, so that exactly n are returned.

    >>> data = make_two_class(1000, mu=0.4, gamma=0.1, seed=0)
    >>> data.x.shape, sorted(set(data.y.tolist()))
    ((1000, 2), [-1, 1])
    """
    n = check_count(n, "n", least=2)
    curvature = check_curvature(curvature)
    radius = check_radius(radius, curvature)
    mu = check_share(mu, "mu", "at least 0 and below 1 (‖p‖ = μR)", "0.4")
    gamma = check_share(gamma, "gamma", "a distance ≥ 0", "0.01")
    if mu >= 1.0:
        raise InvalidInput(f"mu must be at least 0 and below 1 (‖p‖ = μR), got {mu!r}; try 0.4")
    rng = as_generator(seed)
    for _ in range(_TRIES):
        p = mu * radius * _random_direction(rng)
        w = _random_direction(rng)
        # a small sample tells whether this geodesic is worth n points
        if len(_sample_off_geodesic(_PILOT, p, w, gamma, radius, curvature, rng)) < _PILOT:
            continue
        x = _sample_off_geodesic(n, p, w, gamma, radius, curvature, rng)
        if len(x) < n:
            continue
        y = np.where(hyperplane_distance(x, p, w, curvature) > 0.0, 1, -1)
        if min((y == 1).sum(), (y == -1).sum()) >= max(1, _SMALLEST_SHARE * n):
            return TwoClasses(x, y, p, w)
    raise InvalidInput(
        f"no geodesic with mu = {mu:g} and gamma = {gamma:g} leaves {_SMALLEST_SHARE:.0%} of the "
        f"points of the disc of radius {radius:g} on each side; try a smaller gamma or mu"
    )


def _sample_off_geodesic(
    n: int,
    p: np.ndarray,
    w: np.ndarray,
    gamma: float,
    radius: float,
    curvature: float,
    rng: np.random.Generator,
) -> np.ndarray:
    """n points farther than γ from the geodesic; fewer if hardly any point is."""
    kept = np.empty((0, 2))
    for _ in range(20):
        x = sample_uniform(n, radius, curvature, rng)
        off = np.abs(hyperplane_distance(x, p, w, curvature)) > gamma
        kept = np.concatenate((kept, x[off]))
        if len(kept) >= n:
            break
    return kept[:n]


def _random_direction(rng: np.random.Generator) -> np.ndarray:
    angle = 2.0 * np.pi * rng.random()
    return np.array([np.cos(angle), np.sin(angle)])
