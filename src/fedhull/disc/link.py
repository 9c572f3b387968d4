"""The shortest geodesic between two hulls, and with it their distance; in the disc, exactly.

In other dimensions each end is in turn replaced by the point of its hull nearest to the other:
alternating projections, which lead to the shortest geodesic wherever distances are convex (Bačák
2014). A nearest point is found without error: seen from p, hyperbolic balls around p are Euclidean
balls in the Klein model, and hulls are polytopes.
"""

import numpy as np

from fedhull.disc.maps import (
    distance,
    hyperplane_distance,
    mobius_add,
    pairwise_distance,
)
from fedhull.disc.models import (
    hyperboloid_to_poincare,
    klein_to_poincare,
    poincare_to_hyperboloid,
    poincare_to_klein,
)

_MOST_ROUNDS = 2_000
# Hulls less than this apart, for curvature −1, count as touching.
_TOUCHING = 1e-9


def separates(
    p: np.ndarray, w: np.ndarray, first: np.ndarray, second: np.ndarray, k: float
) -> bool:
    """True if the geodesic through p with normal w has the hulls on its two sides."""
    if not w.any():
        return False
    return bool(
        (hyperplane_distance(first, p, w, k) < 0.0).all()
        and (hyperplane_distance(second, p, w, k) > 0.0).all()
    )


def shortest_link(first: np.ndarray, second: np.ndarray, k: float) -> list[np.ndarray]:
    """The two ends of the shortest geodesic between two hulls, given by their corners (n, d)."""
    if first.shape[1] != 2:
        return list(solid_link(first, second, k))
    ends = [np.roll(hull, -1, axis=0) for hull in (first, second)]
    one, other = _perpendicular_feet(
        (first[:, None], ends[0][:, None]), (second[None], ends[1][None]), k
    )
    # each array holds a table of candidates: corner to corner, corner to edge, edge to edge
    links = [
        np.broadcast_arrays(first[:, None], second[None]),
        np.broadcast_arrays(first[:, None], _feet(first[:, None], second[None], ends[1][None], k)),
        np.broadcast_arrays(_feet(second[:, None], first[None], ends[0][None], k), second[:, None]),
        [one, other],
    ]
    shortest = [distance(a, b, k) for a, b in links]
    best = int(np.argmin([table.min() for table in shortest]))
    place = np.unravel_index(np.argmin(shortest[best]), shortest[best].shape)
    return [ends[place] for ends in links[best]]


def _feet(p: np.ndarray, a: np.ndarray, b: np.ndarray, k: float) -> np.ndarray:
    """Feet of the perpendiculars from p to the geodesics ab if they fall between a and b, else a.

    On the hyperboloid the foot is the part of p in the plane of a and b, brought back to the sheet.
    """
    p_up, a_up, b_up = (poincare_to_hyperboloid(x, k) for x in (p, a, b))
    normal = _normal(a_up, b_up)
    square = _lorentz(normal, normal)
    flat = np.where(square > 0.0, square, 1.0)
    foot = p_up - (_lorentz(p_up, normal) / flat)[..., None] * normal
    between = (square > 0.0) & _between(foot, a_up, b_up, k)
    return _back(np.where(between[..., None], foot, a_up), k)


def _perpendicular_feet(
    first: tuple[np.ndarray, np.ndarray], second: tuple[np.ndarray, np.ndarray], k: float
) -> list[np.ndarray]:
    """Feet of the common perpendicular of two edges, if inside both; else the edges' first corners.
    Geodesics that do not meet have one: it lies in the plane of both normals."""
    edges = [[poincare_to_hyperboloid(x, k) for x in edge] for edge in (first, second)]
    normals = [_normal(*edge) for edge in edges]
    squares = [_lorentz(n, n) for n in normals]
    mixed = _lorentz(*normals)
    apart = (squares[0] > 0.0) & (squares[1] > 0.0) & (mixed**2 > squares[0] * squares[1])
    feet = []
    for (n, square), other in zip(
        zip(normals, squares, strict=True), reversed(normals), strict=True
    ):
        foot = other - (mixed / np.where(square > 0.0, square, 1.0))[..., None] * n
        feet.append(np.where(foot[..., :1] < 0.0, -foot, foot))
    for foot, edge in zip(feet, edges, strict=True):
        apart = apart & _between(foot, edge[0], edge[1], k)
    return [
        _back(np.where(apart[..., None], foot, edge[0]), k)
        for foot, edge in zip(feet, edges, strict=True)
    ]


def _between(foot: np.ndarray, a: np.ndarray, b: np.ndarray, k: float) -> np.ndarray:
    """True if a vector in the plane of a and b is a positive combination of them."""
    ab, fa, fb = (-k * _lorentz(u, v) for u, v in ((a, b), (foot, a), (foot, b)))
    return (ab * fb > fa) & (ab * fa > fb)


def _normal(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The normal of the plane through a, b and the origin, in the sense of the Lorentz product."""
    return np.cross(a, b) * np.array([-1.0, 1.0, 1.0])


def _back(vectors: np.ndarray, k: float) -> np.ndarray:
    """The points of the disc in the direction of vectors inside the cone."""
    scale = np.sqrt(-k * _lorentz(vectors, vectors))
    return hyperboloid_to_poincare(vectors / scale[..., None], k)


def _lorentz(u: np.ndarray, v: np.ndarray) -> np.ndarray:
    return (u[..., 1:] * v[..., 1:]).sum(axis=-1) - u[..., 0] * v[..., 0]


def solid_link(first: np.ndarray, second: np.ndarray, k: float) -> tuple[np.ndarray, np.ndarray]:
    """The ends, (d,) each, of the shortest geodesic between the hulls of points (n, d) and (m, d).

    >>> a, b = solid_link(np.array([[0.5, 0.1, 0.0], [0.5, -0.1, 0.0]]), np.zeros((1, 3)), 1.0)
    >>> a.round(6) + 0.0, b.round(6) + 0.0
    (array([0.493449, 0.      , 0.      ]), array([0., 0., 0.]))
    """
    apart = pairwise_distance(first, second, k)
    i, j = np.unravel_index(apart.argmin(), apart.shape)
    a, b, length = first[i], second[j], float(apart[i, j])
    for _ in range(_MOST_ROUNDS):
        a = nearest_in_hull(first, b, k)
        b = nearest_in_hull(second, a, k)
        before, length = length, float(distance(a, b, k))
        if length >= before or np.sqrt(k) * length < _TOUCHING:
            break
    return a, b


def nearest_in_hull(points: np.ndarray, p: np.ndarray, k: float) -> np.ndarray:
    """The point (d,) of the hull of points (n, d) that is nearest to p (d,).

    >>> nearest_in_hull(np.array([[0.5, 0.3], [0.5, -0.1]]), np.array([0.4, 0.9]), 1.0).round(6)
    array([0.5, 0.3])
    """
    from scipy.optimize import nnls  # slow to import, and not needed in the plane

    seen = np.sqrt(k) * poincare_to_klein(mobius_add(-p, points, k), k)
    size = np.abs(seen).max()
    if size == 0.0:
        return p
    # least norm over a convex hull is least squares with non-negative shares (Lawson and Hanson)
    stacked = np.vstack((seen.T / size, np.ones(len(seen))))
    shares, _ = nnls(stacked, np.r_[np.zeros(len(p)), 1.0])
    foot = shares @ seen / (shares.sum() * np.sqrt(k))
    return mobius_add(p, klein_to_poincare(foot, k), k)
