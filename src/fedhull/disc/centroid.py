"""The centroid on the hyperboloid: Σ wᵢXᵢ brought back to the sheet, accurate up to the rim.

It is the point m with the least Σ wᵢ·cosh(√k·d(m, xᵢ)), lies inside the hull of the points and
moves with every isometry.
"""

import numpy as np
from numpy.typing import ArrayLike

from fedhull.disc.maps import mobius_add
from fedhull.disc.points import as_ball_points, as_point_rows, as_weights, check_curvature
from fedhull.disc.rim import pull_inside, rim_gap
from fedhull.errors import InvalidInput

# Seen from less than this share of the ball's radius away, a centroid keeps all its digits.
_NEAR = 0.9
_MOST_STEPS = 9


def centroid(
    points: ArrayLike, weights: ArrayLike | None = None, curvature: float = 1.0
) -> np.ndarray:
    """The centroid of points (n, d) with weights (n,), all alike if left out; shape (d,).

    >>> centroid([[0.8, 0.0], [0.0, 0.0]])
    array([0.5, 0. ])
    """
    rows = as_point_rows(points)
    return centroids(rows, np.zeros(len(rows), dtype=np.int64), weights, curvature)[0]


def centroids(
    points: ArrayLike,
    groups: ArrayLike,
    weights: ArrayLike | None = None,
    curvature: float = 1.0,
) -> np.ndarray:
    """The centroids, (g, d), of the groups 0, …, g−1 to which points (n, d) belong, none empty.

    >>> centroids([[0.8, 0.0], [0.0, 0.3], [0.0, 0.0]], groups=[0, 1, 0])
    array([[0.5, 0. ],
           [0. , 0.3]])
    """
    k = check_curvature(curvature)
    x, gap = as_ball_points(as_point_rows(points), k)
    w = as_weights(weights, len(x))
    numbers = np.asarray(groups)
    if numbers.shape != (len(x),) or numbers.dtype.kind not in "iu" or numbers.min() < 0:
        raise InvalidInput(f"groups must be {len(x)} whole numbers ≥ 0, one for each point")
    if not np.bincount(numbers, w).all():
        raise InvalidInput(
            "groups must be numbered 0, 1, 2, … and each hold some weight, but group "
            f"{int(np.bincount(numbers, w).argmin())} is empty"
        )
    middle = np.zeros((int(numbers.max()) + 1, x.shape[1]))
    # From afar, time² − space² cancels. From where that leads, though, points that are together at
    # the rim look nearer to the centre, and from there nearer still. Groups that have arrived stay,
    # so that no group's centroid depends on the others.
    moving = np.arange(len(middle))
    for _ in range(_MOST_STEPS):
        step = _step(middle[moving], x, gap, w, numbers, k)
        middle[moving] = mobius_add(middle[moving], step, k)
        far = np.sqrt(k) * np.hypot.reduce(step, axis=1) > _NEAR
        if not far.any():
            break
        still = far[numbers]
        x, gap, w, numbers = x[still], gap[still], w[still], (np.cumsum(far) - 1)[numbers[still]]
        moving = moving[far]
    return middle


def _step(
    middle: np.ndarray,
    x: np.ndarray,
    gap: np.ndarray,
    w: np.ndarray,
    groups: np.ndarray,
    k: float,
) -> np.ndarray:
    """The groups' centroids (g, d) as seen from `middle` (g, d).

    From m, a point x has the time 1 + 2k‖x−m‖²/s and the space 2√k·((1−k‖m‖²)(x−m) − k‖x−m‖²·m)/s
    on the hyperboloid, s = (1−k‖m‖²)(1−k‖x‖²).
    """
    here, here_gap = middle[groups], rim_gap(middle, k)[groups]
    away = x - here
    square = k * (away * away).sum(axis=1)
    scale = 2.0 * w / (here_gap * gap)
    time = np.bincount(groups, w + scale * square)
    toward = here_gap[:, None] * away - square[:, None] * here
    space = np.column_stack([np.bincount(groups, np.sqrt(k) * scale * part) for part in toward.T])
    length = np.hypot.reduce(space, axis=1)
    norm = np.sqrt(np.maximum((time - length) * (time + length), 0.0))
    # as far out as floats go, if all digits were lost
    ball = space / np.maximum(time + norm, length * (1.0 + 1e-15))[:, None]
    return pull_inside(ball / np.sqrt(k), k)
