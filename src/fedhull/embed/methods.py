"""The embedders by the name under which commands and files know them."""

from dataclasses import fields
from typing import Any

from fedhull.embed.autoencoder import AutoencoderEmbedder
from fedhull.embed.embedder import CellEmbedder, Embedder
from fedhull.embed.neighbours import NeighbourEmbedder
from fedhull.embed.tree import TreeEmbedder
from fedhull.errors import InvalidInput

CELL_METHODS: dict[str, type[CellEmbedder]] = {
    kind.method: kind for kind in (NeighbourEmbedder, AutoencoderEmbedder)
}
METHODS: dict[str, type[Embedder]] = {**CELL_METHODS, TreeEmbedder.method: TreeEmbedder}


def make_embedder(method: str, **settings: Any) -> CellEmbedder:
    """An embedder of cells that is not fitted yet."""
    if method not in CELL_METHODS:
        raise InvalidInput(f"method must be one of {', '.join(CELL_METHODS)}, got {method!r}")
    kind: Any = CELL_METHODS[method]
    known = {setting.name: setting.default for setting in fields(kind) if setting.init}
    for name, value in settings.items():
        if name not in known:
            raise InvalidInput(
                f"the embedder {method!r} has no setting {name!r}; it has {', '.join(known)}"
            )
        if not _fits(value, known[name]):
            raise InvalidInput(
                f"{name} must be of the kind of its default, {known[name]!r}, got {value!r}"
            )
    made: CellEmbedder = kind(**settings)
    return made


def _fits(value: Any, default: Any) -> bool:
    """Whether a value is of the type of the default; a whole number will do for any number."""
    if default is None or isinstance(default, bool) or isinstance(value, bool):
        return default is None or type(value) is type(default)
    return isinstance(value, int | float if isinstance(default, float) else type(default))
