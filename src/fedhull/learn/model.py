"""Trained classifiers as JSON: versioned, readable, no pickle; and what the server publishes."""

import inspect
from pathlib import Path
from typing import Any, ClassVar, Protocol, Self

import msgspec
import numpy as np

from fedhull.disc.isometry import Isometry
from fedhull.disk import read_bytes, write_json
from fedhull.errors import InvalidInput
from fedhull.learn.centres import Centres
from fedhull.learn.content import (
    ALIGNED,
    FORMAT,
    KIND,
    VERSION,
    AlignedContent,
    Carried,
    Content,
    split,
)
from fedhull.learn.content import Content as ModelContent
from fedhull.registry import Registry
from fedhull.text import shortened

_PUBLISHED = "the published model"
# where keys stand in a file, whatever the classifier has in between
_FIRST = ("format", "version", KIND, "classes", "dimension", "curvature")
_LAST = ("aligned_to", "judged", "encoder")


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
        """The fitted classifier as it stands in a model file."""

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
    """Fit a classifier to corners of sites' hulls, with the sites if its `fit` takes `groups`."""
    if "groups" in inspect.signature(model.fit).parameters:
        return model.fit(points, labels, groups=sites)
    return model.fit(points, labels)


def model_to_json(
    model: Any, encoder: str | None = None, centres: Centres | None = None
) -> dict[str, Any]:
    """A fitted classifier as plain values; `encoder` is the hash of the encoder that its points
    come from, `centres` are those of its classes that sites have aligned themselves to."""
    kind = getattr(type(model), "Content", Content).__struct_config__.tag
    if kind == ALIGNED:
        inner = model_to_json(model.model, encoder, centres)
        aligned = AlignedContent(
            site=model.site, study=model.study, isometry=model.isometry.to_json(), model=inner
        )
        values = msgspec.to_builtins(aligned)
        first = [key for key in _FIRST if key in values]
        return {key: values[key] for key in (*first, *(k for k in values if k not in first))}
    if kind not in CLASSIFIERS.names or CLASSIFIERS[kind] is not type(model):
        raise InvalidInput(
            f"a {type(model).__name__} cannot be saved as a model file: only classifiers with a "
            f"name can be, {', '.join(CLASSIFIERS.names)}"
        )
    content = model.to_content()
    content.encoder = encoder
    if centres is not None:
        content.aligned_to = np.column_stack((centres.counts, centres.sums)).tolist()
    # what is not known is left out
    known = {k: v for k, v in msgspec.to_builtins(content).items() if v is not None}
    between = [key for key in known if key not in _FIRST + _LAST]
    return {key: known[key] for key in (*_FIRST, *between, *_LAST) if key in known}


def model_from_json(content: Any, name: str = "the model") -> Any:
    """The classifier of `model_to_json`, with the attributes `encoder_` (hash of its points'
    encoder), `aligned_to_` (centres that sites have aligned themselves to), `judged_` (evaluation
    on held-out cells), `provenance_` and `encoder_file_`; None where the content does not say."""
    content, beside = split(content)
    aligned = isinstance(content, dict) and content.get(KIND) == ALIGNED
    model = _aligned(content, name) if aligned else _classifier(_checked(content, name), name)
    carried = _converted(beside, Carried, name)
    try:
        return carried.put_on(model)
    except InvalidInput as problem:
        raise InvalidInput(f"{name} is damaged: {problem}") from None


def save_model(model: Any, path: str | Path, encoder: str | None = None) -> None:
    """Write a fitted classifier to a JSON file, with the hash of the encoder that its points come
    from, if there is one: a model that was loaded knows its own, the centres of its classes, and
    what it carries, `provenance_` and `encoder_file_`; set them to None and they are left out."""
    own = getattr(model, "encoder_", None)
    content = model_to_json(model, encoder or own, getattr(model, "aligned_to_", None))
    carried = Carried.by(model)
    if encoder not in (None, own):
        carried = Carried(provenance=carried.provenance)
    write_json(path, carried.added_to(content))


def load_model(path: str | Path) -> Any:
    """The classifier in a file that `save_model`, a study or a simulation wrote; its attribute
    `encoder_` is the hash of the encoder that its points come from, or None; `encoder_file_` that
    encoder, if the file carries it, and `provenance_` says in which study it was learned. From the
    file of a site that has aligned itself it is an `AlignedClassifier`, for cells of that site."""
    return model_from_json(_decoded(read_bytes(path), str(path)), str(path))


def published_model(raw: bytes) -> Any:
    """The classifier that a server has published: its classes are different numbers."""
    content = _checked(_decoded(raw, _PUBLISHED), _PUBLISHED)
    if not all(isinstance(number, int) for number in content.classes):
        raise InvalidInput(
            f"{_PUBLISHED} must number its classes, got {shortened(content.classes[0])}"
        )
    if len(set(content.classes)) < len(content.classes):
        raise InvalidInput(f"{_PUBLISHED} must give its classes different numbers")
    return _classifier(content, _PUBLISHED)


def _decoded(raw: bytes, name: str) -> Any:
    try:
        return msgspec.json.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise InvalidInput(f"{name} cannot be read as a model: it is not JSON") from None


def _checked(content: Any, name: str) -> Content:
    """The content as the type of its kind, which the registry knows: a tagged union that grows with
    the packages installed, and of which only the member needed is imported."""
    _check_format(content, name)
    kind = content.get(KIND)
    if kind not in CLASSIFIERS.names:
        raise InvalidInput(
            f"{name} has a {KIND} that is not installed here, {shortened(kind)}; it must be one "
            f"of {', '.join(CLASSIFIERS.names)}"
        )
    checked: Content = _converted(content, CLASSIFIERS[kind].Content, name)
    return checked


def _check_format(content: Any, name: str) -> None:
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise InvalidInput(f"{name} is not a fedhull model")
    if content.get("version") != VERSION:
        raise InvalidInput(
            f"{name} has version {shortened(content.get('version'))} of the format, but this "
            f"fedhull reads version {VERSION}"
        )


def _converted(content: Any, kind: type, name: str) -> Any:
    try:
        return msgspec.convert(content, kind)
    except msgspec.ValidationError as problem:
        reason = str(problem).replace("`$.", "`")
        raise InvalidInput(f"{name} is damaged: {reason}") from None


def _aligned(content: Any, name: str) -> Any:
    """The classifier of a site, which holds the study's, never another site's."""
    # scikit-learn, on which it stands, is slow to import
    from fedhull.learn.aligned import AlignedClassifier

    _check_format(content, name)
    checked = _converted(content, AlignedContent, name)
    model = _classifier(_checked(checked.model, name), name)
    try:
        isometry = Isometry.from_json(checked.isometry)
        return AlignedClassifier(model, isometry, checked.site, checked.study)
    except InvalidInput as problem:
        raise InvalidInput(f"{name} is damaged: {problem}") from None


def _classifier(content: Content, name: str) -> Any:
    kind: Any = type(content).__struct_config__.tag
    try:
        model: Any = CLASSIFIERS[kind].from_content(content)
    except InvalidInput as problem:
        raise InvalidInput(f"{name} is damaged: {problem}") from None
    model.classes_ = np.array(content.classes)
    model.n_features_in_ = content.dimension
    model.encoder_ = content.encoder
    model.aligned_to_ = content.class_centres
    model.judged_ = content.judged
    return model
