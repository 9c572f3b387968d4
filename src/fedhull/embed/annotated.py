"""What an AnnData object holds, as embedders take it."""

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.sparse import issparse

from fedhull.disc.align import Alignment
from fedhull.embed.cells import Cells
from fedhull.embed.embedding import Embedding
from fedhull.errors import InvalidInput
from fedhull.text import did_you_mean

if TYPE_CHECKING:
    from anndata import AnnData


KEY = "X_poincare"


def cells_of(adata: "AnnData", layer: str | None = None, use_rep: str | None = None) -> Cells:
    """The cells of an AnnData object: X, a layer, or a representation."""
    if use_rep is not None:
        x = part_of(adata.obsm, use_rep, "obsm")
        return Cells(np.asarray(x), [f"{use_rep}_{i + 1}" for i in range(x.shape[1])])
    if layer is None and adata.X is None:
        raise InvalidInput("there is no X; name a layer (--layer), or a representation (--use-rep)")
    x = adata.X if layer is None else part_of(adata.layers, layer, "layers")
    if issparse(x):
        _check_sparse(x)
    return Cells(x, [str(name) for name in adata.var_names])


def made_by(adata: "AnnData", key: str = KEY) -> str | None:
    """The hash of the encoder that the points come from, if the object says."""
    said = adata.uns.get(key.removeprefix("X_"), {})
    return said.get("encoder_hash") if hasattr(said, "get") else None


def annotate(adata: "AnnData", made: Embedding, key_added: str = KEY) -> None:
    """Write the points to ``obsm`` and what is to be known of them to ``uns``."""
    adata.obsm[key_added] = made.points
    adata.uns[key_added.removeprefix("X_")] = made.to_json()


def record_alignment(
    adata: "AnnData", points: np.ndarray, found: Alignment, key: str = KEY
) -> None:
    """Replace the points by the aligned ones, and note by what and how well."""
    adata.obsm[key] = points
    said = dict(adata.uns.get(key.removeprefix("X_"), {}))
    said["alignment"] = found.to_json()
    # the encoder's own places are not these any more
    said.pop("encoder_hash", None)
    adata.uns[key.removeprefix("X_")] = said


def column_of(adata: "AnnData", name: str) -> np.ndarray:
    """A column of obs, as words; empty where there is none."""
    column = part_of(adata.obs, name, "obs")
    return np.where(np.asarray(column.isna()), "", np.asarray(column).astype(str))


def _check_sparse(x: Any) -> None:
    """Raise InvalidInput if a matrix points outside itself: SciPy's loops would follow."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            x.check_format(full_check=True)
        # SciPy warns, or fails in its own ways, where parts of a matrix do not go together
        except Exception as problem:
            raise InvalidInput(f"the matrix of cells is damaged: {problem}") from None


def part_of(table: Any, name: str, words: str) -> Any:
    """An entry of obs, obsm or layers, or a sentence about what there is."""
    if name not in table:
        names = [str(key) for key in table.keys()]  # noqa: SIM118, AnnData's mappings are no dicts
        raise InvalidInput(
            f"there is no {words}[{name!r}], only {', '.join(names) or 'nothing'}"
            f"{did_you_mean(name, names)}"
        )
    return table[name]
