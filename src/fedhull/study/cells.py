"""The cells that a site takes into an encoder study."""

import io
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np
from scipy.sparse import csr_matrix, issparse

from fedhull.data.files import open_h5ad
from fedhull.embed.cells import Cells, cells_of
from fedhull.errors import InvalidInput
from fedhull.study.task import Source


@dataclass(frozen=True, repr=False)
class TrainingCells:
    """What a site takes into an encoder study. Nothing of it leaves as it is."""

    cells: Cells

    def __repr__(self) -> str:
        return f"TrainingCells({len(self.cells)} cells)"

    def table(self) -> tuple[Any, list[str]]:
        """The cells, gene by gene."""
        return self.cells.x, list(self.cells.genes)

    def to_bytes(self) -> bytes:
        """The matrix, row by row, and the names of its genes."""
        rows = csr_matrix(self.cells.x)
        rows.sort_indices()
        file = io.BytesIO()
        np.savez(
            file,
            allow_pickle=False,
            data=rows.data,
            indices=rows.indices,
            indptr=rows.indptr,
            shape=np.array(rows.shape),
            genes=np.array(self.cells.genes, dtype=str),
            sparse=np.array(issparse(self.cells.x)),
        )
        return file.getvalue()

    @classmethod
    def from_bytes(cls, raw: bytes) -> "TrainingCells":
        """The inverse of `to_bytes`."""
        try:
            with np.load(io.BytesIO(raw), allow_pickle=False) as kept:
                rows = csr_matrix(
                    (kept["data"], kept["indices"], kept["indptr"]), shape=tuple(kept["shape"])
                )
                x = rows if kept["sparse"] else rows.toarray()
                return cls(Cells(x, kept["genes"].tolist()))
        except (OSError, ValueError, KeyError, EOFError, BadZipFile):
            raise InvalidInput("what a site prepared for the session is damaged") from None


def load_cells_of_site(source: Source) -> Cells:
    """The cells of a file."""
    from fedhull.data.datasets import load_cells  # slow to import, and studies of hulls do without

    data, layer = source.data, source.layer
    if Path(data).suffix == ".h5ad":
        if not Path(data).is_file():
            raise InvalidInput(f"{data} does not exist")
        return cells_of(open_h5ad(data), layer)
    if layer is not None:
        raise InvalidInput(f"--layer is for .h5ad files, not for {data}")
    return load_cells(data, label=source.label)[0]
