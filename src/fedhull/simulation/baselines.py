"""What a federation is compared with: pooled data, sites alone, and the paper's methods."""

from collections import Counter
from typing import Any

import numpy as np

from fedhull.disc.hull import minimal_hull
from fedhull.learn.classifiers import make_classifier
from fedhull.study.study import Study


def pooled(
    study: Study, x: np.ndarray, y: np.ndarray, test_x: np.ndarray, test_y: np.ndarray
) -> dict[str, float]:
    """The study's method on pooled data, and the paper's methods there and on pooled hulls (Sec.
    6.1, App. I)."""
    corners = np.concatenate(
        [
            members[minimal_hull(x[members], study.geometry.curvature)]
            for members in (np.flatnonzero(y == c) for c in np.unique(y))
        ]
    )
    runs = {
        "C": (study.learning.method, x, y),
        "CP": ("poincare-svm", x, y),
        "CE": ("euclidean-svm", x, y),
        "CH-CP": ("poincare-svm", x[corners], y[corners]),
        "CH-CE": ("euclidean-svm", x[corners], y[corners]),
    }
    scores = {name: score(_fit(study, *run), test_x, test_y) for name, run in runs.items()}
    most_common = Counter(y.tolist()).most_common(1)[0][0]
    return scores | {"majority": float(np.mean(test_y == most_common) * 100.0)}


def papers(
    study: Study, corners: np.ndarray, classes: np.ndarray, test_x: np.ndarray, test_y: np.ndarray
) -> dict[str, float]:
    """The paper's methods on the corners that were decoded."""
    methods = {"FLP": "poincare-svm", "FLE": "euclidean-svm"}
    return {
        name: score(_fit(study, method, corners, classes), test_x, test_y)
        for name, method in methods.items()
    }


def alone(
    study: Study,
    x: np.ndarray,
    y: np.ndarray,
    owner: np.ndarray,
    test_x: np.ndarray,
    test_y: np.ndarray,
) -> float:
    """How well the sites would do on the common test points, each with its own points and the same
    method, on average: what a federation has to beat."""
    scores = []
    for site in range(len(study.clients)):
        mine, own = x[owner == site], y[owner == site]
        if len(np.unique(own)) == 1:
            scores.append(float(np.mean(test_y == own[0]) * 100.0))
        else:
            scores.append(score(_fit(study, study.learning.method, mine, own), test_x, test_y))
    return float(np.mean(scores))


def score(model: Any, x: np.ndarray, y: np.ndarray) -> float:
    """The percentage of points that are classified correctly."""
    return float(np.mean(model.predict(x) == y) * 100.0)


def _fit(study: Study, method: Any, x: np.ndarray, y: np.ndarray) -> Any:
    return make_classifier(method, study.geometry.curvature, study.learning.strength).fit(x, y)
