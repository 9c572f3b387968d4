"""Studies whose sites make an encoder together, and what can be chosen in them."""

from typing import Annotated, ClassVar

import msgspec

from fedhull.embed.features import NO_CORRECTION, Correction
from fedhull.protocol.agreement import Agreement, Part
from fedhull.study.promise import check_texts
from fedhull.study.study import Attachment, Disclosure, Positive, Seed, Sha256


class Neighbours(Part, frozen=True, kw_only=True):
    """An encoder from three sums: of genes, of their products, and of anchors.

    `genes` is the SHA-256 of the public list of genes, of which the `n_genes` most variable ones
    are taken, and `n_components` principal axes. At most about `max_anchors` anchors are laid out,
    each joined to its `n_neighbors` nearest. `correction` says what sites do about measuring
    differently. The share `holdout` of a site's cells is kept out, if that makes 20 cells or more,
    to judge the encoder by.
    """

    genes: Sha256
    n_genes: Annotated[int, msgspec.Meta(ge=2, le=10_000)] = 2000
    n_components: Annotated[int, msgspec.Meta(ge=2, le=100)] = 30
    n_neighbors: Annotated[int, msgspec.Meta(ge=1, le=100)] = 5
    max_anchors: Annotated[int, msgspec.Meta(ge=20, le=10_000)] = 4000
    correction: Correction = NO_CORRECTION
    curvature: Positive = 1.0
    holdout: Annotated[float, msgspec.Meta(ge=0, lt=1)] = 0.1
    seed: Seed = 0


class NeighbourStudy(Agreement, frozen=True, kw_only=True, dict=True):
    """A study that makes an encoder from sums over all sites' cells."""

    attachment: ClassVar[Attachment] = Attachment(
        "encoder", "genes", "genes.txt", "the list of its genes: --genes FILE"
    )

    encoder: Neighbours
    disclosure: Disclosure = Disclosure()

    def __post_init__(self) -> None:
        super().__post_init__()
        check_texts(self)

    @property
    def attached(self) -> str:
        """The SHA-256 of the list of genes."""
        return self.encoder.genes
