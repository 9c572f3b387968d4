"""Generated data: uniform points (App. F), two classes (Sec. 6.2), and a tree of cell lineages."""

from typing import NamedTuple

import numpy as np

from fedhull.disc.isometry import random_isometry
from fedhull.disc.maps import exp_map, hyperplane_distance
from fedhull.disc.points import check_count, check_curvature, check_share
from fedhull.disc.quantize import check_radius
from fedhull.disc.rim import rim_gap
from fedhull.errors import InvalidInput

Seed = int | np.random.Generator | None
_SMALLEST_SHARE = 0.05
_TRIES = 200
_PILOT = 200


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
    points = np.empty((0, 2))
    for _ in range(20):
        x = sample_uniform(n, radius, curvature, rng)
        off = np.abs(hyperplane_distance(x, p, w, curvature)) > gamma
        points = np.concatenate((points, x[off]))
        if len(points) >= n:
            break
    return points[:n]


def _random_direction(rng: np.random.Generator) -> np.ndarray:
    angle = 2.0 * np.pi * rng.random()
    return np.array([np.cos(angle), np.sin(angle)])


class Tree(NamedTuple):
    """Points `x` (n, 2), lineages `y` (n,) as strings, `batch` (n,) and `donor` (n,)."""

    x: np.ndarray
    y: np.ndarray
    batch: np.ndarray
    donor: np.ndarray


def make_tree(
    n: int = 4_000,
    *,
    lineages: int = 5,
    batches: int = 4,
    donors: int = 1,
    mixing: float = 0.5,
    noise: float = 0.35,
    batch_shift: float = 0.05,
    curvature: float = 1.0,
    seed: Seed = None,
) -> Tree:
    """n cells on a tree: a stem in the middle, `lineages` branches that each fork once.

    A cell sits at a random depth of its branch, off it by `noise` in hyperbolic distance, and moved
    with its whole batch by an isometry of length `batch_shift`, which turns it a little as well.
    The stem is a class of its own. With several `donors`, each has a mixture of lineages of its
    own, drawn from a Dirichlet distribution: the smaller `mixing`, the more they differ. All cells
    of a donor are then of one batch.

    >>> data = make_tree(100, lineages=3, seed=0)
    >>> sorted(set(data.y.tolist()))
    ['lineage-1', 'lineage-2', 'lineage-3', 'stem']
    """
    n = check_count(n, "n")
    lineages, batches = check_count(lineages, "lineages"), check_count(batches, "batches")
    k = check_curvature(curvature)
    noise = check_share(noise, "noise", "a distance ≥ 0", "0.35")
    batch_shift = check_share(batch_shift, "batch_shift", "a distance ≥ 0", "0.05")
    donors = check_count(donors, "donors")
    mixing = check_share(mixing, "mixing", "a number > 0", "0.5")
    if mixing == 0.0:
        raise InvalidInput("mixing must be a number > 0, got 0; try 0.5")
    rng = as_generator(seed)
    if donors == 1:
        donor = np.zeros(n, dtype=np.int64)
        lineage = rng.integers(0, lineages + 1, n)
        batch = rng.integers(0, batches, n)
    else:
        donor = rng.integers(0, donors, n)
        lineage = _from_mixtures(rng.dirichlet(np.full(lineages + 1, mixing), donors), donor, rng)
        batch = donor % batches
    depth = np.where(lineage == 0, 0.5 * rng.random(n), 1.0 + 2.5 * rng.random(n))
    fork = rng.choice([-1.0, 1.0], n) * np.maximum(depth - 2.0, 0.0)
    angle = np.where(
        lineage == 0, 2.0 * np.pi * rng.random(n), 2.0 * np.pi * (lineage + 0.12 * fork) / lineages
    )
    points = _at(depth, angle, k)
    points = exp_map(points, _tangent(noise * rng.standard_normal((n, 2)), points, k), k)
    for number in range(batches):
        moved = random_isometry(batch_shift, rng, k)
        points[batch == number] = moved.apply(points[batch == number])
    names = np.array(["stem"] + [f"lineage-{i + 1}" for i in range(lineages)])
    return Tree(points, names[lineage], batch, donor)


def _from_mixtures(
    mixtures: np.ndarray, chosen: np.ndarray, rng: np.random.Generator
) -> np.ndarray:
    """One draw (n,) from the row `chosen` (n,) of mixtures (m, classes) for each."""
    edges = np.cumsum(mixtures, axis=1)[:, :-1]  # the last is 1 only up to rounding
    drawn: np.ndarray = (rng.random(len(chosen))[:, None] >= edges[chosen]).sum(axis=1)
    return drawn


def _at(depth: np.ndarray, angle: np.ndarray, k: float) -> np.ndarray:
    """The points at these distances (for curvature −1) and angles from the origin."""
    radius = np.tanh(depth / 2.0) / np.sqrt(k)
    return radius[:, None] * np.column_stack((np.cos(angle), np.sin(angle)))


def _tangent(vectors: np.ndarray, points: np.ndarray, k: float) -> np.ndarray:
    """Tangent vectors whose Riemannian length is the Euclidean length of the given ones over √k."""
    gap = 1.0 - k * (points * points).sum(axis=1, keepdims=True)
    return vectors * gap / (2.0 * np.sqrt(k))
