"""Möbius addition, exp, log, distance, geodesics and hyperplanes in the Poincaré ball (Sec. 3).

Any curvature −k < 0, any dimension, shape (..., d), NumPy broadcasting. The paper's formulas lose
all digits at the rim of the ball. They are rearranged here into sums of positive terms in the gap
1−k‖x‖² (computed without cancellation by `rim_gap`) and in differences of points:

    (−x) ⊕ y  =  ( (1−k‖x‖²)(y−x) − k‖y−x‖²·x )  /  ( (1−k‖x‖²)(1−k‖y‖²) + k‖y−x‖² )
    sinh²(√k·d(x,y)/2)  =  k‖y−x‖² / ( (1−k‖x‖²)(1−k‖y‖²) )

A result whose exact value lies closer to the rim than floats do is moved to the nearest floats
inside the ball. The centroid of points is the m with the least Σ wᵢ·cosh(√k·d(m, xᵢ)): on the
hyperboloid, Σ wᵢXᵢ brought back to the sheet.
"""

import numpy as np
from numpy.typing import ArrayLike

from fedhull.disc.points import (
    as_ball_points,
    as_point_rows,
    as_vectors,
    as_weights,
    check_alike,
    check_curvature,
)
from fedhull.disc.rim import pull_inside, rim_gap
from fedhull.errors import InvalidInput

# Seen from less than this share of the ball's radius away, a centroid keeps all its digits.
_NEAR = 0.9
_MOST_STEPS = 9


def mobius_add(x: ArrayLike, y: ArrayLike, curvature: float = 1.0) -> np.ndarray:
    """x ⊕ y, the ball's addition (eq. 3).

    >>> mobius_add([0.5, 0.0], [0.5, 0.0])
    array([0.8, 0. ])
    """
    k = check_curvature(curvature)
    x, x_gap = as_ball_points(x, k, "x")
    y, y_gap = as_ball_points(y, k, "y")
    check_alike(x=x, y=y)
    return _add(x, x_gap, y, y_gap, k)


def distance(x: ArrayLike, y: ArrayLike, curvature: float = 1.0) -> np.ndarray:
    """Hyperbolic distance (eq. 4), shape (...).

    >>> print(distance([0.0, 0.0], [0.5, 0.0]).round(6))
    1.098612
    """
    k = check_curvature(curvature)
    x, x_gap = as_ball_points(x, k, "x")
    y, y_gap = as_ball_points(y, k, "y")
    check_alike(x=x, y=y)
    return 2.0 / np.sqrt(k) * np.arcsinh(_half_sinh(y - x, x_gap, y_gap, k))


def pairwise_distance(
    x: ArrayLike, y: ArrayLike | None = None, curvature: float = 1.0
) -> np.ndarray:
    """All distances between x (n, d) and y (m, d), or within x, shape (n, m).

    >>> pairwise_distance([[0.0, 0.0], [0.5, 0.0]]).round(6)
    array([[0.      , 1.098612],
           [1.098612, 0.      ]])
    """
    k = check_curvature(curvature)
    x, x_gap = as_ball_points(x, k, "x")
    y, y_gap = (x, x_gap) if y is None else as_ball_points(y, k, "y")
    if x.ndim != 2 or y.ndim != 2 or x.shape[1] != y.shape[1]:
        raise InvalidInput(
            f"x and y must have shapes (n, d) and (m, d), got {x.shape} and {y.shape}"
        )
    apart = np.zeros((len(x), len(y)))
    for x_i, y_i in zip(x.T, y.T, strict=True):
        np.hypot(apart, x_i[:, None] - y_i[None, :], out=apart)
    apart *= np.sqrt(k)
    apart /= np.sqrt(x_gap)[:, None] * np.sqrt(y_gap)[None, :]
    np.arcsinh(apart, out=apart)
    apart *= 2.0 / np.sqrt(k)
    return apart


def log_map(p: ArrayLike, x: ArrayLike, curvature: float = 1.0) -> np.ndarray:
    """The tangent vector at p that points to x (eq. 1); its Riemannian length is d(p, x).

    >>> log_map([0.0, 0.0], [0.5, 0.0]).round(6)
    array([0.549306, 0.      ])
    """
    k = check_curvature(curvature)
    p, p_gap = as_ball_points(p, k, "p")
    x, x_gap = as_ball_points(x, k, "x")
    check_alike(p=p, x=x)
    length = p_gap / np.sqrt(k) * np.arcsinh(_half_sinh(x - p, p_gap, x_gap, k))
    return length[..., None] * _unit(_toward(p, p_gap, x, k))


def exp_map(p: ArrayLike, v: ArrayLike, curvature: float = 1.0) -> np.ndarray:
    """The point reached from p along the tangent vector v (eq. 2), the inverse of `log_map`.

    With e the direction of v, σ = √k‖v‖/(1−k‖p‖²), c = √k⟨p,e⟩ and p⊥ the part of p across e,

        p ⊕ tanh(σ)e/√k = ( [(ch+c·sh)(sh+c·ch) − k‖p⊥‖²·sh·ch]·e/√k + (ch2σ + c·sh2σ)·p⊥ ) / D,
        D = (ch+c·sh)² + k‖p⊥‖²·sh²,    ch = cosh σ, sh = sinh σ,

    which keeps its digits where p ⊕ · cancels: on the way from one side of the rim to the other.

    >>> exp_map([0.0, 0.0], [0.5493061443340548, 0.0]).round(6)
    array([0.5, 0. ])
    """
    k = check_curvature(curvature)
    p, p_gap = as_ball_points(p, k, "p")
    v = as_vectors(v, "v")
    check_alike(p=p, v=v)
    e = _unit(v)
    with np.errstate(over="ignore"):
        sigma = np.sqrt(k) * np.hypot.reduce(v, axis=-1) / p_gap
    c = np.sqrt(k) * (p * e).sum(axis=-1)
    across = p - (c / np.sqrt(k))[..., None] * e
    width = k * (across * across).sum(axis=-1)
    # 1 + c without cancellation: (1+c)(1−c) = 1−k‖p‖² + k‖p⊥‖²
    above = np.where(c < 0.0, (p_gap + width) / (1.0 - np.minimum(c, 0.0)), 1.0 + c)
    # everything is multiplied by (2·exp(−σ))² = 4a, so that nothing overflows
    a, rest = np.exp(-2.0 * sigma), -np.expm1(-2.0 * sigma)
    forward = 2.0 * a + above * rest
    along = forward * (above * (1.0 + a) - 2.0 * a) - width * rest * (1.0 + a)
    sideways = 4.0 * a * a + 2.0 * above * rest * (1.0 + a)
    denominator = forward * forward + width * rest * rest
    point = (along / np.sqrt(k))[..., None] * e + sideways[..., None] * across
    return pull_inside(point / denominator[..., None], k)


def geodesic(x: ArrayLike, y: ArrayLike, t: ArrayLike, curvature: float = 1.0) -> np.ndarray:
    """The point a share t of the way from x (t=0) to y (t=1); t broadcasts over (...).

    On the hyperboloid, (sinh((1−t)δ)·X + sinh(tδ)·Y) / sinh δ, δ the distance for curvature −1.

    >>> geodesic([0.0, 0.0], [0.8, 0.0], 0.5)
    array([0.5, 0. ])
    """
    k = check_curvature(curvature)
    x, x_gap = as_ball_points(x, k, "x")
    y, y_gap = as_ball_points(y, k, "y")
    check_alike(x=x, y=y)
    share = as_vectors(np.atleast_1d(t), "t").reshape(np.shape(t))
    delta = 2.0 * np.arcsinh(_half_sinh(y - x, x_gap, y_gap, k))
    still = delta == 0.0
    delta = np.where(still, 1.0, delta)
    from_x = np.where(still, 1.0, np.sinh((1.0 - share) * delta) / np.sinh(delta)) / x_gap
    from_y = np.where(still, 0.0, np.sinh(share * delta) / np.sinh(delta)) / y_gap
    space = from_x[..., None] * x + from_y[..., None] * y
    time = from_x * (1.0 - x_gap / 2.0) + from_y * (1.0 - y_gap / 2.0)
    return pull_inside(space / (0.5 + time)[..., None], k)


def geodesic_midpoint(x: ArrayLike, y: ArrayLike, curvature: float = 1.0) -> np.ndarray:
    """The point half way between x and y: on the hyperboloid, their sum brought back to the sheet.

    >>> geodesic_midpoint([-0.5, 0.0], [0.5, 0.0])
    array([0., 0.])
    """
    k = check_curvature(curvature)
    x, x_gap = as_ball_points(x, k, "x")
    y, y_gap = as_ball_points(y, k, "y")
    check_alike(x=x, y=y)
    # multiplied through by both gaps, halved
    space = x * y_gap[..., None] + y * x_gap[..., None]
    time = (1.0 - x_gap / 2.0) * y_gap + (1.0 - y_gap / 2.0) * x_gap
    norm = np.sqrt(x_gap * y_gap) * np.sqrt(
        x_gap * y_gap + k * np.hypot.reduce(y - x, axis=-1) ** 2
    )
    return pull_inside(space / (time + norm)[..., None], k)


def parallel_transport(
    p: ArrayLike, q: ArrayLike, v: ArrayLike, curvature: float = 1.0
) -> np.ndarray:
    """The tangent vector v at p carried along the geodesic to q.

    Transport is the reflection that swaps p and q, after v is reflected along the geodesic. The
    ball is conformal, and the inversion that swaps p and q is centred on their line, so both are
    Euclidean reflections, in the directions of q−p and of log_p(q); lengths scale with the gaps.

    >>> parallel_transport([0.0, 0.0], [0.5, 0.0], [0.0, 1.0])
    array([0.  , 0.75])
    """
    k = check_curvature(curvature)
    p, p_gap = as_ball_points(p, k, "p")
    q, q_gap = as_ball_points(q, k, "q")
    v = as_vectors(v, "v")
    check_alike(p=p, q=q, v=v)
    turned = _reflect(_reflect(v, _unit(_toward(p, p_gap, q, k))), _unit(q - p))
    return (q_gap / p_gap)[..., None] * turned


def hyperplane_distance(
    x: ArrayLike, p: ArrayLike, w: ArrayLike, curvature: float = 1.0
) -> np.ndarray:
    """Signed distance of x from the hyperplane through p with normal w (eq. 5), positive towards w.

    >>> print(hyperplane_distance([0.5, 0.3], [0.5, 0.0], [0.0, 1.0]).round(6))
    0.815609
    """
    k = check_curvature(curvature)
    w = as_vectors(w, "w")
    length = np.hypot.reduce(w, axis=-1)
    if (length == 0.0).any():
        raise InvalidInput("w must not be the zero vector: it is the normal of a hyperplane")
    x, x_gap = as_ball_points(x, k, "x")
    p, p_gap = as_ball_points(p, k, "p")
    check_alike(x=x, p=p, w=w)
    # u = (−p)⊕x enters as u/(1−k‖u‖²), where the denominators cancel
    height = (_toward(p, p_gap, x, k) * w).sum(axis=-1) / (length * p_gap * x_gap)
    return np.arcsinh(2.0 * np.sqrt(k) * height) / np.sqrt(k)


def hyperplane_side(x: ArrayLike, p: ArrayLike, w: ArrayLike, curvature: float = 1.0) -> np.ndarray:
    """1 on the side of the hyperplane to which w points, −1 on the other, 0 on it.

    >>> hyperplane_side([[0.5, 0.3], [0.5, -0.3]], [0.5, 0.0], [0.0, 1.0])
    array([ 1, -1])
    """
    return np.sign(hyperplane_distance(x, p, w, curvature)).astype(np.int64)


def _half_sinh(
    difference: np.ndarray, x_gap: np.ndarray, y_gap: np.ndarray, k: float
) -> np.ndarray:
    """sinh(√k·d/2) of two points, from their difference and gaps."""
    return np.sqrt(k) * np.hypot.reduce(difference, axis=-1) / (np.sqrt(x_gap) * np.sqrt(y_gap))


def _toward(p: np.ndarray, p_gap: np.ndarray, x: np.ndarray, k: float) -> np.ndarray:
    """(−p) ⊕ x up to its positive denominator: the direction in which p sees x."""
    away = x - p
    square = (away * away).sum(axis=-1, keepdims=True)
    return p_gap[..., None] * away - k * square * p


def _add(
    x: np.ndarray, x_gap: np.ndarray, y: np.ndarray, y_gap: np.ndarray, k: float
) -> np.ndarray:
    total = x + y
    square = k * (total * total).sum(axis=-1, keepdims=True)
    denominator = (x_gap * y_gap)[..., None] + square
    return pull_inside((x_gap[..., None] * total + square * x) / denominator, k)


def _unit(v: np.ndarray) -> np.ndarray:
    """v / ‖v‖, and zero for zero, whatever the size of v."""
    largest = np.abs(v).max(axis=-1, keepdims=True)
    v = v / np.where(largest > 0.0, largest, 1.0)
    length = np.hypot.reduce(v, axis=-1)[..., None]
    return v / np.where(length > 0.0, length, 1.0)


def _reflect(v: np.ndarray, unit: np.ndarray) -> np.ndarray:
    """v with its component along `unit` turned round."""
    return v - 2.0 * (v * unit).sum(axis=-1, keepdims=True) * unit


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
    points: ArrayLike, groups: ArrayLike, weights: ArrayLike | None = None, curvature: float = 1.0
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
    middle: np.ndarray, x: np.ndarray, gap: np.ndarray, w: np.ndarray, groups: np.ndarray, k: float
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
