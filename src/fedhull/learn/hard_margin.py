"""The widest margin between the hulls of two separable classes."""

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from fedhull.disc.hull import minimal_hull
from fedhull.disc.link import separates, shortest_link
from fedhull.disc.maps import distance, geodesic_midpoint, hyperplane_distance, log_map
from fedhull.disc.points import check_curvature
from fedhull.errors import InvalidInput
from fedhull.learn.prediction import points_of

_MOST_DIMENSIONS = 8


class HardMarginGeodesic(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """The geodesic (off the plane, the hyperplane) farthest from the hulls of two classes.

    It is the perpendicular bisector of the shortest geodesic ab between the two hulls: every
    boundary that separates them crosses ab, so one of a and b is at most d(a,b)/2 away from it, and
    the bisector attains that, since distance to a point is convex along geodesics. In the disc ab
    joins corners, a corner and an edge, or, unlike in the plane, the insides of two edges; all are
    tried, so there is no solver and no reference point to guess. In other dimensions alternating
    projections find the ends. The margin is that of the hulls: edges bulge towards a boundary, so
    the points alone may keep a larger distance from some other geodesic.

    margin_ : half of d(a,b). p_, w_ : a point of the boundary and its normal, towards
    `classes_[1]`.

    >>> model = HardMarginGeodesic().fit([[0.5, 0.0], [-0.5, 0.0]], [1, 0])
    >>> print(round(model.margin_, 6), model.predict([[0.1, 0.7]]))
    1.098612 [1]
    """

    def __init__(self, *, curvature: float = 1.0):
        self.curvature = curvature

    def fit(self, X: Any, y: Any) -> "HardMarginGeodesic":  # noqa: N803
        """Fit to points (n, d) of two classes; InvalidInput if no geodesic separates them."""
        X, y = validate_data(self, X, y, dtype=np.float64)  # noqa: N806
        check_classification_targets(y)
        self.classes_ = np.unique(y)
        if len(self.classes_) != 2:
            raise InvalidInput(
                "Only binary classification is supported: y must hold two classes, got "
                f"{len(self.classes_)} class" + ("es" if len(self.classes_) != 1 else "")
            )
        k = check_curvature(self.curvature)
        negative, positive = (
            # where hulls cannot be found, all points stand for their corners
            side[minimal_hull(side, k)] if X.shape[1] <= _MOST_DIMENSIONS else side
            for side in (X[y == c] for c in self.classes_)
        )
        a, b = shortest_link(negative, positive, k)
        self.margin_ = float(distance(a, b, k)) / 2.0
        self.p_ = geodesic_midpoint(a, b, k)
        self.w_ = log_map(self.p_, b, k)
        if not separates(self.p_, self.w_, negative, positive, k):
            raise InvalidInput(
                "the two classes must be separable by a geodesic, but their hulls meet; use "
                "PoincareSVC or LorentzClassifier"
            )
        return self

    def decision_function(self, X: Any) -> np.ndarray:  # noqa: N803
        """Signed distance from the boundary, shape (n,), positive on the side of classes_[1]."""
        check_is_fitted(self)
        return self._signed(validate_data(self, points_of(self, X), dtype=np.float64, reset=False))

    def predict(self, X: Any) -> np.ndarray:  # noqa: N803
        """The side of the boundary."""
        side = (self.decision_function(X) > 0.0).astype(int)
        return self.classes_[side]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags

    def _signed(self, points: np.ndarray) -> np.ndarray:
        return hyperplane_distance(points, self.p_, self.w_, self.curvature)
