"""The default classifier of a study: multinomial logistic regression on the hyperboloid."""

import warnings
from collections.abc import Mapping
from copy import copy
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import softmax
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from fedhull.disc.models import poincare_to_hyperboloid
from fedhull.disc.points import check_curvature
from fedhull.errors import InvalidInput
from fedhull.learn.content import Content, Matrix, check_shape, shared
from fedhull.learn.left_out import LeftOut, check_groups, leave_out
from fedhull.learn.prediction import points_of

_STRENGTHS = (1e1, 1e2, 1e3, 1e4, 1e5, 1e6)
_DEFAULT_STRENGTH = 1e3


class Chosen(NamedTuple):
    """A choice of C, of an intercept or none, and of the temperature that divides logits."""

    strength: float
    intercept: bool
    temperature: float


class LorentzContent(Content, tag="lorentz"):
    """A model file of a `LorentzClassifier`: coef (d+1, J) and intercept (J,)."""

    coef: Matrix
    intercept: list[float]

    def check(self) -> None:
        """Shapes that go together."""
        check_shape(self.coef, "coef", self.dimension + 1, len(self.classes))
        check_shape(self.intercept, "intercept", len(self.classes))


class LorentzClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Logits that are affine in the coordinates X of the hyperboloid: ⟨w_j, X⟩ + b_j.

    One convex problem finds the boundaries between all classes at once, in any dimension. With
    ``fit_intercept=False`` the boundary between two classes, ⟨w_i−w_j, X⟩ = 0, is a geodesic, and
    what holds for the corners of a hull holds inside. With an intercept it runs at a constant
    distance from one, which fits classes that lie inside others much better; see `boundary`.

    C : the inverse strength of the L2 penalty, on coordinates scaled to unit covariance. "auto",
    here and for fit_intercept, chooses what fits left-out training points best; an intercept is
    given up only for a gain of more than one standard error. class_weight : as in scikit-learn.
    calibrate : divide the logits by the temperature that fits left-out training points best; not
    with class weights, which ask for something else. Where training points are hull corners, real
    points may be less certain still.

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
        fit_intercept: bool | str = "auto",
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

    @classmethod
    def alternatives(
        cls, curvature: float, strength: float, cells: Mapping[Any, float]
    ) -> dict[str, "LorentzClassifier"]:
        """Others that a study may propose to its sites, in words: of fixed strengths, with and
        without intercept, every class counting as much as it has cells."""
        others = {}
        for intercept in (True, False):
            for c in _STRENGTHS[1:]:
                having = "with" if intercept else "without"
                others[f"C = {c:g}, {having} intercept, classes weighed by cells"] = cls(
                    c,
                    curvature=curvature,
                    fit_intercept=intercept,
                    class_weight=dict(cells),
                    calibrate=False,
                )
        return others

    def fit(self, X: Any, y: Any, groups: Any = None) -> "LorentzClassifier":  # noqa: N803
        """Fit to points (n, d) of the ball with labels (n,).

        groups : (n,), if the points are corners of hulls: whose, so that those of one group and one
        label are one hull. What is "auto" is then chosen by leaving out all hulls of a group, and
        by what lies inside these; otherwise by leaving out points.
        """
        X, y = validate_data(self, X, y, dtype=np.float64)  # noqa: N806
        check_classification_targets(y)
        self.classes_, targets = np.unique(y, return_inverse=True)
        if len(self.classes_) < 2:
            raise InvalidInput(
                f"y must hold at least two classes, got one class: {self.classes_[0]!r}"
            )
        sites = check_groups(groups, len(X))
        with warnings.catch_warnings():
            # separable classes, as hulls often are: the loss is flat long before its gradient is
            # small, and the solvers say so
            warnings.simplefilter("ignore", ConvergenceWarning)
            self.C_, self.fit_intercept_, self.temperature_ = self._chosen(X, targets, sites)
            scaled, whitening = _scaled(X, self.fit_intercept_, self.curvature)
            inner = self._regression(self.C_).fit(scaled, targets)
        weights = whitening @ _rows(inner).T / self.temperature_
        self.n_iter_ = inner.n_iter_
        self.coef_: np.ndarray = weights[:-1] if self.fit_intercept_ else weights
        self.intercept_: np.ndarray = (
            weights[-1] if self.fit_intercept_ else np.zeros(len(self.classes_))
        )
        return self

    def decision_function(self, X: Any) -> np.ndarray:  # noqa: N803
        """Logits, shape (n, J), or for two classes the logit of the second, shape (n,)."""
        check_is_fitted(self)
        X = validate_data(self, points_of(self, X), dtype=np.float64, reset=False)  # noqa: N806
        logits = poincare_to_hyperboloid(X, self.curvature) @ self.coef_ + self.intercept_
        return logits[:, 1] - logits[:, 0] if len(self.classes_) == 2 else logits

    def predict_proba(self, X: Any) -> np.ndarray:  # noqa: N803
        """Probabilities of the classes, shape (n, J)."""
        logits = self.decision_function(X)
        if logits.ndim == 1:
            logits = np.column_stack((np.zeros(len(logits)), logits))
        return softmax(logits, axis=1)

    def tempered(self, temperature: float) -> "LorentzClassifier":
        """The same, less sure if the temperature is above 1: its predictions do not change."""
        model = copy(self)
        model.coef_, model.intercept_ = self.coef_ / temperature, self.intercept_ / temperature
        return model

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
        """The classifier as it stands in a model file."""
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

    def _chosen(self, points: np.ndarray, targets: np.ndarray, groups: np.ndarray | None) -> Chosen:
        """Resolve "auto", and find the temperature, by what is left out."""
        strengths, intercepts = self._candidates()
        calibrated = self.calibrate and self.class_weight is None
        left_out = None
        if calibrated or len(strengths) * len(intercepts) > 1:
            left_out = leave_out(points, targets, groups, self.curvature, self.random_state)
        if left_out is None:
            usual = _DEFAULT_STRENGTH if self.C == "auto" else strengths[0]
            return Chosen(usual, intercepts[0], 1.0)
        best = []
        for intercept in intercepts:
            logits = self._tried(left_out, points, targets, strengths, intercept)
            likelihood = left_out.log_likelihood(logits)
            first = int((likelihood @ left_out.weights).argmax())
            best.append((strengths[first], intercept, likelihood[first], logits[first]))
        # an intercept fits more, and is given up only if that is clearly better
        chosen, *plain = best
        if plain and left_out.clearly_better(plain[0][2], chosen[2]):
            chosen = plain[0]
        strength, intercept, _, logits = chosen
        return Chosen(strength, intercept, _temperature(left_out, logits) if calibrated else 1.0)

    def _candidates(self) -> tuple[tuple[float, ...], tuple[bool, ...]]:
        """The strengths to try, and whether with intercept, without, or both."""
        if self.C != "auto" and (not isinstance(self.C, (int, float)) or not self.C > 0):
            raise InvalidInput(f"C must be 'auto' or a number > 0, got {self.C!r}")
        if self.fit_intercept not in ("auto", True, False):
            raise InvalidInput(
                f"fit_intercept must be True, False or 'auto', got {self.fit_intercept!r}"
            )
        strengths = _STRENGTHS if self.C == "auto" else (float(self.C),)
        if self.fit_intercept == "auto":
            return strengths, (True, False)
        return strengths, (bool(self.fit_intercept),)

    def _tried(
        self,
        left_out: LeftOut,
        points: np.ndarray,
        targets: np.ndarray,
        strengths: tuple[float, ...],
        intercept: bool,
    ) -> np.ndarray:
        """The logits of all strengths for what is left out: (strengths, m, J)."""
        n_classes = len(self.classes_)
        scaled, whitening = _scaled(points, intercept, self.curvature)

        def fit(rows: np.ndarray, tried: np.ndarray) -> np.ndarray:
            logits = np.full((len(strengths), len(tried), n_classes), -np.inf)
            present = np.unique(targets[rows])
            if len(present) == 1:
                # without what is left out there is nothing to tell apart
                logits[:, :, present] = 0.0
                return logits
            # from weak to strong, each fit starts where the last one ended
            regression = self._regression(strengths[0], warm_start=True)
            features = _features(tried, intercept, self.curvature) @ whitening
            for i, strength in enumerate(strengths):
                regression.set_params(C=strength).fit(scaled[rows], targets[rows])
                logits[i][:, regression.classes_] = features @ _rows(regression).T
            return logits

        return left_out.logits(fit, len(strengths), n_classes)

    def _regression(self, strength: float, warm_start: bool = False) -> LogisticRegression:
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
            warm_start=warm_start,
        )


def _temperature(left_out: LeftOut, logits: np.ndarray) -> float:
    """By how much the logits must be divided to fit points that were left out: nearly separable
    classes make the regression surer than it should be. Predictions stay the same."""

    def loss(log_temperature: float) -> float:
        likelihood = left_out.log_likelihood(logits / np.exp(log_temperature))
        return -float(likelihood @ left_out.weights)

    return float(np.exp(minimize_scalar(loss, bounds=(0.0, 8.0), method="bounded").x))


def _rows(regression: LogisticRegression) -> np.ndarray:
    """The weights of each class, for two classes as for more."""
    rows: np.ndarray = regression.coef_
    return np.vstack((np.zeros_like(rows), rows)) if len(rows) == 1 else rows


def _features(points: np.ndarray, intercept: bool, curvature: float) -> np.ndarray:
    lifted = poincare_to_hyperboloid(points, curvature)
    return np.column_stack((lifted, np.ones(len(lifted)))) if intercept else lifted


def _scaled(points: np.ndarray, intercept: bool, curvature: float) -> tuple[np.ndarray, np.ndarray]:
    """The features with unit second moments, and the map that makes them so."""
    features = _features(points, intercept, curvature)
    whitening = _whitening(features)
    return features @ whitening, whitening


def _whitening(features: np.ndarray) -> np.ndarray:
    """A linear map that gives the features unit second moments: coordinates of the hyperboloid are
    nearly dependent near the rim, and neither penalty nor solver should see that."""
    moments, axes = np.linalg.eigh(features.T @ features / len(features))
    return axes / np.sqrt(np.maximum(moments, 1e-13 * moments.max()))
