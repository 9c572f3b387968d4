"""Which classifiers the coordinator of a study of hulls proposes, besides the study's own."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from fedhull.learn.model import CLASSIFIERS, fit_to_corners
from fedhull.registry import name_of
from fedhull.study.classes.ballot import Candidate
from fedhull.study.classes.matching import owners_of
from fedhull.study.hulls.learning import Learned
from fedhull.study.study import Study

# The study's default is also compared with the paper's classifier, at this strength.
_DEFAULT, _OTHER, _OTHER_STRENGTH = "lorentz", "poincare-svm", 1.0


def hull_alternatives(study: Study, learned: Learned) -> list[Candidate]:
    """Other classifiers, trained on the same corners."""
    points, groups = learned.corners
    sizes = [len(hull) for hull in learned.hulls]
    sites = np.repeat(owners_of(study, learned.labels), sizes)
    return [
        Candidate(words, fit_to_corners(model, points, groups, sites))
        for words, model in others(study, class_weights(learned)).items()
    ]


def others(study: Study, weights: Mapping[int, float]) -> dict[str, Any]:
    """The study's method with other settings, as far as it knows any, and for the default method
    the paper's: in words, and not trained yet."""
    method, curvature = study.learning.method, study.geometry.curvature
    kind = CLASSIFIERS[method] if isinstance(method, str) else type(method)
    offered = getattr(kind, "alternatives", None)
    found: dict[str, Any] = {}
    if offered is not None:
        made = offered(curvature, study.learning.strength, weights)
        found |= {f"{name_of(method)}, {words}": model for words, model in made.items()}
    if method == _DEFAULT:
        other = CLASSIFIERS[_OTHER].for_study(curvature, _OTHER_STRENGTH)
        found[f"{_OTHER}, λ = {_OTHER_STRENGTH:g}"] = other
    return found


def class_weights(learned: Learned) -> dict[int, float]:
    """{class: by how much its corners count}, so that classes weigh as much as they have cells: a
    hull of many cells need not have more corners than one of few."""
    _, groups = learned.corners
    numbers, corners = np.unique(groups, return_counts=True)
    cells = np.bincount(learned.groups, learned.match.counts)[numbers]
    if not cells.all():
        return dict.fromkeys(numbers.tolist(), 1.0)
    weights = cells / corners * corners.sum() / cells.sum()
    return dict(zip(numbers.tolist(), weights.tolist(), strict=True))
