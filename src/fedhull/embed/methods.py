"""The embedders by the name under which commands and files know them."""

from fedhull.embed.embedder import Embedder
from fedhull.embed.neighbours import NeighbourEmbedder

METHODS: dict[str, type[Embedder]] = {NeighbourEmbedder.method: NeighbourEmbedder}
