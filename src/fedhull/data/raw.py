"""Raw measurements that are not in the disc yet: files, and two built-in sets of cells."""

from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from scipy.sparse import csr_matrix

from fedhull.data.files import check_data, read_columns
from fedhull.data.h5ad import open_h5ad
from fedhull.data.published import find_published
from fedhull.embed.annotated import KEY, cells_of, column_of
from fedhull.embed.cells import Cells
from fedhull.embed.embedding import Embedding, fit_embedding
from fedhull.embed.neighbours import NeighbourEmbedder
from fedhull.errors import MissingExtra

LUNG = "lung_human/lung_human_ask440_counts.npz"


@dataclass(frozen=True)
class RawCells:
    """Cells and their labels; `kept` says which of them the built-in data set is about."""

    cells: Cells
    labels: np.ndarray
    kept: np.ndarray


def load_cells(path: str | Path, label: str) -> tuple[Cells, np.ndarray | None]:
    """Cells and, if the label column is there, labels of an .npz (`x`, `genes`, `y`) or of a .csv
    or .parquet with a column for each gene."""
    columns = read_columns(path)
    label = "y" if columns.npz else label
    labels = columns.get(label) if label in columns else None
    if columns.separate_points is None:
        names = [name for name in columns.names if name != label]
    elif "genes" in columns:
        names = [str(name) for name in columns.get("genes")]
    else:
        names = [f"feature_{i + 1}" for i in range(np.shape(columns.separate_points)[-1])]
    points = columns.points(leave_out={label})
    x, y = check_data(
        points,
        np.zeros(len(points)) if labels is None else labels,
        str(path),
    )
    return Cells(x, names), None if labels is None else y


def lung() -> RawCells:
    """Lung-Human (GSE130148): counts of 3,314 cells; the paper's five types are kept."""
    with np.load(find_published(LUNG), allow_pickle=False) as file:
        parts = (file["data"], file["indices"], file["indptr"])
        counts = csr_matrix(parts, shape=tuple(file["shape"]))
        cells = Cells(counts, file["genes"].tolist())
        return RawCells(cells, file["labels"], file["paper_label"] >= 0)


def pbmc68k() -> RawCells:
    """The 700 blood cells that scanpy brings along, scaled by their makers."""
    spec = find_spec("scanpy")
    if spec is None or spec.origin is None:
        raise MissingExtra("the data set 'pbmc68k' comes with scanpy: pip install scanpy")
    file = Path(spec.origin).parent / "datasets" / "10x_pbmc68k_reduced.h5ad"
    data = open_h5ad(file)
    labels = np.asarray(data.obs["bulk_labels"]).astype(str)
    return RawCells(cells_of(data), labels, np.ones(len(labels), dtype=bool))


def is_raw(name: str) -> bool:
    """Whether a file holds cells that are not in the disc yet."""
    if Path(name).suffix != ".h5ad" or not Path(name).is_file():
        return False
    return KEY not in open_h5ad(name, backed=True).obsm


def load_raw(name: str, label: str) -> tuple[Cells, np.ndarray] | None:
    """Cells and labels of a built-in set or of an .h5ad file, "" for cells that have none; None if
    the data are something else."""
    if name in BUILT_IN:
        raw = BUILT_IN[name]()
        return raw.cells, np.where(raw.kept, raw.labels, "")
    if Path(name).suffix != ".h5ad":
        return None
    data = open_h5ad(name)
    return cells_of(data), column_of(data, label)


def lung_all() -> RawCells:
    """Lung-Human with all of its 13 types."""
    raw = lung()
    return RawCells(raw.cells, raw.labels, np.ones(len(raw.labels), dtype=bool))


BUILT_IN = {"lung": lung, "lung-all": lung_all, "pbmc68k": pbmc68k}


def embed_built_in(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Points and labels of a built-in set of cells, embedded by the defaults: the same always."""
    raw = BUILT_IN[name]()
    return embed_raw(raw).points[raw.kept], raw.labels[raw.kept]


def embed_raw(raw: RawCells) -> Embedding:
    """All cells of the set in the disc, by the default embedder."""
    return fit_embedding(raw.cells, NeighbourEmbedder())
