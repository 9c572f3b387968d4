"""The embedders by the name under which commands and files know them."""

from fedhull.embed.embedder import Embedder
from fedhull.embed.tree import TreeEmbedder

METHODS: dict[str, type[Embedder]] = {made.method: made for made in (TreeEmbedder,)}
