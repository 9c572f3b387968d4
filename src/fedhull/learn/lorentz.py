"""The default classifier of a study: multinomial logistic regression on the hyperboloid."""

import warnings
from typing import Any

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax, softmax
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, cross_val_predict, cross_val_score
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from fedhull.disc.models import poincare_to_hyperboloid
from fedhull.disc.points import check_curvature
from fedhull.errors import InvalidInput
from fedhull.learn.content import Content, Table, check_shape, shared

_STRENGTHS = (1e1, 1e2, 1e3, 1e4, 1e5, 1e6)
_DEFAULT_STRENGTH = 1e3
# Cross-validation of the strength looks at no more points than this.
_MOST_POINTS = 4_000


class LorentzContent(Content, tag="lorentz"):
    """A model file of a `LorentzClassifier`: coef (d+1, J) and intercept (J,)."""

    coef: Table
    intercept: list[float]

    def check(self) -> None:
        """Shapes that go together."""
        check_shape(self.coef, "coef", self.dimension + 1, len(self.classes))
        check_shape(self.intercept, "intercept", len(self.classes))


class LorentzClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Logits that are affine in the coordinates X of the hyperboloid: ⟨w_j, X⟩ + b_j.

    One convex problem finds the boundaries between all classes at once, in any dimension. With
    ``fit_intercept=False`` the boundary between two classes, ⟨w_i−w_j, X⟩ = 0, is a geodesic. With
    an intercept, the default, it runs at a constant distance from one, which fits classes that lie
    inside others much better; `boundary` gives reference point, normal and distance.

    C : the inverse strength of the L2 penalty, on coordinates scaled to unit covariance; "auto"
    chooses it by cross-validation on the training points. class_weight : as in scikit-learn.
    calibrate : divide the logits by the temperature that fits left-out training points best, so
    that probabilities are not surer than they should be; not with class weights, which ask for
    something else. Where training points are hull corners, real points may be less certain still.

    >>> model = LorentzClassifier(C=100.0).fit([[0.5, 0.0], [-0.5, 0.0]], ["right", "left"])
    >>> model.predict([[0.3, 0.3]])
    array(['right'], dtype='<U5')
    """

    Content = LorentzContent

    def __init__(
        self,
        C: float | str = "auto",  # noqa: N803 - scikit-learn's name
        *,
        curvature: float = 1.0,
        fit_intercept: bool = True,
        class_weight: Any = None,
        calibrate: bool = True,
        random_state: int | None = 0,
    ):
        self.C = C
        self.curvature = curvature
        self.fit_intercept = fit_intercept
        self.class_weight = class_weight
        self.calibrate = calibrate
        self.random_state = random_state

    @classmethod
    def for_study(cls, curvature: float, strength: float) -> "LorentzClassifier":
        """A fresh one, which chooses its strength itself."""
        return cls(curvature=curvature)

    def fit(self, X: Any, y: Any) -> "LorentzClassifier":  # noqa: N803
        """Fit to points (n, d) of the ball with labels (n,)."""
        X, y = validate_data(self, X, y, dtype=np.float64)  # noqa: N806
        check_classification_targets(y)
        self.classes_, targets = np.unique(y, return_inverse=True)
        if len(self.classes_) < 2:
            raise InvalidInput(
                f"y must hold at least two classes, got one class: {self.classes_[0]!r}"
            )
        features = self._features(X)
        whitening = _whitening(features)
        scaled = features @ whitening
        with warnings.catch_warnings():
            # separable classes, as hulls often are: the loss is flat long before its gradient is
            # small, and the solvers say so
            warnings.simplefilter("ignore", ConvergenceWarning)
            folds = self._folds(scaled, targets)
            self.C_ = self._strength(*folds)
            self.temperature_ = self._temperature(*folds) if self.calibrate else 1.0
            inner = self._regression(self.C_).fit(scaled, targets)
        rows = inner.coef_
        if len(self.classes_) == 2:
            rows = np.vstack((np.zeros_like(rows), rows))
        weights = whitening @ rows.T / self.temperature_
        self.n_iter_ = inner.n_iter_
        self.coef_: np.ndarray = weights[:-1] if self.fit_intercept else weights
        self.intercept_: np.ndarray = (
            weights[-1] if self.fit_intercept else np.zeros(len(self.classes_))
        )
        return self

    def decision_function(self, X: Any) -> np.ndarray:  # noqa: N803
        """Logits, shape (n, J), or for two classes the logit of the second, shape (n,)."""
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, reset=False)  # noqa: N806
        logits = poincare_to_hyperboloid(X, self.curvature) @ self.coef_ + self.intercept_
        return logits[:, 1] - logits[:, 0] if len(self.classes_) == 2 else logits

    def predict_proba(self, X: Any) -> np.ndarray:  # noqa: N803
        """Probabilities of the classes, shape (n, J)."""
        logits = self.decision_function(X)
        if logits.ndim == 1:
            logits = np.column_stack((np.zeros(len(logits)), logits))
        return softmax(logits, axis=1)

    def predict(self, X: Any) -> np.ndarray:  # noqa: N803
        """The most probable class of each point."""
        logits = self.decision_function(X)
        best = (logits > 0).astype(int) if logits.ndim == 1 else logits.argmax(axis=1)
        return self.classes_[best]

    def boundary(self, first: Any, second: Any) -> tuple[np.ndarray, np.ndarray, float] | None:
        """(p, w, distance): the boundary between two classes is at this signed distance from the
        geodesic through the reference point p with unit normal w, which points to `first`; at 0 it
        is that geodesic. None if the boundary is closed (a circle) or empty.
        """
        check_is_fitted(self)
        i, j = (int(np.flatnonzero(self.classes_ == c)[0]) for c in (first, second))
        time, *space = self.coef_[:, i] - self.coef_[:, j]
        offset = self.intercept_[j] - self.intercept_[i]
        space_norm = float(np.linalg.norm(space))
        if space_norm <= abs(time):
            return None
        root = np.sqrt(check_curvature(self.curvature))
        # the geodesic's point nearest to the origin lies along its normal, at the distance ρ/√k
        # from it where time·cosh ρ + ‖space‖·sinh ρ = 0
        unit = np.array(space) / space_norm
        rho = np.arctanh(-time / space_norm)
        length = np.sqrt(space_norm**2 - time**2)
        distance = float(np.arcsinh(root * offset / length) / root)
        return np.tanh(rho / 2.0) / root * unit, unit, distance

    def to_content(self) -> LorentzContent:
        """What stands in a model file."""
        check_is_fitted(self)
        return LorentzContent(
            **shared(self), coef=self.coef_.tolist(), intercept=self.intercept_.tolist()
        )

    @classmethod
    def from_content(cls, content: LorentzContent) -> "LorentzClassifier":
        """The inverse of `to_content`."""
        model = cls(curvature=content.curvature)
        model.coef_ = np.array(content.coef, dtype=np.float64)
        model.intercept_ = np.array(content.intercept, dtype=np.float64)
        return model

    def _features(self, points: np.ndarray) -> np.ndarray:
        lifted = poincare_to_hyperboloid(points, self.curvature)
        if not self.fit_intercept:
            return lifted
        return np.column_stack((lifted, np.ones(len(lifted))))

    def _folds(
        self, features: np.ndarray, targets: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, StratifiedKFold | None]:
        """Points for cross-validation, not too many, without classes of one point, and how to
        split them; None if that leaves no two classes."""
        if len(targets) > _MOST_POINTS:
            rng = np.random.default_rng(self.random_state)
            chosen = rng.choice(len(targets), _MOST_POINTS, replace=False)
            features, targets = features[chosen], targets[chosen]
        counts = np.bincount(targets)
        common = np.isin(targets, np.flatnonzero(counts >= 2))
        features, targets = features[common], targets[common]
        if len(np.unique(targets)) < 2:
            return features, targets, None
        smallest = int(np.bincount(targets)[np.unique(targets)].min())
        splitter = StratifiedKFold(min(5, smallest), shuffle=True, random_state=self.random_state)
        return features, targets, splitter

    def _strength(
        self, features: np.ndarray, targets: np.ndarray, folds: StratifiedKFold | None
    ) -> float:
        if self.C != "auto":
            if not isinstance(self.C, (int, float)) or not self.C > 0:
                raise InvalidInput(f"C must be 'auto' or a number > 0, got {self.C!r}")
            return float(self.C)
        if folds is None:
            return _DEFAULT_STRENGTH
        scores = [
            cross_val_score(self._regression(c), features, targets, cv=folds).mean()
            for c in _STRENGTHS
        ]
        return _STRENGTHS[int(np.argmax(scores))]

    def _temperature(
        self, features: np.ndarray, targets: np.ndarray, folds: StratifiedKFold | None
    ) -> float:
        """By how much the logits must be divided to fit points that were left out: nearly separable
        classes make the regression surer than it should be. Predictions stay the same."""
        if folds is None or self.class_weight is not None:
            return 1.0
        logits = cross_val_predict(
            self._regression(self.C_), features, targets, cv=folds, method="decision_function"
        )
        if logits.ndim == 1:
            logits = np.column_stack((np.zeros(len(logits)), logits))
        _, columns = np.unique(targets, return_inverse=True)

        def loss(log_temperature: float) -> float:
            scaled = log_softmax(logits / np.exp(log_temperature), axis=1)
            return float(-scaled[np.arange(len(columns)), columns].mean())

        return float(np.exp(minimize_scalar(loss, bounds=(0.0, 8.0), method="bounded").x))

    def _regression(self, strength: float) -> LogisticRegression:
        weights = self.class_weight
        if isinstance(weights, dict):
            # inside, classes are called by their position
            weights = {i: weights.get(c, 1.0) for i, c in enumerate(self.classes_.tolist())}
        return LogisticRegression(
            C=strength,
            fit_intercept=False,
            class_weight=weights,
            solver="newton-cholesky",
            max_iter=200,
        )


def _whitening(features: np.ndarray) -> np.ndarray:
    """A linear map that gives the features unit second moments: coordinates of the hyperboloid are
    nearly dependent near the rim, and neither penalty nor solver should see that."""
    moments, axes = np.linalg.eigh(features.T @ features / len(features))
    return axes / np.sqrt(np.maximum(moments, 1e-13 * moments.max()))
