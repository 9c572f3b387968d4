"""The embedders by the name under which commands and files know them."""

from fedhull.embed.autoencoder import AutoencoderEmbedder
from fedhull.embed.embedder import Embedder

METHODS: dict[str, type[Embedder]] = {AutoencoderEmbedder.method: AutoencoderEmbedder}
