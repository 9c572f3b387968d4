"""A matrix of cells and genes, and how it is made ready for an embedder."""

import math
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np
from scipy.sparse import csr_matrix, issparse

from fedhull.errors import InvalidInput
from fedhull.text import did_you_mean

if TYPE_CHECKING:
    from anndata import AnnData

    from fedhull.disc.align import Alignment
    from fedhull.embed.embedding import Embedding

Matrix = Any  # (n, g), a NumPy array or a SciPy CSR matrix
_TARGET = 1e4  # counts of a cell after normalisation
# What is seen of a gene that has all counts of a cell.
MOST_SEEN = math.log1p(_TARGET)
_CHUNK = 4096
# what whoever has other values than counts in X can do
_WAY_OUT = "where raw counts are kept elsewhere than in X, --layer names the layer, often 'counts'"
KEY = "X_poincare"


@dataclass(frozen=True, eq=False)
class Cells:
    """Measurements x (n, g), sparse or dense, and the names of the g genes (or other features)."""

    x: Matrix
    genes: Sequence[str]

    def __post_init__(self) -> None:
        x = csr_matrix(self.x) if issparse(self.x) else np.asarray(self.x)
        if x.ndim != 2 or x.shape[1] != len(self.genes):
            raise InvalidInput(
                f"x must have shape (cells, genes) with {len(self.genes)} genes, got {x.shape}"
            )
        if 0 in x.shape:
            raise InvalidInput(f"x must hold at least one cell and one gene, got shape {x.shape}")
        values = np.asarray(x.data if issparse(x) else x)
        if values.dtype.kind not in "fiub":
            raise InvalidInput(f"x must hold numbers, got {values.dtype}")
        if not np.isfinite(values).all():
            raise InvalidInput("x must hold no NaN and no infinity")
        if len(set(self.genes)) < len(self.genes):
            twice = next(g for i, g in enumerate(self.genes) if g in self.genes[:i])
            raise InvalidInput(
                f"genes must have different names, but {twice!r} appears twice; with AnnData, "
                f"call adata.var_names_make_unique() first"
            )
        object.__setattr__(self, "x", x)

    def __len__(self) -> int:
        return int(self.x.shape[0])

    def __getitem__(self, rows: Any) -> "Cells":
        """Some of the cells."""
        return Cells(self.x[rows], self.genes)

    def chunks(self) -> Iterator["Cells"]:
        """All cells, a few thousand at a time, so that dense intermediates stay small."""
        for first in range(0, len(self), _CHUNK):
            yield self[first : first + _CHUNK]

    @property
    def are_counts(self) -> bool:
        """True if these look like raw counts: whole numbers, none negative."""
        values = self.x.data if issparse(self.x) else self.x
        return bool((values >= 0).all() and (values == np.floor(values)).all())

    def check_counts(self, way_out: str = _WAY_OUT) -> None:
        """Raise InvalidInput unless these are raw counts."""
        if self.are_counts:
            return
        values = np.ravel(self.x.data if issparse(self.x) else self.x)
        wrong = values[(values < 0) | (values != np.floor(values))][0]
        raise InvalidInput(
            f"x must hold raw counts (whole numbers, none negative), got {wrong:g}: normalised, "
            f"logged or scaled values are no counts; {way_out}"
        )


def as_cells(x: Any) -> Cells:
    """Cells from what scikit-learn's transformers are given: `Cells` as they are, an AnnData
    object, a table with a column for each gene, or a matrix (n, g), dense or sparse, whose genes
    are called feature_1, feature_2, …

    >>> as_cells([[0, 1], [2, 3]]).genes
    ['feature_1', 'feature_2']
    """
    if isinstance(x, Cells):
        return x
    if hasattr(x, "var_names"):
        return cells_of(x)
    if hasattr(x, "columns"):
        return Cells(x.to_numpy(), [str(name) for name in x.columns])
    matrix = x if issparse(x) else np.asarray(x)
    if matrix.ndim != 2:
        raise InvalidInput(f"x must have shape (cells, genes), got {matrix.shape}")
    return Cells(matrix, [f"feature_{i + 1}" for i in range(matrix.shape[1])])


class Preparation(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The genes an embedder looks at, and a switch for normalised and logged counts.

    It knows genes by their names: cells whose genes come in another order, or that have more of
    them, are prepared alike; a gene that is missing counts as not expressed.
    """

    genes: list[str]
    counts: bool

    def missing(self, cells: Cells) -> list[str]:
        """The genes that these cells do not have."""
        there = set(map(str, cells.genes))
        return [gene for gene in self.genes if gene not in there]

    def select(self, cells: Cells) -> Matrix:
        """The values of the chosen genes in their order, as they are in the data: (n, g)."""
        missing = self.missing(cells)
        if 2 * len(missing) > len(self.genes):
            raise InvalidInput(
                f"the cells lack {len(missing)} of the embedder's {len(self.genes)} genes "
                f"({', '.join(missing[:3])}, …); genes are matched by name: are both gene symbols, "
                f"or both identifiers?"
            )
        place = {str(gene): i for i, gene in enumerate(cells.genes)}
        if [place.get(gene) for gene in self.genes] == list(range(len(cells.genes))):
            return cells.x
        columns = [place[gene] for gene in self.genes if gene in place]
        if not missing:
            return cells.x[:, columns]
        picked = csr_matrix(cells.x[:, columns])
        targets = np.flatnonzero([gene in place for gene in self.genes])
        return csr_matrix(
            (picked.data, targets[picked.indices], picked.indptr),
            shape=(len(cells), len(self.genes)),
        )

    def apply(self, cells: Cells) -> Matrix:
        """Features of cells, (n, g): sparse stays sparse."""
        chosen = self.select(cells)
        if not self.counts:
            return chosen
        cells.check_counts()
        scaled = normalised(chosen, cells.x)
        return scaled.log1p() if issparse(scaled) else np.log1p(scaled)


def normalised(x: Matrix, whole: Matrix | None = None) -> Matrix:
    """Counts per 10,000; a cell's total is taken over all of its genes."""
    totals = np.asarray((x if whole is None else whole).sum(axis=1), dtype=np.float64).ravel()
    scale = _TARGET / np.where(totals > 0, totals, 1.0)
    if not issparse(x):
        return x * scale[:, None]
    scaled = csr_matrix(x, dtype=np.float64, copy=True)
    scaled.data *= np.repeat(scale, np.diff(scaled.indptr))
    return scaled


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
    facts = adata.uns.get(key.removeprefix("X_"), {})
    return facts.get("encoder_hash") if hasattr(facts, "get") else None


def annotate(adata: "AnnData", made: "Embedding", key_added: str = KEY) -> None:
    """Write the points to ``obsm`` and what is to be known of them to ``uns``."""
    adata.obsm[key_added] = made.points
    adata.uns[key_added.removeprefix("X_")] = made.to_json()


def record_alignment(
    adata: "AnnData", points: np.ndarray, found: "Alignment", key: str = KEY
) -> None:
    """Replace the points by the aligned ones, and note by what and how well."""
    adata.obsm[key] = points
    facts = dict(adata.uns.get(key.removeprefix("X_"), {}))
    facts["alignment"] = found.to_json()
    # the encoder's own places are not these any more
    facts.pop("encoder_hash", None)
    adata.uns[key.removeprefix("X_")] = facts


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
