"""Tools for AnnData objects, after scanpy's manner: `fedhull.tl.poincare`, `fedhull.tl.predict`."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from fedhull.disc.align import Alignment, align_by_class
from fedhull.disc.align import align as align_pairs
from fedhull.embed.cells import annotate, cells_of, column_of, part_of, record_alignment
from fedhull.embed.embedder import CellEmbedder, load_cell_embedder, make_embedder
from fedhull.embed.embedding import apply_embedding, fit_embedding
from fedhull.errors import InvalidInput
from fedhull.learn.model import load_model
from fedhull.learn.prediction import note_prediction, place, predict_points
from fedhull.progress import Report, ignore

if TYPE_CHECKING:
    from anndata import AnnData


def poincare(
    adata: "AnnData",
    *,
    method: str | CellEmbedder = "neighbours",
    encoder: CellEmbedder | str | Path | None = None,
    use_rep: str | None = None,
    layer: str | None = None,
    label: str | None = None,
    supervised: bool = False,
    key_added: str = "X_poincare",
    seed: int = 0,
    copy: bool = False,
    report: Report = ignore,
    **settings: Any,
) -> "AnnData | None":
    """Embed the cells in the Poincaré disc: writes ``obsm['X_poincare']`` and ``uns['poincare']``.

    Raw counts are normalised, log-transformed and reduced to variable genes; other values are taken
    as they are. ``layer`` is used instead of ``X``, or the representation ``obsm[use_rep]``. With
    an ``encoder``, a fitted embedder or its file, nothing is fitted: the cells are placed in its
    frame. ``label`` is a column of ``obs`` for the quality figures; with ``supervised`` it is also
    used in the fit, which ``uns`` says. ``method`` is the name of an embedder, and
    ``settings`` are its own, for instance ``n_genes``, ``counts`` or ``curvature``; or it is an
    embedder that is not fitted yet. Returns a new object if ``copy``, otherwise None.

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
        chosen = {"seed": seed} | settings if isinstance(method, str) else settings
        embedder = make_embedder(method, **chosen)
        embedding = fit_embedding(cells, embedder, labels, supervised, seed, report)
    else:
        if settings or supervised:
            raise InvalidInput(
                "an encoder is already fitted: leave out "
                + ", ".join([*settings, *["supervised"] * supervised])
            )
        embedding = apply_embedding(cells, _loaded(encoder), labels, seed)
    annotate(adata, embedding, key_added)
    return adata if copy else None


def predict(
    adata: "AnnData",
    model: Any,
    *,
    encoder: CellEmbedder | str | Path | None = None,
    layer: str | None = None,
    unassigned: float | None = None,
    everything: bool = False,
    key_added: str = "fedhull",
    copy: bool = False,
) -> "AnnData | None":
    """Name the cells' classes: writes ``obs['fedhull_label']``, ``obs['fedhull_probability']``,
    that of the most probable class, and ``obsm['fedhull_probabilities']``, a column for each class.

    ``model`` is a fitted classifier or a model file. Cells are placed by the encoder that the model
    carries, or by ``encoder``, from raw counts in ``X`` or in ``layer``; points of the right
    encoder that are in ``obsm['X_poincare']`` already are taken as they are. Those that are
    computed here are written there, or, if other points are in that place, to
    ``obsm['X_fedhull']``.

    "unassigned" are cells that are farther from all classes than nearly all cells that the study's
    sites held out, unless ``everything`` is to be assigned, and those whose most probable class has
    a probability below ``unassigned``. Returns a new object if ``copy``, otherwise None.

    >>> import anndata, numpy as np, fedhull
    >>> x = np.array([[0.5, 0.1], [0.4, 0.0], [-0.4, 0.1], [-0.5, 0.0]])
    >>> model = fedhull.LorentzClassifier().fit(x, ["T", "T", "B", "B"])
    >>> adata = anndata.AnnData(obsm={"X_poincare": x})
    >>> predict(adata, model)
    >>> adata.obs["fedhull_label"].tolist()
    ['T', 'T', 'B', 'B']
    """
    adata = adata.copy() if copy else adata
    classifier = load_model(model) if isinstance(model, str | Path) else model
    placer = None if encoder is None else _loaded(encoder)
    placed = place(classifier, adata, layer, placer)
    prediction = predict_points(classifier, placed.points, unassigned, everything)
    note_prediction(adata, placed, prediction, key_added)
    return adata if copy else None


def align(
    adata: "AnnData", reference: "AnnData", *, label: str | None = None, key: str = "X_poincare"
) -> Alignment:
    """Bring an embedding into the frame of another by turning, mirroring and moving the disc.

    This matches the centres of the classes in ``obs[label]``, or, without a label, the cells that
    have the same name in both. ``uns['poincare']['alignment']`` holds the misfit that remains,
    and so does what is returned.
    """
    k = float(adata.uns.get(key.removeprefix("X_"), {}).get("curvature", 1.0))
    x, y = part_of(adata.obsm, key, "obsm"), part_of(reference.obsm, key, "obsm")
    if label is not None:
        alignment = align_by_class(x, column_of(adata, label), y, column_of(reference, label), k)
    else:
        shared = adata.obs_names.intersection(reference.obs_names)
        if len(shared) < 3:
            raise InvalidInput(
                f"both must have at least 3 cells of the same name, but share {len(shared)}; "
                f"set label to match the centres of classes instead"
            )
        pairs = adata.obs_names.get_indexer(shared), reference.obs_names.get_indexer(shared)
        alignment = align_pairs(x[pairs[0]], y[pairs[1]], curvature=k)
    record_alignment(adata, alignment.isometry.apply(x), alignment, key)
    return alignment


def _loaded(encoder: CellEmbedder | str | Path) -> CellEmbedder:
    return encoder if isinstance(encoder, CellEmbedder) else load_cell_embedder(encoder)
