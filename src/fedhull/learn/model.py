"""Trained classifiers as JSON: versioned, readable, no pickle; and what the server publishes."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from fedhull.errors import InvalidInput
from fedhull.learn.lorentz import LorentzClassifier
from fedhull.learn.platt import PlattScaled
from fedhull.learn.svm import EuclideanSVC, GeodesicScore, LinearScore, PoincareSVC

FORMAT, VERSION, ENCODER = "fedhull-model", 1, "encoder"
_KINDS = {"lorentz": LorentzClassifier, "poincare-svm": PoincareSVC, "euclidean-svm": EuclideanSVC}


def model_to_json(model: Any, class_of_label: Mapping[int, int] | None = None) -> dict[str, Any]:
    """A fitted classifier as plain values; `class_of_label` says to which class each label of the
    study was assigned."""
    kind = next((k for k, cls in _KINDS.items() if type(model) is cls), None)
    if kind is None:
        raise InvalidInput(f"a {type(model).__name__} cannot be saved as a model file")
    content = {
        "format": FORMAT,
        "version": VERSION,
        "kind": kind,
        "classes": model.classes_.tolist(),
        "dimension": int(model.n_features_in_),
        "curvature": float(getattr(model, "curvature", 1.0)),
    }
    if kind == "lorentz":
        content["coef"] = model.coef_.tolist()
        content["intercept"] = model.intercept_.tolist()
    else:
        content["scorers"] = [{"a": s.a, "b": s.b} | s.score.to_json() for s in model.scorers_]
    if class_of_label is not None:
        content["class_of_label"] = {str(k): int(v) for k, v in class_of_label.items()}
    return content


def model_from_json(content: Any, name: str = "the model") -> Any:
    """The classifier of `model_to_json`."""
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise InvalidInput(f"{name} is not a fedhull model")
    if content.get("version") != VERSION:
        raise InvalidInput(
            f"{name} has version {content.get('version')!r} of the format, this fedhull reads "
            f"version {VERSION}"
        )
    try:
        model: Any = _KINDS[content["kind"]]()
        model.classes_ = np.array(content["classes"])
        model.n_features_in_ = int(content["dimension"])
        if content["kind"] != "euclidean-svm":
            model.curvature = float(content["curvature"])
        if content["kind"] == "lorentz":
            model.coef_ = np.array(content["coef"], dtype=np.float64)
            model.intercept_ = np.array(content["intercept"], dtype=np.float64)
        else:
            score = LinearScore if content["kind"] == "euclidean-svm" else GeodesicScore
            model.scorers_ = [
                PlattScaled(score.from_json(s), float(s["a"]), float(s["b"]))
                for s in content["scorers"]
            ]
    except (KeyError, TypeError, ValueError) as problem:
        raise InvalidInput(f"{name} is damaged: {problem!r} in its content") from None
    return model


def save_model(model: Any, path: str | Path, encoder: str | None = None) -> None:
    """Write a fitted classifier to a JSON file, with the hash of the encoder that its points come
    from, if there is one."""
    content = model_to_json(model) | ({} if encoder is None else {ENCODER: encoder})
    Path(path).write_text(json.dumps(content, indent=1) + "\n")


def encoder_of_model(path: str | Path) -> str | None:
    """The hash of the encoder that a model file names."""
    content = json.loads(Path(path).read_text())
    return content.get(ENCODER) if isinstance(content, dict) else None


def load_model(path: str | Path) -> Any:
    """The classifier in a file that `save_model`, a study or a simulation wrote."""
    try:
        content = json.loads(Path(path).read_text())
    except (OSError, UnicodeDecodeError, json.JSONDecodeError) as problem:
        reason = getattr(problem, "strerror", None) or "it is not JSON"
        raise InvalidInput(f"{path} cannot be read as a model: {reason}") from None
    return model_from_json(content, str(path))


def published_names(
    published: bytes, label_of_class: Sequence[int], classes: Sequence[Any]
) -> dict[int, Any]:
    """{global class: the client's own name for it}, from what the server published and the labels
    under which the client had sent its classes. Classes that the client does not have are left out.
    """
    class_of_label = json.loads(published)["class_of_label"]
    return {
        class_of_label[str(label)]: name
        for label, name in zip(label_of_class, classes, strict=True)
    }


def named_model(published: bytes, names: Mapping[int, Any]) -> Any:
    """The published classifier, speaking a client's words; classes without a name of the client's
    are called "class N"."""
    model = model_from_json(json.loads(published), "the published model")
    model.classes_ = np.array(
        [names.get(int(c), f"class {int(c) + 1}") for c in model.classes_], dtype=object
    ).astype(type(next(iter(names.values()))) if len(names) == len(model.classes_) else str)
    return model
