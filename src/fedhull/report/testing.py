"""How a classifier did on test points, as counts: no point is kept."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from fedhull.report.class_content import Reliability, Testing

_LEVELS, _FINE_LEVELS = 10, 15


def count_tests(model: Any, x: np.ndarray, y: np.ndarray) -> Testing:
    """Confusion and reliability of a model on points x (n, 2) with classes y (n,), which may be
    such as the model does not know."""
    predicted, classes = model.predict(x), np.union1d(y, model.classes_)
    # a site's own names may be numbers, and those of classes that it lacks are words
    y = y.astype(classes.dtype)
    confusion = np.zeros((len(classes), len(classes)), dtype=int)
    np.add.at(confusion, (np.searchsorted(classes, y), np.searchsorted(classes, predicted)), 1)
    return Testing(
        names=[str(name) for name in classes],
        confusion=confusion.tolist(),
        reliability=_reliability(model, x, predicted == y),
    )


def _reliability(model: Any, x: np.ndarray, right: np.ndarray) -> list[Reliability]:
    """How sure the model was, and how often right, level by level; nothing if it does not say."""
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


def pool_tests(tests: Sequence[Testing]) -> Testing:
    """Several tests as one, over the classes of all of them."""
    names = sorted({name for test in tests for name in test.names}, key=_position(tests))
    confusion = np.zeros((len(names), len(names)), dtype=int)
    for test in tests:
        at = [names.index(name) for name in test.names]
        confusion[np.ix_(at, at)] += np.array(test.confusion)
    levels: dict[int, list[Reliability]] = {}
    for part in (r for test in tests for r in test.reliability):
        levels.setdefault(min(int(part.confidence * _LEVELS), _LEVELS - 1), []).append(part)
    return Testing(
        names=names,
        confusion=confusion.tolist(),
        reliability=[_pooled(parts) for _, parts in sorted(levels.items())],
    )


def _position(tests: Sequence[Testing]) -> Callable[[str], tuple[int, str]]:
    """Where a class comes: as in the test with most classes, then by name."""
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
