"""Baselines of a federation: pooled data, sites alone, and the paper's methods."""

from collections import Counter
from collections.abc import Collection
from typing import Any

import numpy as np

from fedhull.disc.hull import minimal_hull
from fedhull.learn.model import make_classifier
from fedhull.simulation.sites import Tests
from fedhull.study.study import Study


def on_pooled(
    study: Study,
    x: np.ndarray,
    y: np.ndarray,
    test_x: np.ndarray,
    test_y: np.ndarray,
    wanted: Collection[str],
) -> dict[str, float]:
    """The wanted scores on pooled points and corners (Sec. 6.1, App. I)."""
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
    most_common = Counter(y.tolist()).most_common(1)[0][0]
    return _scores(study, runs, test_x, test_y, wanted) | {
        "majority": float(np.mean(test_y == most_common) * 100.0)
    }


def on_corners(
    study: Study,
    corners: np.ndarray,
    classes: np.ndarray,
    test_x: np.ndarray,
    test_y: np.ndarray,
    wanted: Collection[str],
) -> dict[str, float]:
    """The paper's methods on the corners that were decoded, where wanted."""
    runs = {"FLP": ("poincare-svm", corners, classes), "FLE": ("euclidean-svm", corners, classes)}
    return _scores(study, runs, test_x, test_y, wanted)


def alone(study: Study, x: np.ndarray, y: np.ndarray, owner: np.ndarray, tests: Tests) -> float:
    """Mean accuracy of the sites alone, by the same method: what a federation has to beat."""
    scores, test_y = [], tests.y
    for site in range(len(study.clients)):
        mine, own = x[owner == site], y[owner == site]
        test_x = tests.shifts.at_site(tests.x, site)
        if len(np.unique(own)) == 1:
            scores.append(float(np.mean(test_y == own[0]) * 100.0))
        else:
            scores.append(score(_fit(study, study.learning.method, mine, own), test_x, test_y))
    return float(np.mean(scores))


def score(model: Any, x: np.ndarray, y: np.ndarray) -> float:
    """The percentage of points that are classified correctly."""
    return float(np.mean(model.predict(x) == y) * 100.0)


def _scores(
    study: Study,
    runs: dict[str, tuple[Any, np.ndarray, np.ndarray]],
    test_x: np.ndarray,
    test_y: np.ndarray,
    wanted: Collection[str],
) -> dict[str, float]:
    return {
        name: score(_fit(study, *run), test_x, test_y)
        for name, run in runs.items()
        if name in wanted
    }


def _fit(study: Study, method: Any, x: np.ndarray, y: np.ndarray) -> Any:
    return make_classifier(method, study.geometry.curvature, study.learning.strength).fit(x, y)
