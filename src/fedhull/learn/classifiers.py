"""The classifiers that a study can name, and what each has to offer."""

import inspect
from typing import Any, ClassVar, Protocol, Self

import numpy as np

from fedhull.errors import InvalidInput
from fedhull.learn.content import Content as ModelContent
from fedhull.registry import Registry


class Classifier(Protocol):
    """A scikit-learn classifier that a study can name and a model file can hold."""

    Content: ClassVar[type[ModelContent]]

    @classmethod
    def for_study(cls, curvature: float, strength: float) -> Self:
        """A fresh one for points of this curvature; `strength` is λ, for those that ask for one."""

    def fit(self, X: Any, y: Any) -> Self:  # noqa: N803 - scikit-learn's name
        """Fit to points (n, d) with labels (n,)."""

    def predict(self, X: Any) -> np.ndarray:  # noqa: N803
        """The classes of points (n, d), shape (n,)."""

    def to_content(self) -> ModelContent:
        """What of a fitted one stands in a model file, as a `Content`."""

    @classmethod
    def from_content(cls, content: Any) -> Self:
        """A fitted one but for its classes and dimension, which every reader sets."""


CLASSIFIERS: Registry[type[Classifier]] = Registry("method", "fedhull.classifiers")


def make_classifier(method: Any, curvature: float, strength: float = 0.1) -> Any:
    """A fresh classifier: the one of this name, or a copy of the unfitted estimator given instead.

    `strength` is λ of the SVMs; 0.1 is the paper's for biological data.

    >>> make_classifier("poincare-svm", curvature=0.5)
    PoincareSVC(C=0.1, curvature=0.5)
    """
    if isinstance(method, str):
        return CLASSIFIERS[method].for_study(curvature, strength)
    # whoever only names a classifier need not wait for scikit-learn
    from sklearn.base import clone

    try:
        return clone(method)
    except TypeError:
        raise InvalidInput(
            f"method must be a name, one of {', '.join(CLASSIFIERS.names)}, or an unfitted "
            f"scikit-learn classifier, got {method!r}"
        ) from None


def fit_to_corners(model: Any, points: np.ndarray, labels: np.ndarray, sites: np.ndarray) -> Any:
    """Fit a classifier to corners of sites' hulls; it is told whose they are if its `fit`
    takes `groups`."""
    if "groups" in inspect.signature(model.fit).parameters:
        return model.fit(points, labels, groups=sites)
    return model.fit(points, labels)
