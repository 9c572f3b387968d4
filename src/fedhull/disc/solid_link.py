"""The shortest geodesic between two hulls off the plane, in any dimension.

Each end is in turn replaced by the point of its hull nearest to the other: alternating projections,
which lead to the shortest geodesic wherever distances are convex (Bačák 2014). A nearest point is
found without error: seen from p, hyperbolic balls around p are Euclidean balls in the Klein model,
and hulls are polytopes.
"""

import numpy as np

from fedhull.disc.maps import distance, mobius_add, pairwise_distance
from fedhull.disc.models import klein_to_poincare, poincare_to_klein

_MOST_ROUNDS = 2_000
# Hulls less than this apart, for curvature −1, count as touching.
_TOUCHING = 1e-9


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
