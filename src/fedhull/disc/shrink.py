"""Alignment that is not trusted further than the data reach: shrunk towards the identity.

`align` takes every pair at its word. Here each pair has a variance, and the isometry has a prior:
it is normal about the identity, moving points by about `scale` and turning by about half as much.
What the pairs say little about stays as it is.

The prior is written as pairs, too. Points p at the distance ρ from the origin along the axes, both
ways, are to stay where they are. A small move by m costs each of them m², a small turn by θ costs
(sinh ρ)²·θ², so that ρ sets the ratio of the two and the pairs' weight sets the scale.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from fedhull.disc.align import Alignment, generators, moved_by
from fedhull.disc.isometry import Isometry, translation
from fedhull.disc.maps import distance, log_map
from fedhull.disc.points import as_ball_points, as_point_rows, check_curvature
from fedhull.errors import InvalidInput

# How large an isometry may be beforehand. The first is next to none, so that sites which were
# measured alike stay where they are.
SCALES = (0.02, 0.1, 0.3, 0.8)
# A turn in radians that is as likely as a move by one.
_TURN = 0.5
# A larger scale than the smallest must be likelier by this, as a logarithm, to be believed.
_BELIEVED = 2.0
_MOST_STEPS, _LEAST_GAIN = 30, 1e-8


def align_shrunk(
    source: ArrayLike,
    target: ArrayLike,
    variances: ArrayLike,
    *,
    scales: Sequence[float] = SCALES,
    start: Isometry | None = None,
    least_gain: float = _LEAST_GAIN,
    curvature: float = 1.0,
) -> Alignment:
    """The likeliest isometry φ without reflection for pairs of rows x of source, y of target.

    It has the least Σ d(φ(xᵢ), yᵢ)²/vᵢ + (move/scale)² + (2·turn/scale)². source, target : (n, d).
    variances : (n,), of the distance of a pair along any axis. scales : candidates for the prior's
    scale, in units of 1/√k; the one with the most evidence is taken, the smallest if in doubt, so
    that chance does not set anything in motion. start : where to start looking. least_gain : the
    share of the cost that a step must gain for another to follow.

    With one pair or with large variances next to nothing happens; with many exact pairs the prior
    does not matter.

    >>> source = np.array([[0.1, 0.2], [0.5, 0.0], [-0.3, 0.4]])
    >>> target = translation([0.2, -0.1]).apply(source)
    >>> align_shrunk(source, target, [1e-6, 1e-6, 1e-6]).isometry.shift.round(3)
    array([ 0.2, -0.1])
    >>> align_shrunk(source[:1], target[:1], [4.0]).isometry.shift.round(3) + 0.0
    array([0., 0.])
    """
    k = check_curvature(curvature)
    x, _ = as_ball_points(as_point_rows(source, "source"), k, "source")
    y, _ = as_ball_points(as_point_rows(target, "target"), k, "target")
    v = np.asarray(variances, dtype=np.float64)
    if x.shape != y.shape or v.shape != x.shape[:1]:
        raise InvalidInput(
            "source and target must have one shape (n, d) and variances (n,), got "
            f"{x.shape}, {y.shape} and {v.shape}"
        )
    if not (np.isfinite(v) & (v > 0.0)).all():
        raise InvalidInput(f"variances must be finite numbers > 0, got {v.min()}")
    candidates = np.asarray(scales, dtype=np.float64)
    if candidates.ndim != 1 or not len(candidates) or not (candidates > 0.0).all():
        raise InvalidInput(f"scales must be numbers > 0, got {scales!r}; try {SCALES}")
    found, most = start or translation(np.zeros(x.shape[1]), k), -np.inf
    best = found
    # from wide to narrow: with a narrow prior the way down from afar is long
    for scale in -np.sort(-candidates):
        found, evidence = _fitted(x, y, v, float(scale), found, least_gain, k)
        if scale > candidates.min():
            evidence -= _BELIEVED
        if evidence > most:
            best, most = found, evidence
    before, after = distance(x, y, k), distance(best.apply(x), y, k)
    w = 1.0 / v / (1.0 / v).sum()
    return Alignment(
        best, float(np.sqrt(w @ after**2)), float(np.sqrt(w @ before**2)), distances=after
    )


def _fitted(
    x: np.ndarray,
    y: np.ndarray,
    v: np.ndarray,
    scale: float,
    start: Isometry,
    least_gain: float,
    k: float,
) -> tuple[Isometry, float]:
    """The likeliest isometry under a prior of this scale, and the logarithm of its evidence: of the
    probability of the pairs over all isometries (Laplace's approximation)."""
    d = x.shape[1]
    still, weight = _standing(d, scale, k)
    x, y = np.vstack((x, still)), np.vstack((y, still))
    w = np.concatenate((1.0 / v, np.full(len(still), weight)))
    f, cost = start, _cost(start, x, y, w, k)
    for _ in range(_MOST_STEPS):
        z, gap = as_ball_points(f.apply(x), k)
        lengths = 2.0 / gap[:, None]
        away, ways = log_map(z, y, k) * lengths, generators(z, k) * lengths
        hessian = np.einsum("aik,bik,i->ab", ways, ways, w)
        step = np.linalg.solve(hessian, np.einsum("aik,ik,i->a", ways, away, w))
        step /= max(1.0, float(np.hypot.reduce(step)))
        tried = (moved_by(size * step, k) @ f for size in (1.0, 0.5, 0.2, 0.05))
        better = next(((g, c) for g in tried if (c := _cost(g, x, y, w, k)) < cost), None)
        if better is None:
            break
        gain, (f, cost) = cost - better[1], better
        if gain <= least_gain * cost:
            break
    ways = generators(y, k) * (2.0 / as_ball_points(y, k)[1][:, None])
    both = np.einsum("aik,bik,i->ab", ways, ways, w)
    prior = np.einsum("aik,bik,i->ab", ways[:, -len(still) :], ways[:, -len(still) :], w[len(v) :])
    lost = np.linalg.slogdet(both)[1] - np.linalg.slogdet(prior)[1]
    return f, float(-cost - 0.5 * lost)


def _standing(d: int, scale: float, k: float) -> tuple[np.ndarray, float]:
    """The points (2d, d) that the prior wants to stay where they are, and the weight of each."""
    # sinh ρ = 1/_TURN; in the ball that is tanh(ρ/2) = sinh ρ/(1 + cosh ρ)
    sinh = 1.0 / _TURN
    radius = sinh / (1.0 + np.hypot(1.0, sinh)) / np.sqrt(k)
    axes = radius * np.eye(d)
    return np.vstack((axes, -axes)), k / (2.0 * d * scale**2)


def _cost(f: Isometry, x: np.ndarray, y: np.ndarray, w: np.ndarray, k: float) -> float:
    return 0.5 * float((w * distance(f.apply(x), y, k) ** 2).sum())
