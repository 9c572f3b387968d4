"""The classifier on a page: as the page's script evaluates it, and as counts of test points."""

import base64
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from fedhull.learn.content import Judged
from fedhull.learn.horocycles import draw_horocycles
from fedhull.learn.model import model_to_json
from fedhull.report.sections import Confusion, Reliability

# The script computes with these itself, at any magnification; of others it gets a picture.
COMPUTED = ("lorentz", "poincare-svm", "euclidean-svm", "moments")
_SIZE = 256
_LEVELS, _FINE_LEVELS = 10, 15


def shown_model(model: Any, curvature: float) -> dict[str, Any]:
    """The model's content, or, for classifiers that the script does not know, the class at each
    point of a grid over the disc."""
    content = model_to_json(model)
    # the page shows it in words and charts
    content.pop("judged", None)
    if content["kind"] in COMPUTED:
        return _with_waves(content) if content["kind"] == "moments" else content
    side = (np.arange(_SIZE) + 0.5) / _SIZE * 2.0 - 1.0
    x, y = np.meshgrid(side, side)
    inside = x**2 + y**2 < 1.0
    column = np.zeros((_SIZE, _SIZE), dtype=np.uint8)
    points = np.column_stack((x[inside], y[inside])) / np.sqrt(curvature)
    order = np.argsort(model.classes_)
    column[inside] = order[np.searchsorted(model.classes_, model.predict(points), sorter=order)]
    return {
        "kind": "grid",
        "classes": content["classes"],
        "size": _SIZE,
        "columns": base64.b64encode(column.tobytes()).decode(),
    }


def _with_waves(content: dict[str, Any]) -> dict[str, Any]:
    """Features spelled out, so that the script need not draw them from their seed; those that have
    no weight are left out."""
    scales, seed = tuple(content["scales"]), content["seed"]
    drawn = draw_horocycles(len(content["coef"]), content["dimension"], scales, seed)
    coef = np.array(content["coef"])
    used = np.flatnonzero(np.abs(coef).sum(axis=1))
    return {
        "kind": content["kind"],
        "classes": content["classes"],
        "coef": coef[used].tolist(),
        "directions": drawn.directions[used].tolist(),
        "frequencies": drawn.frequencies[used].tolist(),
        "phases": drawn.phases[used].tolist(),
        # left out, it is the usual one
        **({"power": content["power"]} if "power" in content else {}),
    }


def judged_tests(judged: Judged, names: list[str]) -> Confusion:
    """Held-out cells of all sites, counted under masks."""
    levels = [
        Reliability(confidence=level.confidence, accuracy=level.accuracy, points=level.cells)
        for level in judged.calibration
    ]
    return Confusion(names=names, confusion=judged.confusion, reliability=levels)


def count_tests(model: Any, x: np.ndarray, y: np.ndarray) -> Confusion:
    """Confusion and reliability of a model on points x (n, 2) with classes y (n,), which may be
    such as the model does not know."""
    predicted, classes = model.predict(x), np.union1d(y, model.classes_)
    # a site's own names may be numbers, and those of classes that it lacks are words
    y = y.astype(classes.dtype)
    confusion = np.zeros((len(classes), len(classes)), dtype=int)
    np.add.at(confusion, (np.searchsorted(classes, y), np.searchsorted(classes, predicted)), 1)
    return Confusion(
        names=[str(name) for name in classes],
        confusion=confusion.tolist(),
        reliability=_reliability(model, x, predicted == y),
    )


def _reliability(model: Any, x: np.ndarray, right: np.ndarray) -> list[Reliability]:
    """The model's confidence and accuracy, level by level; empty if it has no probabilities."""
    if not hasattr(model, "predict_proba"):
        return []
    sure = model.predict_proba(x).max(axis=1)
    level = np.minimum((sure * _LEVELS).astype(int), _LEVELS - 1)
    return [
        Reliability(
            confidence=float(sure[level == i].mean()),
            accuracy=float(right[level == i].mean()),
            points=int((level == i).sum()),
        )
        for i in np.unique(level)
    ]


def calibration_error(model: Any, x: np.ndarray, y: np.ndarray) -> float | None:
    """The expected calibration error on points x (n, 2) with classes y (n,): by how much the model
    is more, or less, sure than right, over 15 levels; None if it does not say how sure it is."""
    if not hasattr(model, "predict_proba"):
        return None
    sure, right = model.predict_proba(x).max(axis=1), model.predict(x) == y
    level = np.minimum((sure * _FINE_LEVELS).astype(int), _FINE_LEVELS - 1)
    gaps = np.bincount(level, weights=sure - right, minlength=_FINE_LEVELS)
    return float(np.abs(gaps).sum() / len(y))


def pool_tests(tests: Sequence[Confusion]) -> Confusion:
    """Several tests as one, over the classes of all of them."""
    names = sorted({name for test in tests for name in test.names}, key=_position(tests))
    confusion = np.zeros((len(names), len(names)), dtype=int)
    for test in tests:
        at = [names.index(name) for name in test.names]
        confusion[np.ix_(at, at)] += np.array(test.confusion)
    levels: dict[int, list[Reliability]] = {}
    for part in (r for test in tests for r in test.reliability):
        levels.setdefault(min(int(part.confidence * _LEVELS), _LEVELS - 1), []).append(part)
    return Confusion(
        names=names,
        confusion=confusion.tolist(),
        reliability=[_pooled(parts) for _, parts in sorted(levels.items())],
    )


def _position(tests: Sequence[Confusion]) -> Callable[[str], tuple[int, str]]:
    """Sort key of class names: the order in the test with most classes, then by name."""
    longest = max(tests, key=lambda test: len(test.names)).names
    order = {name: i for i, name in enumerate(longest)}
    return lambda name: (order.get(name, len(order)), name)


def _pooled(parts: Sequence[Reliability]) -> Reliability:
    weights = [part.points for part in parts]
    return Reliability(
        confidence=float(np.average([part.confidence for part in parts], weights=weights)),
        accuracy=float(np.average([part.accuracy for part in parts], weights=weights)),
        points=sum(weights),
    )
