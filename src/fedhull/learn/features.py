"""Horocycle features of points, as a scikit-learn transformer."""

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from fedhull.disc.points import check_curvature
from fedhull.learn.horocycles import Horocycles, draw_horocycles, horocycle_features


class HorocycleFeatures(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """φ(x) = cos(λ·B_ω(x) + b), with B_ω(x) = log((1−k‖x‖²) / ‖√k·x−ω‖²), for points of the ball.

    n_features : D, how many. scales : λ = ``|N(0, 1)|``·s, with s one of these, in turn.
    curvature : k. seed : all draws are a function of it, of D, the scales and the number of
    coordinates, and of nothing else; `fit` looks at no value, so sites that agree on the settings
    have the same features. In the disc the directions are equally spaced, feature j at the angle
    2πj/D; in other dimensions they are uniform on the sphere. Phases are uniform in [0, 2π).

    B is √k times the signed distance between the horocycles at ω through the origin and through x,
    positive towards ω. It is worked out from the gap 1−k‖x‖² and from √k·x−ω with twice a float's
    digits, so that nothing is lost and nothing is clipped however close to the rim x lies.

    The draws come from the raw stream of NumPy's PCG64, which no later version of NumPy will
    change: first D pairs of uniform numbers for the frequencies (Box–Muller), then D for the
    phases, then, unless d = 2, D·d pairs for the directions.

    Features of this kind are random Laplacian features (Yu and De Sa, ICLR 2023) without their
    amplitude, which is unbounded at the rim.

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
