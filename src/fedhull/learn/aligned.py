"""A site's own classifier: its cells are moved by its isometry, then the study's model is asked."""

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.metaestimators import available_if

from fedhull.disc.isometry import Isometry
from fedhull.errors import InvalidInput
from fedhull.learn.centres import Centres
from fedhull.learn.content import AlignedContent
from fedhull.learn.judged import Judged
from fedhull.learn.placing import points_of
from fedhull.learn.provenance import Provenance


def _inner_has(name: str) -> Callable[["AlignedClassifier"], bool]:
    return lambda aligned: hasattr(aligned.model, name)


class AlignedClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A fitted `model` for the cells of one `site` of a `study`, as that site measures them.

    The model's frame is that of the centres to which all sites of the study have aligned
    themselves; the `isometry` moves the site's cells there. For cells of another site it is wrong:
    that site has an isometry of its own.

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
                f"isometry must be one of points with {model.n_features_in_} coordinates, got "
                f"{len(isometry.shift)}"
            )
        if isometry.curvature != getattr(model, "curvature", isometry.curvature):
            raise InvalidInput(
                f"isometry must have the model's curvature, {model.curvature:g}, got "
                f"{isometry.curvature:g}"
            )

    def __sklearn_is_fitted__(self) -> bool:
        return True

    @property
    def classes_(self) -> np.ndarray:
        """What the site calls the classes."""
        return self.model.classes_

    @property
    def n_features_in_(self) -> int:
        """How many coordinates points have."""
        return int(self.model.n_features_in_)

    @property
    def curvature(self) -> float:
        """k; the space has curvature −k."""
        return self.isometry.curvature

    @property
    def encoder_(self) -> str | None:
        """The hash of the encoder that the site's points come from."""
        return getattr(self.model, "encoder_", None)

    @property
    def aligned_to_(self) -> Centres | None:
        """The centres of the model's classes, in the model's frame."""
        return getattr(self.model, "aligned_to_", None)

    @property
    def provenance_(self) -> Provenance | None:
        """In which study the model was learned."""
        return getattr(self.model, "provenance_", None)

    @provenance_.setter
    def provenance_(self, provenance: Provenance | None) -> None:
        self.model.provenance_ = provenance

    @property
    def encoder_file_(self) -> bytes | None:
        """The content of the encoder's file, if the model carries it."""
        return getattr(self.model, "encoder_file_", None)

    @encoder_file_.setter
    def encoder_file_(self, content: bytes | None) -> None:
        self.model.encoder_file_ = content

    @property
    def judged_(self) -> Judged | None:
        """How well the model does on all sites' held-out cells."""
        return getattr(self.model, "judged_", None)

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
