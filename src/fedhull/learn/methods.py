"""The classifiers and groupings that a study can name."""

from typing import Any

from fedhull.learn.lorentz import LorentzClassifier
from fedhull.learn.svm import EuclideanSVC, PoincareSVC

METHODS = ("lorentz", "poincare-svm", "euclidean-svm")
GROUPINGS = ("matching", "kernighan-lin", "spectral")


def make_classifier(method: str, curvature: float, strength: float = 0.1) -> Any:
    """A fresh classifier. `strength` is λ of the SVMs; 0.1 is the paper's for biological data."""
    if method == "lorentz":
        return LorentzClassifier(curvature=curvature)
    if method == "poincare-svm":
        return PoincareSVC(strength, curvature=curvature)
    return EuclideanSVC(strength)
