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
    known = [setting.name for setting in fields(kind) if setting.init]
    for name in settings:
        if name not in known:
            raise InvalidInput(
                f"the embedder {method!r} has no setting {name!r}; it has {', '.join(known)}"
            )
    made: CellEmbedder = kind(**settings)
    return made
