"""Embedders are fitted, place new cells, and are files; a registry knows them by name.

A file is an .npz: arrays, and a JSON header that says which embedder made it and how. It is read
without pickle, and the same embedder always gives the same bytes, so that `sha256sum FILE` can
stand in a study.
"""

import hashlib
import io
import json
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any, ClassVar, Self, TypeVar

import msgspec
import numpy as np

from fedhull.arrays import read_arrays
from fedhull.disk import write_bytes
from fedhull.embed.cells import Preparation
from fedhull.errors import InvalidInput
from fedhull.progress import Report, ignore
from fedhull.registry import Registry
from fedhull.text import shortened

FORMAT, VERSION = "fedhull-embedder", 1
_HEADER = "header"
T = TypeVar("T")
# No fit gives larger numbers, and with these no sum or product overflows.
LARGEST = 1e30


class Embedder:
    """From raw data to the Poincaré disc. Subclasses are dataclasses of settings.

    Embedders are scikit-learn's transformers, without its base classes: those who only place cells
    need not wait for it.
    """

    method: ClassVar[str]
    curvature: float
    supervised: bool

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """All settings, by name."""
        return {name: getattr(self, name) for name in _settings(type(self))}

    def set_params(self, **settings: Any) -> Self:
        """Change settings; what is fitted stays as it was until the next `fit`."""
        known = _settings(type(self))
        for name, value in settings.items():
            if name not in known:
                raise InvalidInput(
                    f"the embedder {self.method!r} has no setting {name!r}; it has "
                    f"{', '.join(known)}"
                )
            setattr(self, name, value)
        # what must hold for settings holds for changed ones too
        getattr(self, "__post_init__", lambda: None)()
        return self

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import InputTags, Tags, TargetTags, TransformerTags

        return Tags(
            estimator_type="transformer",
            target_tags=TargetTags(required=False),
            transformer_tags=TransformerTags(),
            input_tags=InputTags(sparse=True),
        )

    def state(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """Settings as plain values, and arrays: all that `from_state` needs."""
        raise NotImplementedError

    @classmethod
    def from_state(cls, settings: dict[str, Any], arrays: dict[str, np.ndarray]) -> Self:
        """The fitted embedder of a state."""
        raise NotImplementedError

    def to_bytes(self) -> bytes:
        """The content of the embedder's file."""
        settings, arrays = self.state()
        header = {
            "format": FORMAT,
            "version": VERSION,
            "method": self.method,
            "curvature": self.curvature,
            "supervised": self.supervised,
            "settings": settings,
        }
        text = json.dumps(header, sort_keys=True)
        file = io.BytesIO()
        np.savez(file, allow_pickle=False, **{_HEADER: np.array(text)}, **arrays)
        return file.getvalue()

    def save(self, path: str | Path) -> None:
        """Write the embedder to a file."""
        write_bytes(path, self.to_bytes())

    @property
    def hash(self) -> str:
        """SHA-256 of the embedder's file, in hexadecimal."""
        return hashlib.sha256(self.to_bytes()).hexdigest()


class CellEmbedder(Embedder):
    """An embedder of cells, which it knows by the genes of its preparation.

    Cells are `Cells`, an AnnData object, a table with a column for each gene, or a matrix, dense or
    sparse, whose genes go by their numbers (see `as_cells`).
    """

    preparation: Preparation

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "preparation")

    def fit(self, cells: Any, labels: np.ndarray | None = None, report: Report = ignore) -> Self:
        """Learn where cells go. With `labels` the result is supervised, and says so."""
        self.fit_transform(cells, labels, report)
        return self

    def fit_transform(
        self, cells: Any, labels: np.ndarray | None = None, report: Report = ignore
    ) -> np.ndarray:
        """Fit, and return the points of the same cells."""
        raise NotImplementedError

    def transform(self, cells: Any) -> np.ndarray:
        """The cells' points in the disc, (n, 2). The same cell always gets the same point."""
        raise NotImplementedError


def _settings(kind: Any) -> list[str]:
    """The names of an embedder's settings, in their order."""
    return [setting.name for setting in fields(kind) if setting.init]


def load_embedder(path: str | Path) -> Embedder:
    """The embedder in a file that `save` wrote."""
    try:
        return embedder_from_bytes(Path(path).read_bytes(), str(path))
    except OSError as problem:
        raise InvalidInput(f"{path} cannot be read: {problem.strerror}") from None


def load_cell_embedder(path: str | Path) -> CellEmbedder:
    """The embedder in a file, which must be one for cells."""
    return _of_cells(load_embedder(path), str(path))


def cell_embedder_from_bytes(content: bytes, name: str = "the embedder") -> CellEmbedder:
    """The embedder whose file has this content, which must be one for cells."""
    return _of_cells(embedder_from_bytes(content, name), name)


def _of_cells(embedder: Embedder, name: str) -> CellEmbedder:
    if not isinstance(embedder, CellEmbedder):
        raise InvalidInput(f"{name} must hold an embedder of cells, not of a {embedder.method}")
    return embedder


def embedder_from_bytes(content: bytes, name: str = "the embedder") -> Embedder:
    """The embedder whose file has this content."""
    try:
        arrays = read_arrays(content, name)
        header = json.loads(str(arrays.pop(_HEADER)))
    except InvalidInput as problem:
        raise InvalidInput(f"{name} is not a fedhull embedder: {problem}") from None
    except (ValueError, KeyError, RecursionError):
        raise InvalidInput(f"{name} is not a fedhull embedder") from None
    if not isinstance(header, dict) or header.get("format") != FORMAT:
        raise InvalidInput(f"{name} is not a fedhull embedder")
    if header.get("version") != VERSION or header.get("method") not in EMBEDDERS.names:
        raise InvalidInput(
            f"{name} was embedder by another version of fedhull: it has version "
            f"{shortened(header.get('version'))} and method {shortened(header.get('method'))}"
        )
    try:
        embedder = EMBEDDERS[header["method"]].from_state(header["settings"], arrays)
    except InvalidInput as problem:
        raise InvalidInput(f"{name} is damaged: {problem}") from None
    # embedders may come from anywhere, and so may what they raise
    except Exception as problem:
        raise InvalidInput(f"{name} is damaged: {problem!r} in its content") from None
    return embedder


EMBEDDERS: Registry[type[Embedder]] = Registry("method", "fedhull.embedders")


def make_embedder(method: str | CellEmbedder, **settings: Any) -> CellEmbedder:
    """An embedder of cells that is not fitted yet: the one of this name with these settings, or the
    embedder that was passed instead of a name, which has its settings already."""
    if isinstance(method, CellEmbedder):
        if settings:
            raise InvalidInput(
                f"{', '.join(settings)} must be set on the embedder that is passed as method"
            )
        return method
    kind: Any = EMBEDDERS[method]
    if not issubclass(kind, CellEmbedder):
        raise InvalidInput(f"method must be an embedder of cells, but {method!r} is not")
    known = {setting.name: setting.default for setting in fields(kind) if setting.init}
    for name, value in settings.items():
        if name not in known:
            raise InvalidInput(
                f"the embedder {method!r} has no setting {name!r}; it has {', '.join(known)}"
            )
        if not _fits(value, known[name]):
            raise InvalidInput(
                f"{name} must be of the same type as its default, {known[name]!r}, got {value!r}"
            )
    embedder: CellEmbedder = kind(**settings)
    return embedder


def _fits(value: Any, default: Any) -> bool:
    """True if a value is of the type of the default; a whole number will do for any number."""
    if default is None or isinstance(default, bool) or isinstance(value, bool):
        return default is None or type(value) is type(default)
    return isinstance(value, int | float if isinstance(default, float) else type(default))


def settings_as(kind: type[T], content: Any) -> T:
    """Plain values as a struct or dataclass; InvalidInput if one is of another type."""
    try:
        return msgspec.convert(content, kind)
    except msgspec.ValidationError as problem:
        raise InvalidInput(f"its settings break a rule: {problem}") from None


def numbers(arrays: Mapping[str, np.ndarray], name: str, *shape: int | None) -> np.ndarray:
    """The array of this name, if it is finite numbers of this shape; None fits any length."""
    array = arrays.get(name)
    if array is None or array.dtype.kind != "f":
        raise InvalidInput(f"its array {name!r} must be there and hold numbers")
    fits = array.ndim == len(shape) and all(
        length > 0 and wanted in (None, length)
        for length, wanted in zip(array.shape, shape, strict=True)
    )
    if not fits:
        words = ", ".join("n" if wanted is None else str(wanted) for wanted in shape)
        raise InvalidInput(f"its array {name!r} must have shape ({words}), got {array.shape}")
    if not (np.abs(array) <= LARGEST).all():
        raise InvalidInput(f"its array {name!r} must hold finite numbers, up to {LARGEST:g}")
    return array


def divisors(arrays: Mapping[str, np.ndarray], name: str, *shape: int | None) -> np.ndarray:
    """The same for numbers that others are divided by."""
    array = numbers(arrays, name, *shape)
    if not (array >= 1.0 / LARGEST).all():
        raise InvalidInput(f"its array {name!r} must hold numbers > 0")
    return array
