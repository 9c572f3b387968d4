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

from fedhull.disc.centroid import centroid
from fedhull.disc.isometry import Isometry, translation
from fedhull.disc.maps import distance, exp_map, log_map
from fedhull.disc.models import poincare_to_hyperboloid
from fedhull.disc.points import as_ball_points, as_point_rows, as_weights, check_curvature
from fedhull.errors import InvalidInput

# A reflection must better the fit by this share of the points' spread to be believed.
_BELIEVED = 1e-6
_MOST_STEPS, _ROUGH, _FINE = 60, 1e-2, 1e-14
_NOTHING = 1e-26  # a misfit of 1e-13: rounding


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
    found = _best(proper, pairs)
    spread = _root_mean_square(distance(np.zeros(x.shape[1]), pairs.y, k), w)
    misfit = np.sqrt(2.0 * pairs.cost(found) / k)
    if reflect and misfit > _BELIEVED * spread:
        other = _best(mirrored, pairs)
        if np.sqrt(2.0 * pairs.cost(other) / k) < misfit - _BELIEVED * spread:
            found = other
    isometry, before = to_middle.inverse() @ found, distance(x, y, k)
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
            f"{'reflection' if reflect else 'rotation'}, but share {len(shared)}"
            f"{': ' + ', '.join(map(str, shared)) if shared else ''}"
            f"{'; two are enough with reflect=False' if reflect else ''}"
        )
    here, there = (np.stack([centroid(side[c], curvature=k) for c in shared]) for side in sides)
    n, m = (np.array([len(side[c]) for c in shared], dtype=np.float64) for side in sides)
    found = align(here, there, n * m / (n + m), k, reflect)
    return Alignment(
        found.isometry, found.misfit, found.before, found.distances, classes=tuple(shared)
    )


def _starts(
    x: np.ndarray, v: np.ndarray, w: np.ndarray, k: float
) -> tuple[list[Isometry], list[Isometry]]:
    """Closed forms without and with reflection, for x and targets v that are centred already: x is
    centred too, and Q has the least Σ w‖v−Qu‖² of tangent vectors, or of the coordinates on the
    hyperboloid.

    The first does not let the farthest points decide alone, the second is that of the literature.
    """
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
    """Downhill from f by Newton steps in the Lie algebra, until one gains less than a share of the
    cost."""
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
    """What is to be minimised, ½Σ w·k·d(f(x), y)², seen from where turns and moves do not mix: the
    centroid of y is at the origin."""

    x: np.ndarray
    y: np.ndarray
    w: np.ndarray
    k: float

    def cost(self, f: Isometry) -> float:
        apart = distance(f.apply(self.x), self.y, self.k)
        return 0.5 * self.k * float((self.w * apart**2).sum())

    def gradient(self, f: Isometry) -> np.ndarray:
        """How the cost begins to change as f is followed by each of the generators."""
        z, gap = as_ball_points(f.apply(self.x), self.k)
        toward = log_map(z, self.y, self.k)
        pull = 4.0 * self.k * self.w / gap / gap
        return -(generators(z, self.k) * toward * pull[:, None]).sum(axis=(1, 2))

    def newton_step(self, f: Isometry) -> np.ndarray:
        """−|H|⁻¹·gradient: |H| has the Hessian's eigenvectors and the sizes of its eigenvalues, so
        that saddles are left behind."""
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
    """How points z (n, d) begin to move under each of the d moves and d(d−1)/2 turns: (…, n, d)."""
    d = z.shape[1]
    t = np.eye(d)[:, None] / (2.0 * np.sqrt(k))
    moves = (1.0 + k * (z * z).sum(axis=1))[:, None] * t - 2.0 * k * (z * t).sum(-1)[..., None] * z
    turns = np.zeros((d * (d - 1) // 2, *z.shape))
    for turn, i, j in zip(turns, *np.triu_indices(d, 1), strict=True):
        turn[:, i], turn[:, j] = -z[:, j], z[:, i]
    return np.concatenate((moves, turns))


def moved_by(parameters: np.ndarray, k: float) -> Isometry:
    """Where the generators lead: d numbers for the move, the others for the turn."""
    d = int(np.sqrt(2 * len(parameters)))
    skew = np.zeros((d, d))
    skew[np.triu_indices(d, 1)] = parameters[d:]
    shift = exp_map(np.zeros(d), parameters[:d] / (2.0 * np.sqrt(k)), k)
    return Isometry(shift, expm(skew.T - skew), k)


def _by_class(points: ArrayLike, labels: ArrayLike, name: str) -> dict[Any, np.ndarray]:
    """The points of each class, in the order of the labels."""
    x, y = as_point_rows(points, name), np.asarray(labels)
    if y.shape != (len(x),):
        raise InvalidInput(
            f"{name}_labels must have one label for each of the {len(x)} points of {name}, got "
            f"shape {y.shape}"
        )
    return {label: x[y == label] for label in np.unique(y).tolist()}


def _root_mean_square(distances: np.ndarray, w: np.ndarray) -> float:
    return float(np.sqrt((w * distances**2).sum()))
