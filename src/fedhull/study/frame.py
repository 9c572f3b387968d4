"""The frame that all sites' points lie in: existing points, or cells that every site
places with the encoder whose hash stands in the study."""

import hashlib
from pathlib import Path
from typing import NamedTuple

import numpy as np

from fedhull.data.files import check_data, load_file, open_h5ad, read_column
from fedhull.embed.cells import KEY, Cells, cells_of, column_of, made_by
from fedhull.embed.embedder import CellEmbedder, Embedder, embedder_from_bytes
from fedhull.errors import InvalidInput
from fedhull.study.study import Study


def read_encoder(study: Study, content: bytes | None) -> CellEmbedder | None:
    """The study's encoder, if it has one and this is the content of its file."""
    if study.attached is None:
        return None
    encoder = named_encoder(content, study.attached, "the study's encoder")
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


class Placed(NamedTuple):
    """Points (n, 2), their labels (n,), and what their owner is told of how they were read."""

    points: np.ndarray
    labels: np.ndarray
    notes: list[str]


def load_points(
    encoder: CellEmbedder | None,
    data: str,
    label: str,
    layer: str | None = None,
    without: str | None = None,
) -> Placed:
    """A site's points and labels: as they are in the file, the column `without` apart, or its cells
    placed by the encoder.

    Points that an .h5ad says come from the same encoder are not computed again.
    """
    if encoder is None:
        if layer is not None:
            raise InvalidInput("--layer is for studies with an encoder; this one takes points")
        return Placed(
            *load_file(data, label, without=() if without is None else (without,)), _own_frame(data)
        )
    points, labels, notes = _placed(encoder, data, label, layer)
    if labels is None:
        # says which columns there are
        labels = read_column(data, label)
    return Placed(*check_data(points, labels, data), notes)


def _own_frame(data: str) -> list[str]:
    """Notes on points that the site has placed itself."""
    if Path(data).suffix != ".h5ad":
        return []
    adata = open_h5ad(data, backed=True)
    adata.file.close()
    by = made_by(adata)
    said = f"the encoder {by} (SHA-256)" if by else "an encoder that the file does not name"
    return [
        f"Your points, obsm['{KEY}'], come from {said}. The study names none: ask the coordinator "
        f"whether all sites have used the same."
    ]


def _placed(
    encoder: CellEmbedder, data: str, label: str, layer: str | None
) -> tuple[np.ndarray, np.ndarray | None, list[str]]:
    if Path(data).suffix != ".h5ad":
        from fedhull.data.datasets import load_cells  # slow to import, and few need it

        if layer is not None:
            raise InvalidInput(f"--layer is for .h5ad files, not for {data}")
        cells, labels = load_cells(data, label)
        return encoder.transform(cells), labels, _lacking(encoder, cells)
    adata = open_h5ad(data)
    labels = column_of(adata, label) if label in adata.obs else None
    if layer is None and KEY in adata.obsm and made_by(adata) == encoder.hash:
        return adata.obsm[KEY], labels, []
    cells = cells_of(adata, layer)
    return encoder.transform(cells), labels, _lacking(encoder, cells)


def _lacking(encoder: CellEmbedder, cells: Cells) -> list[str]:
    """A note on genes that the encoder knows and the cells lack; empty if there are none."""
    missing = encoder.preparation.missing(cells)
    if not missing:
        return []
    first = ", ".join(missing[:3]) + (", …" if len(missing) > 3 else "")
    return [
        f"Your data lack {len(missing):,} of the encoder's {len(encoder.preparation.genes):,} "
        f"genes ({first}): they count as not expressed, and your cells may lie elsewhere for it."
    ]
