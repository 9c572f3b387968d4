"""Two embeddings brought onto each other by an isometry: hyperbolic Procrustes analysis.

Clients that embed their data on their own get discs that are turned, mirrored and moved against
each other (Sec. 4). Paired points say how. As in Tabaghi & Dokmanić (2021), both sets are centred
at their centroid, and an SVD gives the turn, exactly so if the points do match; what is left of a
sum of squared distances, where they match only roughly, is then brought to its minimum.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import expm

from fedhull.disc.isometry import Isometry, translation
from fedhull.disc.maps import distance, exp_map, log_map, mobius_add
from fedhull.disc.models import poincare_to_hyperboloid
from fedhull.disc.points import as_ball_points, as_numbers, as_point_rows, check_curvature
from fedhull.errors import InvalidInput

# A reflection must better the fit by this share of the points' spread to be believed.
_BELIEVED = 1e-6
_RECENTRED = 1e-2
_MOST_STEPS, _LEAST_GAIN = 200, 1e-14


@dataclass(frozen=True, eq=False)
class Alignment:
    """The isometry that was found, and how well it fits.

    misfit, before : weighted root mean square distance of the pairs, after and before;
    distances : (n,), of each pair after; classes : their names, if the pairs are classes.
    """

    isometry: Isometry
    misfit: float
    before: float
    distances: np.ndarray
    classes: tuple[Any, ...] = ()


def centroid(
    points: ArrayLike, weights: ArrayLike | None = None, curvature: float = 1.0
) -> np.ndarray:
    """The Lorentz centroid of points (n, d): Σ wᵢXᵢ on the hyperboloid, brought back to the sheet.

    It is the point m with the least Σ wᵢ·cosh(√k·d(m, xᵢ)), and moves with every isometry.

    >>> centroid([[0.8, 0.0], [0.0, 0.0]])
    array([0.5, 0. ])
    """
    k = check_curvature(curvature)
    x, gap = as_ball_points(as_point_rows(points), k)
    w = _as_weights(weights, len(x))
    middle = _rough_centroid(x, gap, w, k)
    # Time² − space² cancels for points that are together at the rim. From where that leads, though,
    # they look nearer to the centre, and from there nearer still.
    for _ in range(8):
        seen, seen_gap = as_ball_points(mobius_add(-middle, x, k), k)
        step = _rough_centroid(seen, seen_gap, w, k)
        middle = mobius_add(middle, step, k)
        if np.sqrt(k) * np.hypot.reduce(step) < _RECENTRED:
            break
    return middle


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
    w = _as_weights(weights, len(x))
    middle = centroid(y, w, k)
    starts = _starts(x, y, w, k)
    best, misfit = _best([f for f in starts if not f.reflects], x, y, w, middle)
    spread = _root_mean_square(distance(middle, y, k), w)
    if reflect and misfit > _BELIEVED * spread:
        mirrored, mirrored_misfit = _best([f for f in starts if f.reflects], x, y, w, middle)
        if mirrored_misfit < misfit - _BELIEVED * spread:
            best, misfit = mirrored, mirrored_misfit
    before = distance(x, y, k)
    if _root_mean_square(before, w) <= misfit:
        best = translation(np.zeros(x.shape[1]), k)
    after = distance(best.apply(x), y, k)
    return Alignment(best, _root_mean_square(after, w), _root_mean_square(before, w), after)


def align_by_class(
    source: ArrayLike,
    source_labels: ArrayLike,
    target: ArrayLike,
    target_labels: ArrayLike,
    curvature: float = 1.0,
    reflect: bool = True,
) -> Alignment:
    """`align` for points that are not paired: the centroids of the classes that both sets have are.

    source (n, d), target (m, d) and a label for each point. With n_c and m_c points, class c has
    the weight n_c·m_c/(n_c+m_c), the certainty of a difference of two means. A reflection is fixed
    by d+1 classes or more, a turn by two.

    >>> x = np.array([[0.1, 0.2], [0.5, 0.0], [-0.3, 0.4], [-0.2, 0.4]])
    >>> found = align_by_class(x, list("abcc"), x[::-1] * [1, -1], list("ccba"))
    >>> found.classes, found.isometry.reflects, found.misfit < 1e-9
    (('a', 'b', 'c'), True, True)
    """
    k = check_curvature(curvature)
    sides = [
        _by_class(source, source_labels, "source"),
        _by_class(target, target_labels, "target"),
    ]
    shared = [label for label in sides[0] if label in sides[1]]
    dimension = next(iter(sides[0].values())).shape[1]
    needed = dimension + 1 if reflect else 2
    if len(shared) < needed:
        raise InvalidInput(
            f"source and target must share at least {needed} classes to fix a "
            f"{'reflection' if reflect else 'rotation'}, they share {len(shared)}"
            f"{': ' + ', '.join(map(str, shared)) if shared else ''}"
            f"{'; two are enough with reflect=False' if reflect else ''}"
        )
    centres = [np.stack([centroid(side[c], curvature=k) for c in shared]) for side in sides]
    n, m = (np.array([len(side[c]) for c in shared], dtype=np.float64) for side in sides)
    found = align(*centres, weights=n * m / (n + m), curvature=k, reflect=reflect)
    return Alignment(
        found.isometry, found.misfit, found.before, found.distances, classes=tuple(shared)
    )


def _starts(x: np.ndarray, y: np.ndarray, w: np.ndarray, k: float) -> list[Isometry]:
    """Closed forms, each with and without reflection: both sets centred, and the orthogonal Q with
    the least Σ w‖v−Qu‖² of their tangent vectors, or of their coordinates on the hyperboloid.

    The first does not let the farthest points decide alone, the second is that of the literature.
    """
    from_x, from_y = translation(-centroid(x, w, k), k), translation(centroid(y, w, k), k)
    u, v = from_x.apply(x), from_y.inverse().apply(y)
    origin = np.zeros(x.shape[1])
    flat = [(log_map(origin, u, k), log_map(origin, v, k))]
    flat += [(poincare_to_hyperboloid(u, k)[:, 1:], poincare_to_hyperboloid(v, k)[:, 1:])]
    found = []
    for a, b in flat:
        moments = (w[:, None] * b).T @ a
        largest = np.abs(moments).max()
        # where the pairs say nothing, the identity is the best turn
        moments = moments / (largest or 1.0) + 1e-12 * np.eye(len(moments))
        left, _, right = np.linalg.svd(moments)
        for sign in (1.0, -1.0):
            left[:, -1] *= sign
            found.append(from_y @ Isometry(origin, left @ right, k) @ from_x)
    return found


def _best(
    starts: list[Isometry], x: np.ndarray, y: np.ndarray, w: np.ndarray, middle: np.ndarray
) -> tuple[Isometry, float]:
    """The start that leads to the lowest minimum, and the misfit there."""
    refined = [_refined(start, x, y, w, middle) for start in starts]
    misfits = [_root_mean_square(distance(f.apply(x), y, f.curvature), w) for f in refined]
    first = int(np.argmin(misfits))
    return refined[first], misfits[first]


def _refined(
    start: Isometry, x: np.ndarray, y: np.ndarray, w: np.ndarray, middle: np.ndarray
) -> Isometry:
    """The isometry at the minimum next to `start`, by Levenberg–Marquardt steps in the Lie algebra.

    Steps are taken as seen from the middle of the target, where a turn and a move do not mix.
    """
    k = start.curvature
    to_middle = translation(-middle, k)
    seen, v = to_middle @ start, to_middle.apply(y)
    cost, damping = _cost(seen, x, v, w), 1e-6
    gradient, hessian = _derivatives(seen.apply(x), v, w, k)
    for _ in range(_MOST_STEPS):
        # the largest entry stands in for directions of which the pairs say nothing
        damped = hessian + damping * np.diag(np.maximum(hessian.diagonal(), hessian.max() * 1e-9))
        tried = _step(np.linalg.lstsq(damped, -gradient)[0], k) @ seen
        tried_cost = _cost(tried, x, v, w)
        if not tried_cost < cost:
            damping *= 10.0
            if damping > 1e6:
                break
            continue
        gain, seen, cost, damping = cost - tried_cost, tried, tried_cost, damping / 10.0
        if gain <= _LEAST_GAIN * cost:
            break
        gradient, hessian = _derivatives(seen.apply(x), v, w, k)
    return to_middle.inverse() @ seen


def _cost(f: Isometry, x: np.ndarray, v: np.ndarray, w: np.ndarray) -> float:
    return float((w * distance(f.apply(x), v, f.curvature) ** 2).sum()) * f.curvature


def _derivatives(
    z: np.ndarray, v: np.ndarray, w: np.ndarray, k: float
) -> tuple[np.ndarray, np.ndarray]:
    """Gradient and approximate Hessian of ½Σ w·k·d(z, v)² when z moves along each generator.

    With ρ = √k·d and e the direction from z to v, the gradient at z is −ρe; the Hessian is 1 along
    e and ρ·coth ρ across.
    """
    z, gap = as_ball_points(z, k)
    toward = 2.0 * np.sqrt(k) / gap[:, None] * log_map(z, v, k)
    rho = np.hypot.reduce(toward, axis=1)
    e = toward / np.where(rho > 0.0, rho, 1.0)[:, None]
    across = np.where(rho > 1e-4, rho / np.tanh(np.maximum(rho, 1e-4)), 1.0)
    fields = 2.0 * np.sqrt(k) / gap[:, None] * _generators(z, k)
    along = (fields * e).sum(axis=2)
    gradient = -(along * (w * rho)).sum(axis=1)
    flat = fields * np.sqrt(w * across)[:, None]
    hessian = np.tensordot(flat, flat, axes=((1, 2), (1, 2)))
    return gradient, hessian - (along * (w * (across - 1.0))) @ along.T


def _generators(z: np.ndarray, k: float) -> np.ndarray:
    """How points z (n, d) begin to move under each of the d moves and d(d−1)/2 turns: (…, n, d)."""
    d = z.shape[1]
    t = np.eye(d)[:, None] / (2.0 * np.sqrt(k))
    moves = (1.0 + k * (z * z).sum(axis=1))[:, None] * t - 2.0 * k * (z * t).sum(-1)[..., None] * z
    turns = np.zeros((d * (d - 1) // 2, *z.shape))
    for turn, i, j in zip(turns, *np.triu_indices(d, 1), strict=True):
        turn[:, i], turn[:, j] = -z[:, j], z[:, i]
    return np.concatenate((moves, turns))


def _step(parameters: np.ndarray, k: float) -> Isometry:
    """The isometry to which the generators lead: d numbers for the move, the others for the turn."""
    d = int(np.sqrt(2 * len(parameters)))
    skew = np.zeros((d, d))
    skew[np.triu_indices(d, 1)] = parameters[d:]
    shift = exp_map(np.zeros(d), parameters[:d] / (2.0 * np.sqrt(k)), k)
    return Isometry(shift, expm(skew.T - skew), k)


def _rough_centroid(x: np.ndarray, gap: np.ndarray, w: np.ndarray, k: float) -> np.ndarray:
    """The centroid, exact if it lies near the origin."""
    pull = w / gap
    pull = pull / pull.max()
    space = 2.0 * np.sqrt(k) * (pull[:, None] * x).sum(axis=0)
    time = (pull * (2.0 - gap)).sum()
    norm = np.sqrt(max(time**2 - space @ space, 0.0))
    # as far out as floats go, if all digits were lost
    ball = space / max(time + norm, np.hypot.reduce(space) * (1.0 + 1e-15))
    return ball / np.sqrt(k)


def _by_class(points: ArrayLike, labels: ArrayLike, name: str) -> dict[Any, np.ndarray]:
    """The points of each class, in the order of the labels."""
    x, y = as_point_rows(points, name), np.asarray(labels)
    if y.shape != (len(x),):
        raise InvalidInput(
            f"{name}_labels must have one label for each of the {len(x)} points of {name}, got "
            f"shape {y.shape}"
        )
    return {label: x[y == label] for label in np.unique(y).tolist()}


def _as_weights(weights: ArrayLike | None, n: int) -> np.ndarray:
    """Weights (n,) ≥ 0 that sum to one."""
    if weights is None:
        return np.full(n, 1.0 / n)
    w = as_numbers(weights, "weights", "(n,)")
    if w.shape != (n,):
        raise InvalidInput(f"weights must have shape ({n},), one for each point, got {w.shape}")
    if not (np.isfinite(w).all() and (w >= 0.0).all() and (w > 0.0).any()):
        raise InvalidInput("weights must be finite, none negative and not all zero")
    w = w / w.max()
    return w / w.sum()


def _root_mean_square(distances: np.ndarray, w: np.ndarray) -> float:
    return float(np.sqrt((w * distances**2).sum()))
