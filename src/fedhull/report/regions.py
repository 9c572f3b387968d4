"""The classifier as the page's script can evaluate it, to shade the regions of its classes."""

import base64
from typing import Any

import numpy as np

from fedhull.learn.horocycles import draw_horocycles
from fedhull.learn.model import model_to_json

# The script computes with these itself, at any magnification; of others it gets a picture.
COMPUTED = ("lorentz", "poincare-svm", "euclidean-svm", "moments")
_SIZE = 256


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
