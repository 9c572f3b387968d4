"""The embedders by the name under which commands and files know them."""

from dataclasses import fields
from typing import Any

from fedhull.embed.embedder import CellEmbedder, Embedder
from fedhull.errors import InvalidInput
from fedhull.registry import Registry

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
    made: CellEmbedder = kind(**settings)
    return made


def _fits(value: Any, default: Any) -> bool:
    """Whether a value is of the type of the default; a whole number will do for any number."""
    if default is None or isinstance(default, bool) or isinstance(value, bool):
        return default is None or type(value) is type(default)
    return isinstance(value, int | float if isinstance(default, float) else type(default))
