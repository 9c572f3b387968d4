"""The frame that all sites' points lie in: existing points, or cells that every site
places with the encoder whose hash stands in the study."""

import hashlib
from pathlib import Path

import numpy as np

from fedhull.data.files import check_data, load_file
from fedhull.data.h5ad import open_h5ad
from fedhull.embed.annotated import KEY, cells_of, column_of, made_by
from fedhull.embed.embedder import CellEmbedder, Embedder, embedder_from_bytes
from fedhull.errors import InvalidInput
from fedhull.study.study import Study


def read_encoder(study: Study, content: bytes | None) -> CellEmbedder | None:
    """The study's encoder, if it has one and this is the content of its file."""
    if study.encoder_hash is None:
        return None
    encoder = named_encoder(content, study.encoder_hash, "the study's encoder")
    if not isinstance(encoder, CellEmbedder):
        raise InvalidInput(f"a study's encoder must place cells, not a {encoder.method}")
    if encoder.curvature != study.geometry.curvature:
        raise InvalidInput(
            f"the encoder has curvature {encoder.curvature:g}, but the study says "
            f"{study.geometry.curvature:g}"
        )
    return encoder


def named_encoder(content: bytes | None, sha256: str, what: str) -> Embedder:
    """The encoder in a file's content, if that is the one that a study names by its hash."""
    if content is None:
        raise InvalidInput(f"the file of {what}, whose SHA-256 is {sha256}, must be given")
    if hashlib.sha256(content).hexdigest() != sha256:
        raise InvalidInput(
            f"this is not {what}, whose SHA-256 is {sha256}; ask the coordinator for the file"
        )
    return embedder_from_bytes(content, what)


def load_points(
    encoder: CellEmbedder | None,
    data: str,
    label: str,
    layer: str | None = None,
    without: str | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """A site's points and labels: as they are in the file, the column `without` apart, or its cells
    placed by the encoder.

    Points that an .h5ad says come from the same encoder are not computed again.
    """
    if encoder is None:
        if layer is not None:
            raise InvalidInput("--layer is for studies with an encoder; this one takes points")
        return load_file(data, label, without=without)
    points, labels = _placed(encoder, data, label, layer)
    if labels is None:
        raise InvalidInput(f"{data} has no column {label!r}; name yours with --label")
    return check_data(points, labels, data)


def place_points(encoder: CellEmbedder, data: str, label: str) -> np.ndarray:
    """The points of a file's cells, whose labels, if there are any, are left out."""
    points = _placed(encoder, data, label, None)[0]
    return check_data(points, np.zeros(len(points)), data)[0]


def _placed(
    encoder: CellEmbedder, data: str, label: str, layer: str | None
) -> tuple[np.ndarray, np.ndarray | None]:
    if Path(data).suffix != ".h5ad":
        from fedhull.data.raw import load_cells  # slow to import, and few need it

        cells, labels = load_cells(data, label)
        return encoder.transform(cells), labels
    adata = open_h5ad(data)
    known = layer is None and KEY in adata.obsm and made_by(adata) == encoder.hash
    points = adata.obsm[KEY] if known else encoder.transform(cells_of(adata, layer))
    return points, column_of(adata, label) if label in adata.obs else None
