"""What a model is asked about: points, or an AnnData object, whose cells are placed first."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from fedhull.errors import InvalidInput

if TYPE_CHECKING:
    from anndata import AnnData

    from fedhull.embed.embedder import CellEmbedder


@dataclass(frozen=True, eq=False)
class Placed:
    """Points (n, d) in the model's frame; the encoder that they were computed with just now, None
    if they were there before, and which of its genes the cells lack."""

    points: np.ndarray
    encoder: "CellEmbedder | None" = None
    missing_genes: list[str] = field(default_factory=list)


def points_of(model: Any, data: Any) -> Any:
    """The points that a model is asked about: those of an AnnData object's cells, and anything else
    as it is."""
    return place(model, data).points if is_annotated(data) else data


def is_annotated(data: Any) -> bool:
    """Whether this is an AnnData object; nobody else need have AnnData installed."""
    return hasattr(data, "obsm") and hasattr(data, "var_names")


def place(
    model: Any,
    adata: "AnnData",
    layer: str | None = None,
    encoder: "CellEmbedder | None" = None,
) -> Placed:
    """The cells of an AnnData object in the model's frame: where its encoder has placed them
    before, or where it places them now. The encoder is the one that is given, or the one that the
    model carries; a `layer` is taken instead of X. If nobody knows which encoder the model's points
    come from, those in ``obsm['X_poincare']`` are taken."""
    from fedhull.embed.annotated import KEY, cells_of, made_by

    wanted = getattr(model, "encoder_", None)
    encoder = encoder_for(model, encoder)
    frame = wanted if encoder is None else encoder.hash
    if layer is None and KEY in adata.obsm and frame in (None, made_by(adata)):
        return Placed(np.asarray(adata.obsm[KEY], dtype=np.float64))
    if encoder is not None:
        return placed_by(encoder, cells_of(adata, layer))
    if wanted is not None:
        raise InvalidInput(
            f"the model was trained on points from the encoder {wanted}, which it does not carry, "
            f"and there are none of that encoder's in obsm[{KEY!r}]; name the file encoder.npz of "
            f"the study's kit as encoder (--encoder)"
        )
    raise InvalidInput(
        f"the model does not say which encoder its points come from, and there is no "
        f"obsm[{KEY!r}]; name the encoder's file (--encoder), or place the cells with it first"
        if layer is None
        else "layer (--layer) is for cells that an encoder places, but the model carries none and "
        "none is named; name its file as encoder (--encoder)"
    )


def placed_by(encoder: "CellEmbedder", cells: Any) -> Placed:
    """Where the encoder places `Cells`."""
    return Placed(encoder.transform(cells), encoder, encoder.preparation.missing(cells))


def encoder_for(model: Any, given: "CellEmbedder | None" = None) -> "CellEmbedder | None":
    """The given encoder, if it may be the model's, or the one that the model carries, if it carries
    one."""
    wanted: str | None = getattr(model, "encoder_", None)
    if given is not None:
        if wanted not in (None, given.hash):
            raise InvalidInput(
                f"the model was trained on points from the encoder {wanted}, but this one is "
                f"{given.hash}; use the encoder in the study's kit"
            )
        return given
    content: bytes | None = getattr(model, "encoder_file_", None)
    if content is None:
        return None
    from fedhull.embed.embedder import cell_embedder_from_bytes

    return cell_embedder_from_bytes(content, "the model's encoder")
