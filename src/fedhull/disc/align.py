"""Isometries that bring two embeddings onto each other: hyperbolic Procrustes analysis.

Sites that embed their data on their own get discs that are turned, mirrored and moved against each
other (Sec. 4). `align` fits paired points, taking each pair at its word. As in Tabaghi & Dokmanić
(2021), both sets are centred at their centroid and an SVD gives the turn, exactly if the points do
match; where they match only roughly, Newton steps then minimise the sum of squared distances.

`align_shrunk` trusts pairs no further than the data reach. Each pair has a variance, and the
isometry has a prior: normal about the identity, moving points by about `scale` and turning by about
half as much. The prior is written as pairs, too: points p at the distance ρ from the origin along
the axes, both ways, are to stay where they are. A small move by m costs each of them m², a small
turn by θ costs (sinh ρ)²·θ², so that ρ sets the ratio of the two and the pairs' weight the scale.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import expm

from fedhull.disc.isometry import Isometry, rotation, translation
from fedhull.disc.maps import centroid, distance, exp_map, log_map
from fedhull.disc.models import poincare_to_hyperboloid
from fedhull.disc.points import as_ball_points, as_point_rows, as_weights, check_curvature
from fedhull.errors import InvalidInput

# A reflection must better the fit by this share of the points' spread to be believed.
_BELIEVED = 1e-6
_MOST_STEPS, _ROUGH, _FINE = 60, 1e-2, 1e-14
_NOTHING = 1e-26  # a misfit of 1e-13: rounding
# Prior scales of an isometry. The first is next to nothing, so that sites which were measured alike
# stay where they are.
SCALES = (0.02, 0.1, 0.3, 0.8)
# A turn in radians that is as likely as a move by one.
_TURN = 0.5
# A larger scale than the smallest must be likelier by this, as a logarithm, to be believed.
_MORE_EVIDENCE = 2.0
_MOST_SHRUNK_STEPS, _LEAST_GAIN = 30, 1e-8


@dataclass(frozen=True, eq=False)
class Alignment:
    """An isometry and its goodness of fit.

    misfit, before : weighted root mean square distance of the pairs, after and before;
    distances : (n,), of each pair after; classes : their names, if the pairs are classes.
    """

    isometry: Isometry
    misfit: float
    before: float
    distances: np.ndarray
    classes: tuple[Any, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Plain numbers and words."""
        return {
            "misfit": self.misfit,
            "misfit_before": self.before,
            "pairs": len(self.distances),
            "classes": [str(name) for name in self.classes],
            "isometry": self.isometry.to_json(),
        }


def align(
    source: ArrayLike,
    target: ArrayLike,
    weights: ArrayLike | None = None,
    curvature: float = 1.0,
    reflect: bool = True,
) -> Alignment:
    """The isometry φ with the least Σ wᵢ·d(φ(xᵢ), yᵢ)² for pairs of rows x of source, y of target.

    source, target : (n, d); weights : (n,), all alike if left out. With ``reflect=False`` left and
    right are not swapped. What the pairs leave open is left as it is: one pair, or pairs of one
    same point, fix no turn, so there is none; d pairs or fewer fix no reflection, nor do points on
    a common geodesic, and there is none.

    >>> source = np.array([[0.1, 0.2], [0.5, 0.0], [-0.3, 0.4]])
    >>> found = align(source, translation([0.2, -0.1]).apply(source))
    >>> found.isometry.shift.round(6), found.misfit < 1e-9
    (array([ 0.2, -0.1]), True)
    """
    k = check_curvature(curvature)
    x, _ = as_ball_points(as_point_rows(source, "source"), k, "source")
    y, _ = as_ball_points(as_point_rows(target, "target"), k, "target")
    if x.shape != y.shape:
        raise InvalidInput(
            f"source and target must be pairs of points of one shape (n, d), got {x.shape} and "
            f"{y.shape}; align_by_class pairs the centres of classes instead"
        )
    w = as_weights(weights, len(x))
    w = w / w.sum()
    to_middle = translation(-centroid(y, w, k), k)
    pairs = _Pairs(x, to_middle.apply(y), w, k)
    proper, mirrored = _starts(x, pairs.y, w, k)
    best = _best(proper, pairs)
    spread = _root_mean_square(distance(np.zeros(x.shape[1]), pairs.y, k), w)
    misfit = np.sqrt(2.0 * pairs.cost(best) / k)
    if reflect and misfit > _BELIEVED * spread:
        other = _best(mirrored, pairs)
        if np.sqrt(2.0 * pairs.cost(other) / k) < misfit - _BELIEVED * spread:
            best = other
    isometry, before = to_middle.inverse() @ best, distance(x, y, k)
    after = distance(isometry.apply(x), y, k)
    if (w * before**2).sum() <= (w * after**2).sum():
        isometry, after = translation(np.zeros(x.shape[1]), k), before
    return Alignment(isometry, _root_mean_square(after, w), _root_mean_square(before, w), after)


def align_by_class(
    source: ArrayLike,
    source_labels: ArrayLike,
    target: ArrayLike,
    target_labels: ArrayLike,
    curvature: float = 1.0,
    reflect: bool = True,
) -> Alignment:
    """`align` for points that are not paired, by the centroids of the classes that both sets have.

    source (n, d), target (m, d) and a label for each point. With n_c and m_c points, class c has
    the weight n_c·m_c/(n_c+m_c), the certainty of a difference of two means. A reflection is fixed
    by d+1 classes or more, a turn by two.

    >>> x = np.array([[0.1, 0.2], [0.5, 0.0], [-0.3, 0.4], [-0.2, 0.4]])
    >>> found = align_by_class(x, list("abcc"), x[::-1] * [1, -1], list("ccba"))
    >>> found.classes, found.isometry.reflects, found.misfit < 1e-9
    (('a', 'b', 'c'), True, True)
    """
    k = check_curvature(curvature)
    sides = [_by_class(source, source_labels, "source"), _by_class(target, target_labels, "target")]
    shared = [label for label in sides[0] if label in sides[1]]
    dimension = next(iter(sides[0].values())).shape[1]
    needed = dimension + 1 if reflect else 2
    if len(shared) < needed:
        raise InvalidInput(
            f"source and target must share at least {needed} classes to fix a "
            f"{'reflection' if reflect else 'rotation'}, but share {len(shared)}"
            f"{': ' + ', '.join(map(str, shared)) if shared else ''}"
            f"{'; two are enough with reflect=False' if reflect else ''}"
        )
    here, there = (np.stack([centroid(side[c], curvature=k) for c in shared]) for side in sides)
    n, m = (np.array([len(side[c]) for c in shared], dtype=np.float64) for side in sides)
    aligned = align(here, there, n * m / (n + m), k, reflect)
    return Alignment(
        aligned.isometry, aligned.misfit, aligned.before, aligned.distances, classes=tuple(shared)
    )


def _starts(
    x: np.ndarray, v: np.ndarray, w: np.ndarray, k: float
) -> tuple[list[Isometry], list[Isometry]]:
    """Closed forms without and with reflection, for x and centred targets v: x is centred too, and
    Q minimises Σ w‖v−Qu‖² of tangent vectors, which does not let the farthest points decide alone,
    or of coordinates on the hyperboloid, as in the literature."""
    to_middle, origin = translation(-centroid(x, w, k), k), np.zeros(x.shape[1])
    u = to_middle.apply(x)
    flat = [[log_map(origin, side, k) for side in (u, v)]]
    flat += [[poincare_to_hyperboloid(side, k)[:, 1:] for side in (u, v)]]
    proper, mirrored = [], []
    for a, b in flat:
        moments = (w[:, None] * b).T @ a
        # where the pairs say nothing, the identity is the best turn
        moments = moments / (np.abs(moments).max() or 1.0) + 1e-12 * np.eye(len(moments))
        left, _, right = np.linalg.svd(moments)
        if np.linalg.det(left @ right) < 0.0:
            left[:, -1] *= -1.0
        proper.append(Isometry(origin, left @ right, k) @ to_middle)
        left[:, -1] *= -1.0
        mirrored.append(Isometry(origin, left @ right, k) @ to_middle)
    return proper, mirrored


def _best(starts: list[Isometry], pairs: "_Pairs") -> Isometry:
    """The minimum to which the best of the starts leads."""
    near = [_descended(start, pairs, _ROUGH) for start in starts]
    return _descended(min(near, key=pairs.cost), pairs, _FINE)


def _descended(f: Isometry, pairs: "_Pairs", least_gain: float) -> Isometry:
    """Newton steps in the Lie algebra from f, until one gains less than a share of the cost."""
    cost = pairs.cost(f)
    if cost < _NOTHING:
        return f
    for _ in range(_MOST_STEPS):
        step = pairs.newton_step(f)
        tried = ((moved_by(size * step, pairs.k) @ f) for size in (1.0, 0.3, 0.1, 0.01, 1e-3))
        better = next((g for g in tried if pairs.cost(g) < cost), None)
        if better is None:
            break
        f, before, cost = better, cost, pairs.cost(better)
        if before - cost <= least_gain * before or cost < _NOTHING:
            break
    return f


@dataclass(frozen=True, eq=False)
class _Pairs:
    """The cost ½Σ w·k·d(f(x), y)²; y is centred at the origin, where turns and moves do not mix."""

    x: np.ndarray
    y: np.ndarray
    w: np.ndarray
    k: float

    def cost(self, f: Isometry) -> float:
        apart = distance(f.apply(self.x), self.y, self.k)
        return 0.5 * self.k * float((self.w * apart**2).sum())

    def gradient(self, f: Isometry) -> np.ndarray:
        """Derivatives of the cost along each generator, applied after f."""
        z, gap = as_ball_points(f.apply(self.x), self.k)
        toward = log_map(z, self.y, self.k)
        pull = 4.0 * self.k * self.w / gap / gap
        return -(generators(z, self.k) * toward * pull[:, None]).sum(axis=(1, 2))

    def newton_step(self, f: Isometry) -> np.ndarray:
        """−|H|⁻¹·gradient; |H| takes eigenvalues' absolute values, to leave saddles behind."""
        gradient, h = self.gradient(f), 1e-5
        shifts = h * np.eye(len(gradient))
        hessian = np.stack(
            [
                self.gradient(moved_by(s, self.k) @ f) - self.gradient(moved_by(-s, self.k) @ f)
                for s in shifts
            ]
        )
        size, axes = np.linalg.eigh((hessian + hessian.T) / (4.0 * h))
        size = np.maximum(np.abs(size), 1e-9 * np.abs(size).max() + 1e-300)
        step = -axes @ ((axes.T @ gradient) / size)
        return step / max(1.0, np.hypot.reduce(step))


def generators(z: np.ndarray, k: float) -> np.ndarray:
    """Velocities (…, n, d) of points z (n, d) under each of the d moves and d(d−1)/2 turns."""
    d = z.shape[1]
    t = np.eye(d)[:, None] / (2.0 * np.sqrt(k))
    moves = (1.0 + k * (z * z).sum(axis=1))[:, None] * t - 2.0 * k * (z * t).sum(-1)[..., None] * z
    turns = np.zeros((d * (d - 1) // 2, *z.shape))
    for turn, i, j in zip(turns, *np.triu_indices(d, 1), strict=True):
        turn[:, i], turn[:, j] = -z[:, j], z[:, i]
    return np.concatenate((moves, turns))


def moved_by(parameters: np.ndarray, k: float) -> Isometry:
    """The isometry that generators lead to: d numbers for the move, the others for the turn."""
    d = int(np.sqrt(2 * len(parameters)))
    shift = exp_map(np.zeros(d), parameters[:d] / (2.0 * np.sqrt(k)), k)
    if d == 2:
        # a hundred times as fast, and studies are of the disc
        return Isometry(shift, rotation(float(parameters[2])).turn, k)
    skew = np.zeros((d, d))
    skew[np.triu_indices(d, 1)] = parameters[d:]
    return Isometry(shift, expm(skew.T - skew), k)


def _by_class(points: ArrayLike, labels: ArrayLike, name: str) -> dict[Any, np.ndarray]:
    """The points of each class, in the order of the labels."""
    x, y = as_point_rows(points, name), np.asarray(labels)
    if y.shape != (len(x),):
        raise InvalidInput(
            f"{name}_labels must label each of the {len(x)} points of {name}, got shape {y.shape}"
        )
    return {label: x[y == label] for label in np.unique(y).tolist()}


def _root_mean_square(distances: np.ndarray, w: np.ndarray) -> float:
    return float(np.sqrt((w * distances**2).sum()))


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

    It minimises Σ d(φ(xᵢ), yᵢ)²/vᵢ + (move/scale)² + (2·turn/scale)². source, target : (n, d).
    variances : (n,), of the distance of a pair along any axis. scales : candidates for the prior's
    scale, in units of 1/√k; the one with the most evidence wins, the smallest if in doubt, so that
    chance sets nothing in motion. start : first guess. least_gain : the share of the cost that a
    step must gain for another to follow.

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
    fit, most = start or translation(np.zeros(x.shape[1]), k), -np.inf
    best = fit
    # from wide to narrow: with a narrow prior the way down from afar is long
    for scale in -np.sort(-candidates):
        fit, evidence = _fitted(x, y, v, float(scale), fit, least_gain, k)
        if scale > candidates.min():
            evidence -= _MORE_EVIDENCE
        if evidence > most:
            best, most = fit, evidence
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
    """The likeliest isometry under a prior of this scale, and its log-evidence: the probability of
    the pairs over all isometries (Laplace's approximation)."""
    d = x.shape[1]
    still, weight = _standing(d, scale, k)
    x, y = np.vstack((x, still)), np.vstack((y, still))
    w = np.concatenate((1.0 / v, np.full(len(still), weight)))
    f, cost = start, _cost(start, x, y, w, k)
    for _ in range(_MOST_SHRUNK_STEPS):
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
    """The points (2d, d) that the prior holds in place, and the weight of each."""
    # sinh ρ = 1/_TURN; in the ball that is tanh(ρ/2) = sinh ρ/(1 + cosh ρ)
    sinh = 1.0 / _TURN
    radius = sinh / (1.0 + np.hypot(1.0, sinh)) / np.sqrt(k)
    axes = radius * np.eye(d)
    return np.vstack((axes, -axes)), k / (2.0 * d * scale**2)


def _cost(f: Isometry, x: np.ndarray, y: np.ndarray, w: np.ndarray, k: float) -> float:
    return 0.5 * float((w * distance(f.apply(x), y, k) ** 2).sum())
