"""Tools for AnnData objects, after scanpy's manner: `fedhull.tl.poincare`."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from fedhull.embed.annotated import annotate, cells_of, column_of
from fedhull.embed.embedder import CellEmbedder, Tell, load_cell_embedder
from fedhull.embed.embedding import apply_embedding, fit_embedding
from fedhull.embed.methods import make_embedder
from fedhull.errors import InvalidInput

if TYPE_CHECKING:
    from anndata import AnnData


def poincare(
    adata: "AnnData",
    *,
    method: str = "neighbours",
    encoder: CellEmbedder | str | Path | None = None,
    use_rep: str | None = None,
    layer: str | None = None,
    label: str | None = None,
    supervised: bool = False,
    key_added: str = "X_poincare",
    seed: int = 0,
    copy: bool = False,
    tell: Tell = lambda *_: None,
    **settings: Any,
) -> "AnnData | None":
    """Embed the cells in the Poincaré disc: writes ``obsm['X_poincare']`` and ``uns['poincare']``.

    Raw counts are normalised, logged and reduced to variable genes; what is no count is taken as it
    is. ``layer`` is looked at instead of ``X``, or the representation ``obsm[use_rep]``. With an
    ``encoder``, a fitted embedder or its file, nothing is fitted: the cells are placed in its
    frame. ``label`` is a column of ``obs`` for the quality figures; with ``supervised`` it also
    takes part in the fit, which ``uns`` says. ``settings`` are the embedder's own, for instance
    ``n_genes``, ``counts`` or ``curvature``. Returns a new object if ``copy``, otherwise None.

    >>> import anndata, numpy as np
    >>> counts = np.random.default_rng(0).poisson(1.0, (60, 40)).astype(np.float32)
    >>> adata = anndata.AnnData(counts)
    >>> poincare(adata, seed=1)
    >>> adata.obsm["X_poincare"].shape, adata.uns["poincare"]["method"]
    ((60, 2), 'neighbours')
    """
    adata = adata.copy() if copy else adata
    cells = cells_of(adata, layer, use_rep)
    labels = None if label is None else column_of(adata, label)
    if encoder is None:
        embedder = make_embedder(method, seed=seed, **settings)
        made = fit_embedding(cells, embedder, labels, supervised, seed, tell)
    else:
        if settings or supervised:
            raise InvalidInput(
                "an encoder is fitted already: leave out "
                + ", ".join([*settings, *["supervised"] * supervised])
            )
        fitted = encoder if isinstance(encoder, CellEmbedder) else load_cell_embedder(encoder)
        made = apply_embedding(cells, fitted, labels, seed)
    annotate(adata, made, key_added)
    return adata if copy else None
