"""The classifiers and groupings that a study can name."""

from typing import Any

from fedhull.learn.lorentz import LorentzClassifier
from fedhull.learn.svm import EuclideanSVC, PoincareSVC

METHODS = ("lorentz", "poincare-svm", "euclidean-svm")
GROUPINGS = ("matching", "kernighan-lin", "spectral")
# The paper's λ for biological data.
PAPER_STRENGTH = 0.1


def make_classifier(method: str, curvature: float) -> Any:
    """A fresh classifier."""
    if method == "lorentz":
        return LorentzClassifier(curvature=curvature)
    if method == "poincare-svm":
        return PoincareSVC(PAPER_STRENGTH, curvature=curvature)
    return EuclideanSVC(PAPER_STRENGTH)
