"""The exact widest margin between two separable classes of the disc."""

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from fedhull.disc.hull import minimal_hull
from fedhull.disc.maps import distance, geodesic_midpoint, hyperplane_distance, log_map
from fedhull.disc.models import hyperboloid_to_poincare, poincare_to_hyperboloid
from fedhull.disc.points import check_curvature
from fedhull.errors import InvalidInput


class HardMarginGeodesic(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """The geodesic farthest from the hulls of two classes: no solver, no reference point to guess.

    It is the perpendicular bisector of the shortest geodesic ab between the two hulls. Proof
    sketch: every boundary that separates the hulls crosses ab, so one of a and b is at most
    d(a,b)/2 away from it. The bisector attains that: were a point of a's hull nearer to it than a,
    the segment from a to that point would come nearer to b than a does, since distance to a point
    is convex along geodesics. The shortest ab joins corners, a corner and an edge, or, unlike in
    the plane, the insides of two edges along their common perpendicular; all are tried.

    The margin is that of the hulls. The points alone may keep a larger distance from some other
    geodesic: edges bulge towards a boundary, as points at least m away from it form no convex set.

    margin_ : half of d(a,b). p_, w_ : a point of the boundary and its normal, towards classes_[1].

    >>> model = HardMarginGeodesic().fit([[0.5, 0.0], [-0.5, 0.0]], [1, 0])
    >>> print(round(model.margin_, 6), model.predict([[0.1, 0.7]]))
    1.098612 [1]
    """

    def __init__(self, *, curvature: float = 1.0):
        self.curvature = curvature

    def fit(self, X: Any, y: Any) -> "HardMarginGeodesic":  # noqa: N803
        """Fit to points (n, 2) of two classes; InvalidInput if no geodesic separates them."""
        X, y = validate_data(self, X, y, dtype=np.float64)  # noqa: N806
        check_classification_targets(y)
        self.classes_ = np.unique(y)
        if len(self.classes_) != 2:
            raise InvalidInput(
                "Only binary classification is supported: y must hold two classes, got "
                f"{len(self.classes_)} class" + ("es" if len(self.classes_) != 1 else "")
            )
        if X.shape[1] != 2:
            raise InvalidInput(f"X must lie in the disc, shape (n, 2), got shape {X.shape}")
        k = check_curvature(self.curvature)
        negative, positive = (
            side[minimal_hull(side, k)] for side in (X[y == c] for c in self.classes_)
        )
        a, b = _shortest_link(negative, positive, k)
        self.margin_ = float(distance(a, b, k)) / 2.0
        self.p_ = geodesic_midpoint(a, b, k)
        self.w_ = log_map(self.p_, b, k)
        if (
            self.margin_ == 0.0
            or (self._signed(positive) <= 0.0).any()
            or (self._signed(negative) >= 0.0).any()
        ):
            raise InvalidInput(
                "the two classes must be separable by a geodesic, but their hulls meet; use "
                "PoincareSVC or LorentzClassifier"
            )
        return self

    def decision_function(self, X: Any) -> np.ndarray:  # noqa: N803
        """Signed distance from the boundary, shape (n,), positive on the side of classes_[1]."""
        check_is_fitted(self)
        return self._signed(validate_data(self, X, dtype=np.float64, reset=False))

    def predict(self, X: Any) -> np.ndarray:  # noqa: N803
        """The side of the boundary."""
        return self.classes_[(self.decision_function(X) > 0.0).astype(int)]

    def _signed(self, points: np.ndarray) -> np.ndarray:
        return hyperplane_distance(points, self.p_, self.w_, self.curvature)


def _shortest_link(first: np.ndarray, second: np.ndarray, k: float) -> list[np.ndarray]:
    """The two ends of the shortest geodesic between two hulls, given by their corners."""
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
    """Where the common perpendicular of two edges meets each, if it does inside both; else the
    edges' first corners. Geodesics that do not meet have one: it lies in the plane of both normals.
    """
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
    """Whether a vector in the plane of a and b is a positive combination of them."""
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
