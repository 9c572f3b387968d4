"""Generated data with the shape of a cell lineage: a tree that branches outwards in the disc."""

from typing import NamedTuple

import numpy as np

from fedhull.disc.isometry import random_isometry
from fedhull.disc.maps import exp_map
from fedhull.disc.points import check_count, check_curvature, check_share
from fedhull.disc.sampling import Seed, as_generator
from fedhull.errors import InvalidInput


class Tree(NamedTuple):
    """Points `x` (n, 2), their lineage `y` (n,) as strings, the `batch` (n,) each came from, and
    its `donor` (n,)."""

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
        lineage == 0,
        2.0 * np.pi * rng.random(n),
        2.0 * np.pi * (lineage + 0.12 * fork) / lineages,
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
