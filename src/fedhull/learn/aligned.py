"""A site's own classifier: its cells are moved by its isometry, then the study's model is asked."""

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.metaestimators import available_if

from fedhull.disc.isometry import Isometry
from fedhull.errors import InvalidInput
from fedhull.learn.content import AlignedContent
from fedhull.learn.prediction import points_of


def _of_model(name: str, doc: str) -> Any:
    """A fitted attribute of the model, None if it has none."""
    return property(
        lambda aligned: getattr(aligned.model, name, None),
        lambda aligned, value: setattr(aligned.model, name, value),
        doc=doc,
    )


def _inner_has(name: str) -> Callable[["AlignedClassifier"], bool]:
    return lambda aligned: hasattr(aligned.model, name)


class AlignedClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A fitted `model` for the cells of one `site` of a `study`, as that site measures them.

    The `isometry` moves the site's cells into the model's frame, that of the centres which all
    sites have aligned themselves to. For cells of another site it is wrong.

    >>> from fedhull.disc.isometry import rotation
    >>> from fedhull.learn.lorentz import LorentzClassifier
    >>> x = np.array([[0.5, 0.1], [0.4, 0.0], [-0.4, 0.1], [-0.5, 0.0]])
    >>> model = LorentzClassifier().fit(x, ["right", "right", "left", "left"])
    >>> AlignedClassifier(model, rotation(np.pi)).predict([[0.5, 0.0], [-0.5, 0.0]])
    array(['left', 'right'], dtype='<U5')
    """

    Content = AlignedContent

    def __init__(self, model: Any, isometry: Isometry, site: str = "", study: str = ""):
        self.model = model
        self.isometry = isometry
        self.site = site
        self.study = study
        if len(isometry.shift) != model.n_features_in_:
            raise InvalidInput(
                f"isometry must be of {model.n_features_in_} coordinates, got {len(isometry.shift)}"
            )
        if isometry.curvature != getattr(model, "curvature", isometry.curvature):
            raise InvalidInput(
                f"isometry must have the curvature {model.curvature:g}, got {isometry.curvature:g}"
            )

    def __sklearn_is_fitted__(self) -> bool:
        return True

    @property
    def curvature(self) -> float:
        """k; the space has curvature −k."""
        return self.isometry.curvature

    classes_ = _of_model("classes_", "Names of the classes at the site.")
    n_features_in_ = _of_model("n_features_in_", "Number of coordinates of a point.")
    encoder_ = _of_model("encoder_", "Hash of the encoder that the site's points come from.")
    aligned_to_ = _of_model("aligned_to_", "Centres of the model's classes, in its frame.")
    provenance_ = _of_model("provenance_", "The study in which the model was learned.")
    encoder_file_ = _of_model("encoder_file_", "Content of the encoder's file, if carried.")
    judged_ = _of_model("judged_", "The model's evaluation on all sites' held-out cells.")

    def moved(self, X: Any) -> np.ndarray:  # noqa: N803 - scikit-learn's name
        """The site's points (n, d), or those of an AnnData object's cells, in the model's frame."""
        return self.isometry.apply(points_of(self, X))

    def predict(self, X: Any) -> np.ndarray:  # noqa: N803
        """The classes of the site's points (n, d), shape (n,)."""
        return self.model.predict(self.moved(X))

    @available_if(_inner_has("predict_proba"))  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> np.ndarray:  # noqa: N803
        """Probabilities of the classes, shape (n, J)."""
        return self.model.predict_proba(self.moved(X))

    @available_if(_inner_has("decision_function"))  # type: ignore[untyped-decorator]
    def decision_function(self, X: Any) -> np.ndarray:  # noqa: N803
        """The model's scores."""
        return self.model.decision_function(self.moved(X))
