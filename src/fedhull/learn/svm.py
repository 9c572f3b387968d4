"""The paper's classifiers: the Poincaré SVM (Sec. 3, eq. 7–8) and its Euclidean counterpart.

One-vs-rest scores become probabilities by Platt scaling (App. H); Platt's letters a, b are kept.
"""

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from typing import Annotated, Any

import msgspec
import numpy as np
from scipy.optimize import minimize, nnls
from scipy.special import expit, log_expit, softmax
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.svm import LinearSVC
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from fedhull.disc.hull import minimal_hull
from fedhull.disc.maps import geodesic_midpoint, log_map, pairwise_distance
from fedhull.disc.points import as_ball_points, check_curvature
from fedhull.errors import InvalidInput
from fedhull.learn.content import Content, check_shape, shared
from fedhull.learn.prediction import points_of


def platt(scores: np.ndarray, positive: np.ndarray, shift: bool = True) -> tuple[float, float]:
    """a, b such that 1/(1 + exp(a·score + b)) is the probability of the positive class.

    The targets are smoothed as Platt (1999) proposes, so that perfect scores do not give a = −∞.
    Without `shift`, b stays 0 and a score of 0 means one half.
    """
    n_positive = int(positive.sum())
    n_negative = len(positive) - n_positive
    target = np.where(positive, (n_positive + 1) / (n_positive + 2), 1 / (n_negative + 2))

    def loss(ab: np.ndarray) -> tuple[float, np.ndarray]:
        z = ab[0] * scores + ab[1]
        slope = target - expit(-z)
        value = -(target * log_expit(-z) + (1.0 - target) * log_expit(z)).sum()
        return float(value), np.array([(slope * scores).sum(), shift * slope.sum()])

    start = np.array([0.0, shift * np.log((n_negative + 1) / (n_positive + 1))])
    a, b = minimize(loss, start, jac=True, method="BFGS", options={"gtol": 1e-6}).x
    return float(a), float(b)


@dataclass(frozen=True)
class PlattScaled:
    """A binary scorer with its Platt coefficients."""

    score: Any
    a: float
    b: float

    @classmethod
    def fit(
        cls, score: Any, points: np.ndarray, positive: np.ndarray, shift: bool
    ) -> "PlattScaled":
        """Scale a scorer on its training points."""
        return cls(score, *platt(score(points), positive, shift))

    def log_odds(self, points: np.ndarray) -> np.ndarray:
        """Log-odds of the positive class, shape (n,)."""
        return -(self.a * self.score(points) + self.b)


Score = Callable[[np.ndarray], np.ndarray]
Temperature = Annotated[float, msgspec.Meta(gt=0, le=1e3)]


class GeodesicScorer(msgspec.Struct, forbid_unknown_fields=True):
    """A geodesic through p with normal w, both (d,), and Platt's a and b."""

    a: float
    b: float
    p: list[float]
    w: list[float]
    curvature: float


class LinearScorer(msgspec.Struct, forbid_unknown_fields=True):
    """A normal w (d,) with its intercept, and Platt's a and b."""

    a: float
    b: float
    w: list[float]
    intercept: float


class PoincareContent(Content, tag="poincare-svm"):
    """A model file of a `PoincareSVC`: a scorer for each class, or one for two classes, and what
    the logarithms of their probabilities are divided by."""

    scorers: list[GeodesicScorer]
    temperature: Temperature | None = None

    def check(self) -> None:
        """Scorers that go with the classes and the dimension."""
        _check_scorers(self.scorers, self, "p", "w")
        as_ball_points([scorer.p for scorer in self.scorers], self.curvature, "p of scorers")
        if any(scorer.curvature != self.curvature for scorer in self.scorers):
            raise InvalidInput(f"scorers must have the curvature of the model, {self.curvature!r}")


class EuclideanContent(Content, tag="euclidean-svm"):
    """A model file of a `EuclideanSVC`: as that of a `PoincareSVC`."""

    scorers: list[LinearScorer]
    temperature: Temperature | None = None

    def check(self) -> None:
        """Scorers that go with the classes and the dimension."""
        _check_scorers(self.scorers, self, "w")
        intercepts = [scorer.intercept for scorer in self.scorers]
        check_shape(intercepts, "intercepts of scorers", len(intercepts))


def _check_scorers(scorers: Sequence[Any], content: Content, *vectors: str) -> None:
    wanted = 1 if len(content.classes) == 2 else len(content.classes)
    if len(scorers) != wanted:
        raise InvalidInput(
            f"scorers must be {wanted} for {len(content.classes)} classes, got {len(scorers)}"
        )
    for i, scorer in enumerate(scorers):
        check_shape([scorer.a, scorer.b], f"a and b of scorers[{i}]", 2)
        for name in vectors:
            check_shape(getattr(scorer, name), f"{name} of scorers[{i}]", content.dimension)


class _OneVsRest(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """One binary scorer for each class against the rest, made comparable by Platt scaling. For two
    classes one scorer is enough, and scaling leaves its boundary where it is."""

    temperature_ = 1.0

    @classmethod
    def alternatives(
        cls, curvature: float, strength: float, cells: Mapping[Any, float]
    ) -> dict[str, Any]:
        """Others that a study may propose to its sites, in words: weaker and stronger ones."""
        return {
            f"λ = {strength * factor:g}": cls.for_study(curvature, strength * factor)
            for factor in (0.1, 10.0, 100.0)
        }

    @classmethod
    @abstractmethod
    def for_study(cls, curvature: float, strength: float) -> Any:
        """A fresh one of the strength λ."""

    def fit(self, X: Any, y: Any) -> Any:  # noqa: N803
        """Fit to points (n, d) with labels (n,)."""
        X, y = validate_data(self, X, y, dtype=np.float64)  # noqa: N806
        check_classification_targets(y)
        self._check(X)
        self.classes_ = np.unique(y)
        if len(self.classes_) < 2:
            raise InvalidInput(
                f"y must hold at least two classes, got one class: {self.classes_[0]!r}"
            )
        binary = len(self.classes_) == 2
        self.scorers_ = [
            PlattScaled.fit(self._fit_binary(X, y == target), X, y == target, shift=not binary)
            for target in self.classes_[int(binary) :]
        ]
        return self

    def decision_function(self, X: Any) -> np.ndarray:  # noqa: N803
        """Calibrated log-odds, shape (n, J), or for two classes those of the second, shape (n,)."""
        X = self._validated(X)  # noqa: N806
        odds = np.column_stack([scorer.log_odds(X) for scorer in self.scorers_])
        return odds[:, 0] if len(self.classes_) == 2 else odds

    def predict_proba(self, X: Any) -> np.ndarray:  # noqa: N803
        """Platt's probabilities, normalised over the classes, shape (n, J)."""
        odds = self.decision_function(X)
        two = odds.ndim == 1
        relative = log_expit(np.column_stack((-odds, odds)) if two else odds)
        return softmax(relative / self.temperature_, axis=1)

    def tempered(self, temperature: float) -> Any:
        """The same, less sure if the temperature is above 1: its predictions do not change."""
        model = copy(self)
        model.temperature_ = self.temperature_ * temperature
        return model

    def predict(self, X: Any) -> np.ndarray:  # noqa: N803
        """The most probable class; for two classes, the side of the boundary."""
        odds = self.decision_function(X)
        best = (odds > 0.0).astype(int) if odds.ndim == 1 else odds.argmax(axis=1)
        return self.classes_[best]

    def _validated(self, X: Any) -> np.ndarray:  # noqa: N803
        check_is_fitted(self)
        X = validate_data(self, points_of(self, X), dtype=np.float64, reset=False)  # noqa: N806
        self._check(X)
        return X

    def _check(self, X: np.ndarray) -> None:  # noqa: N803
        """Raise unless these are points that the classifier can take."""

    @property
    def _temperature(self) -> float | None:
        """The temperature in a model file: none, unless something has changed it."""
        return None if self.temperature_ == 1.0 else self.temperature_

    @abstractmethod
    def _fit_binary(self, X: np.ndarray, positive: np.ndarray) -> Score:  # noqa: N803
        """A function from points to scores, positive on the side of the positive class."""


class PoincareSVC(_OneVsRest):
    """A linear SVM in the tangent space of a reference point between the classes (eq. 7–8).

    The reference point is the geodesic midpoint of the closest pair of corners of the two hulls; of
    the `n_pairs` closest, the one with the best training accuracy. There is no intercept: the
    boundary is a geodesic through it. C is the paper's λ; infinity asks for the hard margin.

    >>> model = PoincareSVC(C=10.0).fit([[0.5, 0.1], [0.6, 0.0], [-0.5, 0.0]], [1, 1, 0])
    >>> model.predict([[0.3, 0.3], [-0.1, 0.2]])
    array([1, 0])
    """

    Content = PoincareContent

    def __init__(
        self,
        C: float = 1.0,  # noqa: N803 - scikit-learn's name
        *,
        loss: str = "squared_hinge",
        n_pairs: int = 3,
        curvature: float = 1.0,
        random_state: int | None = 0,
    ):
        self.C = C
        self.loss = loss
        self.n_pairs = n_pairs
        self.curvature = curvature
        self.random_state = random_state

    @classmethod
    def for_study(cls, curvature: float, strength: float) -> "PoincareSVC":
        """A fresh one of the strength λ."""
        return cls(strength, curvature=curvature)

    def to_content(self) -> PoincareContent:
        """The classifier as it stands in a model file."""
        check_is_fitted(self)
        scorers = [
            GeodesicScorer(s.a, s.b, s.score.p.tolist(), s.score.w.tolist(), s.score.curvature)
            for s in self.scorers_
        ]
        return PoincareContent(**shared(self), scorers=scorers, temperature=self._temperature)

    @classmethod
    def from_content(cls, content: PoincareContent) -> "PoincareSVC":
        """The inverse of `to_content`."""
        model = cls(curvature=content.curvature)
        model.scorers_ = [
            PlattScaled(GeodesicScore(np.array(s.p), np.array(s.w), s.curvature), s.a, s.b)
            for s in content.scorers
        ]
        model.temperature_ = content.temperature or 1.0
        return model

    def _check(self, X: np.ndarray) -> None:  # noqa: N803
        as_ball_points(X, check_curvature(self.curvature), "X")

    def _fit_binary(self, X: np.ndarray, positive: np.ndarray) -> Score:  # noqa: N803
        best: tuple[float, np.ndarray, np.ndarray] | None = None
        for p in self._reference_points(X, positive):
            tangent = log_map(p, X, self.curvature)
            w = self._normal(tangent, positive)
            accuracy = float(((tangent @ w > 0.0) == positive).mean())
            if best is None or accuracy > best[0]:
                best = accuracy, p, w
        assert best is not None
        _, p, w = best
        return GeodesicScore(p, w, self.curvature)

    def _reference_points(self, X: np.ndarray, positive: np.ndarray) -> np.ndarray:  # noqa: N803
        # in many dimensions nearly every point is a corner
        a, b = (
            side[minimal_hull(side, self.curvature)] if X.shape[1] <= 3 else side
            for side in (X[positive], X[~positive])
        )
        distances = pairwise_distance(a, b, self.curvature)
        nearest = np.argsort(distances, axis=None, kind="stable")[: self.n_pairs]
        i, j = np.unravel_index(nearest, distances.shape)
        return geodesic_midpoint(a[i], b[j], self.curvature)

    def _normal(self, tangent: np.ndarray, positive: np.ndarray) -> np.ndarray:
        sign = np.where(positive, 1.0, -1.0)
        if np.inf == self.C:
            return _hard_margin(sign[:, None] * tangent)
        svm = _linear_svm(self.C, self.loss, self.random_state, fit_intercept=False)
        return svm.fit(tangent, sign).coef_[0]


class EuclideanSVC(_OneVsRest):
    """The paper's Euclidean baseline: a linear SVM with intercept, one-vs-rest and Platt.

    >>> EuclideanSVC().fit([[0.0, 1.0], [0.0, -1.0]], ["up", "down"]).predict([[5.0, 2.0]])
    array(['up'], dtype='<U4')
    """

    Content = EuclideanContent

    def __init__(
        self,
        C: float = 1.0,  # noqa: N803 - scikit-learn's name
        *,
        loss: str = "squared_hinge",
        random_state: int | None = 0,
    ):
        self.C = C
        self.loss = loss
        self.random_state = random_state

    @classmethod
    def for_study(cls, curvature: float, strength: float) -> "EuclideanSVC":
        """A fresh one of the strength λ, blind to curvature."""
        return cls(strength)

    def to_content(self) -> EuclideanContent:
        """The classifier as it stands in a model file."""
        check_is_fitted(self)
        scorers = [
            LinearScorer(s.a, s.b, s.score.w.tolist(), s.score.intercept) for s in self.scorers_
        ]
        return EuclideanContent(**shared(self), scorers=scorers, temperature=self._temperature)

    @classmethod
    def from_content(cls, content: EuclideanContent) -> "EuclideanSVC":
        """The inverse of `to_content`."""
        model = cls()
        model.scorers_ = [
            PlattScaled(LinearScore(np.array(s.w), s.intercept), s.a, s.b) for s in content.scorers
        ]
        model.temperature_ = content.temperature or 1.0
        return model

    def _fit_binary(self, X: np.ndarray, positive: np.ndarray) -> Score:  # noqa: N803
        svm = _linear_svm(self.C, self.loss, self.random_state, fit_intercept=True)
        svm.fit(X, np.where(positive, 1, -1))
        return LinearScore(svm.coef_[0], float(svm.intercept_[0]))


@dataclass(frozen=True)
class GeodesicScore:
    """⟨log_p(x), w⟩: the signed height over the geodesic through p with normal w."""

    p: np.ndarray
    w: np.ndarray
    curvature: float

    def __call__(self, points: np.ndarray) -> np.ndarray:
        """Scores of points (n, d), shape (n,)."""
        return log_map(self.p, points, self.curvature) @ self.w


@dataclass(frozen=True)
class LinearScore:
    """⟨x, w⟩ + intercept."""

    w: np.ndarray
    intercept: float

    def __call__(self, points: np.ndarray) -> np.ndarray:
        """Scores of points (n, d), shape (n,)."""
        return points @ self.w + self.intercept


def _linear_svm(C: float, loss: str, random_state: Any, fit_intercept: bool) -> LinearSVC:  # noqa: N803
    return LinearSVC(
        C=C,
        loss=loss,
        # the squared hinge is smooth, and its primal problem is solved to the end
        dual=loss == "hinge",
        fit_intercept=fit_intercept,
        max_iter=100_000,
        random_state=random_state,
    )


def _hard_margin(rows: np.ndarray) -> np.ndarray:
    """min ‖w‖ with rows·w ≥ 1 (eq. 7): Lawson and Hanson's least distance programming by NNLS."""
    target = np.zeros(rows.shape[1] + 1)
    target[-1] = 1.0
    stacked = np.vstack((rows.T, np.ones(len(rows))))
    solution, distance = nnls(stacked, target)
    residual = stacked @ solution - target
    if distance < 1e-9:
        raise InvalidInput(
            "the classes cannot be separated by a geodesic through the reference point, so there "
            "is no hard margin; use a finite C"
        )
    return -residual[:-1] / residual[-1]
