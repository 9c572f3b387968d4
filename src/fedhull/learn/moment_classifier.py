"""The classifier of moments: ridge regression of class membership on horocycle features."""

from copy import copy
from typing import Annotated, Any

import msgspec
import numpy as np
from scipy.special import softmax
from sklearn.base import (
    BaseEstimator,
    ClassifierMixin,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
)
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from fedhull.disc.points import check_curvature
from fedhull.errors import InvalidInput
from fedhull.learn.content import Content, Matrix, check_shape, shared
from fedhull.learn.horocycles import SCALES, Horocycles, draw_horocycles, horocycle_features
from fedhull.learn.moments import AT_ONCE, BITS, Extent, Moments, moments_of_points
from fedhull.learn.prediction import points_of

# Scores below _LEAST count as that; their powers are made to add up to one. Chosen on several data
# sets: the scores themselves are too cautious where classes have sharp edges, their squares too
# certain where classes overlap.
_LEAST, _POWER = 0.005, 1.5
# The penalty where there is noise in Σφφᵀ, as a share of the noise of its eigenvalues.
_OF_NOISE = 0.5


class HorocycleFeatures(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """φ(x) = cos(λ·B_ω(x) + b), with B_ω(x) = log((1−k‖x‖²) / ‖√k·x−ω‖²), for points of the ball.

    n_features : D. scales : λ = ``|N(0, 1)|``·s, with s one of these, in turn. curvature : k. seed
    : all draws are a function of it, of D, the scales and the number of coordinates alone; `fit`
    looks at no value, so sites that agree on the settings have the same features. In the disc the
    directions are equally spaced, feature j at the angle 2πj/D; in other dimensions they are
    uniform on the sphere. Phases are uniform in [0, 2π).

    B is worked out from the gap 1−k‖x‖² and from √k·x−ω with twice a float's digits, so that
    nothing is lost however close to the rim x lies. Draws come from the raw stream of NumPy's
    PCG64, which no later version of NumPy will change: D pairs of uniform numbers for the
    frequencies (Box–Muller), D for the phases, then, unless d = 2, D·d pairs for the directions.

    >>> features = HorocycleFeatures(n_features=4, seed=1)
    >>> features.fit_transform([[0.0, 0.0], [0.5, 0.0], [0.0, -0.999999]]).round(3)
    array([[-0.952, -0.971,  0.022,  0.985],
           [-0.007,  0.572, -0.731,  0.803],
           [ 0.964, -0.985,  0.908, -0.645]])
    """

    def __init__(
        self,
        n_features: int = 128,
        *,
        scales: tuple[float, ...] = (1.0, 3.0),
        curvature: float = 1.0,
        seed: int = 0,
    ):
        self.n_features = n_features
        self.scales = scales
        self.curvature = curvature
        self.seed = seed

    def fit(self, X: Any, y: Any = None) -> "HorocycleFeatures":  # noqa: N803 - scikit-learn's name
        """Draw the features for points (n, d); only d matters."""
        X = validate_data(self, X, dtype=np.float64)  # noqa: N806
        check_curvature(self.curvature)
        self.directions_, self.frequencies_, self.phases_ = draw_horocycles(
            self.n_features, X.shape[1], self.scales, self.seed
        )
        return self

    def transform(self, X: Any) -> np.ndarray:  # noqa: N803
        """The features (n, D) of points (n, d)."""
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, reset=False)  # noqa: N806
        drawn = Horocycles(self.directions_, self.frequencies_, self.phases_)
        return horocycle_features(X, drawn, self.curvature)

    @property
    def _n_features_out(self) -> int:
        return self.n_features


class MomentContent(Content, tag="moments"):
    """A model file of a `MomentClassifier`: coef (D, J), what its features are drawn from, and the
    power that its scores are raised to, if held-out cells have shown it."""

    coef: Matrix
    scales: Annotated[list[float], msgspec.Meta(min_length=1)]
    seed: Annotated[int, msgspec.Meta(ge=0)]
    power: Annotated[float, msgspec.Meta(gt=0, le=1e3)] | None = None

    def check(self) -> None:
        """Shapes that go together, and scales that features can be drawn from."""
        check_shape(self.coef, "coef", len(self.coef), len(self.classes))
        draw_horocycles(len(self.coef), self.dimension, tuple(self.scales), self.seed)


class MomentClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Scores Wᵀφ(x) with W = (Σφφᵀ + alpha·I)⁻¹ Σφyᵀ, y being a class as 0s and a 1.

    φ are `HorocycleFeatures`; n_features, scales, curvature and seed are theirs. All that is needed
    of the cells are their moments, whole numbers that add up over sites and chunks
    (`fedhull.learn.moments`), so that a model is the same, bit for bit, however the cells were
    dealt out: `partial_fit` takes cells by chunks in constant memory, `from_moments` takes what
    sites have summed up.

    n_features : maximum number of features; of few cells, fewer are used (`Extent`). alpha : the
    strength of the penalty. The default does for a few hundred cells and for many thousands; a
    share of their number would be too weak for the ones or too strong for the others. Scores
    estimate the classes' probabilities by least squares; `predict_proba` cuts them off at 0.005,
    raises them to the power 1.5, or to what held-out cells have shown to be right (`tempered`), and
    normalises.

    >>> x = np.random.default_rng(0).uniform(-0.6, 0.6, (200, 2))
    >>> y = np.where(x[:, 0] > 0, "right", "left")
    >>> MomentClassifier().fit(x, y).predict([[0.3, 0.3], [-0.6, 0.1]])
    array(['right', 'left'], dtype='<U5')
    """

    Content = MomentContent
    power_ = _POWER

    def __init__(
        self,
        n_features: int = 128,
        *,
        scales: tuple[float, ...] = SCALES,
        curvature: float = 1.0,
        seed: int = 0,
        alpha: float = 0.03,
    ):
        self.n_features = n_features
        self.scales = scales
        self.curvature = curvature
        self.seed = seed
        self.alpha = alpha

    @classmethod
    def for_study(cls, curvature: float, strength: float) -> "MomentClassifier":
        """A fresh one, with a penalty of its own."""
        return cls(curvature=curvature)

    @classmethod
    def from_moments(
        cls,
        moments: Moments,
        classes: Any,
        dimension: int,
        most: int | None = None,
        **settings: Any,
    ) -> "MomentClassifier":
        """The classifier of cells with d = `dimension` coordinates that have these moments, row j
        of which is of `classes[j]`; the settings are those of the features. The moments may be cut
        to the extent that so few cells allow; at most the first `most` features are used."""
        model = cls(**{"n_features": len(moments.gram)} | settings)
        model.classes_ = np.asarray(classes)
        if model.classes_.shape != moments.counts.shape:
            raise InvalidInput(
                f"classes must name each of the {len(moments.counts)}, got {len(model.classes_)}"
            )
        model.n_features_in_ = dimension
        model.moments_ = moments
        extent = model._extent()
        if extent.features > len(moments.gram):
            raise InvalidInput(
                f"moments must be of {extent.features} features, got {len(moments.gram)}"
            )
        moments.cut(extent).check(extent)
        return model._solve(most)

    @classmethod
    def from_noisy_moments(
        cls,
        moments: Moments,
        classes: Any,
        dimension: int,
        deviation: float,
        relative: float = 1.0,
        **settings: Any,
    ) -> "MomentClassifier":
        """As `from_moments`, with noise of this standard deviation in each number of Σφφᵀ, and some
        in the others: of all features, with the nearest Σφφᵀ that cells can have, and `relative`
        times the penalty that noise of that size asks for."""
        model = cls(**{"n_features": len(moments.gram)} | settings)
        model.classes_, model.n_features_in_ = np.asarray(classes), dimension
        gram = np.ldexp(moments.gram.astype(np.float64), -2 * BITS)
        values, vectors = np.linalg.eigh(gram)
        # noise in a symmetric matrix moves its eigenvalues by up to 2·deviation·√D
        penalty = model.alpha + relative * _OF_NOISE * deviation * len(gram) ** 0.5
        inverse = (vectors / (np.maximum(values, 0.0) + penalty)) @ vectors.T
        model.coef_ = inverse @ np.ldexp(moments.sums.astype(np.float64), -BITS).T
        return model

    def fit(self, X: Any, y: Any) -> "MomentClassifier":  # noqa: N803 - scikit-learn's name
        """Fit to points (n, d) of the ball with labels (n,)."""
        X, y = validate_data(self, X, y, dtype=np.float64)  # noqa: N806
        check_classification_targets(y)
        classes = np.unique(y)
        if len(classes) < 2:
            raise InvalidInput(f"y must hold at least two classes, got one class: {classes[0]!r}")
        self.classes_ = classes
        self.moments_ = self._moments(X, y)
        return self._solve()

    def partial_fit(self, X: Any, y: Any, classes: Any = None) -> "MomentClassifier":  # noqa: N803
        """Add points (n, d) with labels (n,); `classes` are all there will be, needed at first."""
        first = not hasattr(self, "moments_")
        X, y = validate_data(self, X, y, dtype=np.float64, reset=first)  # noqa: N806
        check_classification_targets(y)
        if first and classes is None:
            raise InvalidInput("classes must be given with the first call of partial_fit")
        if first:
            self.classes_ = np.unique(classes)
        beyond = np.setdiff1d(y, self.classes_)
        if len(beyond):
            raise InvalidInput(
                f"y must hold none but the classes given at first, got {beyond[0]!r}"
            )
        added = self._moments(X, y)
        self.moments_ = added if first else self.moments_ + added
        return self._solve()

    def decision_function(self, X: Any) -> np.ndarray:  # noqa: N803
        """Scores (n, J), or for two classes the second's less the first's, shape (n,)."""
        scores = self._scores(X)
        return scores[:, 1] - scores[:, 0] if len(self.classes_) == 2 else scores

    def predict_proba(self, X: Any) -> np.ndarray:  # noqa: N803
        """Probabilities of the classes, shape (n, J)."""
        # of logarithms, so that no power is too high
        shares = self.power_ * np.log(np.maximum(self._scores(X), _LEAST))
        return softmax(shares, axis=1)

    def tempered(self, temperature: float) -> "MomentClassifier":
        """The same, less sure if the temperature is above 1: its predictions do not change."""
        model = copy(self)
        model.power_ = self.power_ / temperature
        return model

    def predict(self, X: Any) -> np.ndarray:  # noqa: N803
        """The class of each point with the highest score."""
        best = self._scores(X).argmax(axis=1)
        return self.classes_[best]

    def to_content(self) -> MomentContent:
        """The classifier as it stands in a model file; moments are not in it."""
        check_is_fitted(self, "coef_")
        return MomentContent(
            **shared(self),
            coef=self.coef_.tolist(),
            scales=[float(s) for s in np.atleast_1d(self.scales)],
            seed=int(self.seed),
            power=None if self.power_ == _POWER else self.power_,
        )

    @classmethod
    def from_content(cls, content: MomentContent) -> "MomentClassifier":
        """The inverse of `to_content`; moments are not in a file."""
        model = cls(
            len(content.coef),
            scales=tuple(content.scales),
            curvature=content.curvature,
            seed=content.seed,
        )
        model.coef_ = np.array(content.coef, dtype=np.float64)
        model.power_ = content.power or _POWER
        return model

    def _drawn(self) -> Horocycles:
        return draw_horocycles(self.n_features, self.n_features_in_, self.scales, self.seed)

    def _moments(self, x: np.ndarray, y: np.ndarray) -> Moments:
        check_curvature(self.curvature)
        of_class = np.searchsorted(self.classes_, y)
        return moments_of_points(x, of_class, len(self.classes_), self._drawn(), self.curvature)

    def _solve(self, most: int | None = None) -> "MomentClassifier":
        if not isinstance(self.alpha, int | float) or not self.alpha > 0:
            raise InvalidInput(f"alpha must be a number > 0, got {self.alpha!r}; try 0.03")
        moments, extent = self.moments_, self._extent()
        gram = np.ldexp(moments.gram.astype(np.float64), -2 * BITS)
        gram += self.alpha * np.eye(len(gram))
        sums = np.ldexp(moments.sums.astype(np.float64), -BITS)
        self.coef_: np.ndarray = np.zeros((self.n_features, len(self.classes_)))
        # the penalty is on each class by itself, so that some may be of fewer features
        known = np.minimum(extent.of_class, self.n_features if most is None else max(most, 1))
        for m in np.unique(known[known > 0]).tolist():
            these = known == m
            self.coef_[:m, these] = np.linalg.solve(gram[:m, :m], sums[these, :m].T)
        return self

    def _extent(self) -> Extent:
        return Extent.of(self.moments_.counts.tolist(), self.n_features, self.n_features_in_)

    def _scores(self, X: Any) -> np.ndarray:  # noqa: N803
        check_is_fitted(self, "coef_")
        X = validate_data(self, points_of(self, X), dtype=np.float64, reset=False)  # noqa: N806
        drawn, scores = self._drawn(), np.empty((len(X), len(self.classes_)))
        for begin in range(0, len(X), AT_ONCE):
            part = slice(begin, begin + AT_ONCE)
            scores[part] = horocycle_features(X[part], drawn, self.curvature) @ self.coef_
        return scores
