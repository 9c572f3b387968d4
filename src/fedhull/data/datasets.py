"""The built-in data sets by name: generated ones, and published ones from a folder of downloads."""

import hashlib
import os
import urllib.request
from collections.abc import Callable, Collection
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from scipy.sparse import csr_matrix

from fedhull.data.files import check_data, load_file, open_h5ad, read_column, read_columns
from fedhull.data.generated import make_tree, make_two_class
from fedhull.disk import write_bytes
from fedhull.embed.cells import KEY, Cells, cells_of, column_of
from fedhull.embed.embedding import Embedding, fit_embedding
from fedhull.embed.neighbours import NeighbourEmbedder
from fedhull.errors import InvalidInput, MissingExtra

_LINEAR = (
    "https://raw.githubusercontent.com/thupchnsky/PoincareLinearClassification/"
    "7de1dc7a6f051d62265baa32a733c0628ed618bb/embedding/"
)
_DOWNLOADS = {
    "olsson": (
        _LINEAR + "olsson_poincare_embedding.npz",
        "f7d65e26eca92c7a3316794b4bcd64f8812182fc1e778c9a4aa1c47a3e3f9ab4",
    ),
    "fashion-mnist": (
        _LINEAR + "fashion-mnist_poincare_embedding.npz",
        "ef3a648461a172db2b271bb9bcc5bc7d9bc5de7858e8728cabbd9cebf2a0cc12",
    ),
}
LUNG = "lung_human/lung_human_ask440_counts.npz"


def published_file(name: str, file: str) -> Path:
    """The file in FEDHULL_DATA_DIR, or downloaded, where its publisher's terms allow that."""
    folder = os.environ.get("FEDHULL_DATA_DIR")
    if name in _DOWNLOADS and (folder is None or not (Path(folder) / file).is_file()):
        return download(*_DOWNLOADS[name], cache_folder() / Path(file).name)
    return find_published(file)


def find_published(file: str) -> Path:
    """A published file in FEDHULL_DATA_DIR."""
    folder = os.environ.get("FEDHULL_DATA_DIR")
    if folder is None or not (Path(folder) / file).is_file():
        raise InvalidInput(
            f"{file} is not on this machine: set FEDHULL_DATA_DIR to a folder that holds it"
        )
    return Path(folder) / file


def download(url: str, sha256: str, target: Path) -> Path:
    """Fetch a file once; what does not have the right checksum is thrown away."""
    if not target.is_file():
        try:
            with urllib.request.urlopen(url, timeout=60) as response:
                content = response.read()
        except OSError as problem:
            raise InvalidInput(
                f"{url} cannot be downloaded ({problem}); set FEDHULL_DATA_DIR to a folder with it"
            ) from None
        if hashlib.sha256(content).hexdigest() != sha256:
            raise InvalidInput(f"{url} has changed: its checksum is not the expected one")
        target.parent.mkdir(parents=True, exist_ok=True)
        write_bytes(target, content)
    return target


def cache_folder() -> Path:
    """The folder for files that can be downloaded again."""
    return Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "fedhull"


@dataclass(frozen=True)
class RawCells:
    """Cells and their labels; `kept` says which of them the built-in data set is about."""

    cells: Cells
    labels: np.ndarray
    kept: np.ndarray


def load_cells(path: str | Path, label: str) -> tuple[Cells, np.ndarray | None]:
    """Cells, and labels if there is a column, of an .npz (`x`, `genes`, `y`), .csv or .parquet."""
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
    x, y = check_data(points, np.zeros(len(points)) if labels is None else labels, str(path))
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
    """True if a file holds cells that are not in the disc yet."""
    if Path(name).suffix != ".h5ad" or not Path(name).is_file():
        return False
    return KEY not in open_h5ad(name, backed=True).obsm


def load_raw(name: str, label: str) -> tuple[Cells, np.ndarray] | None:
    """Cells and labels ("" for none) of a built-in set or an .h5ad file; None for other data."""
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


Data = tuple[np.ndarray, np.ndarray]


def load_dataset(
    name: str, label: str = "label", seed: int = 0, without: Collection[str] = ()
) -> Data:
    """Points and labels of a built-in data set or file; columns in `without` are no coordinates."""
    if name in _GENERATED:
        return _GENERATED[name](seed)
    if name in _PUBLISHED:
        file, read = _PUBLISHED[name]
        return check_data(*read(published_file(name, file)), name)
    if name in BUILT_IN:
        return embed_built_in(name)
    if Path(name).suffix:
        return load_file(name, label, without=without)
    names = ", ".join(sorted([*_GENERATED, *_PUBLISHED, *BUILT_IN]))
    raise InvalidInput(f"dataset must be one of {names} or a file, got {name!r}")


def load_column(name: str, column: str) -> np.ndarray:
    """A column of a file, such as the donor of each cell."""
    if not Path(name).suffix:
        raise InvalidInput(f"the data set {name!r} has no column {column!r}")
    return read_column(name, column)


def _synthetic(seed: int) -> Data:
    data = make_two_class(20_000, seed=seed)
    return data.x, data.y


def _tree(seed: int) -> Data:
    data = make_tree(seed=seed)
    return data.x, data.y


def _embedding(path: Path) -> Data:
    with np.load(path, allow_pickle=False) as file:
        return (
            np.concatenate((file["x_train"], file["x_test"])),
            np.concatenate((file["y_train"], file["y_test"])),
        )


def _paul(path: Path) -> Data:
    with np.load(path, allow_pickle=False) as file:
        return file["poincare"], file["coarse_labels"]


def _network(path: Path) -> Data:
    with np.load(path, allow_pickle=False) as file:
        return file["poincare"][0], file["label"]


_GENERATED: dict[str, Callable[[int], Data]] = {"synthetic": _synthetic, "tree": _tree}
_PUBLISHED: dict[str, tuple[str, Callable[[Path], Data]]] = {
    "olsson": ("olsson/olsson_poincare_embedding.npz", _embedding),
    "fashion-mnist": ("fashion_mnist/fashion-mnist_poincare_embedding.npz", _embedding),
    "paul": ("paul/Paul.npz", _paul),
    "karate": ("networks/karate.npz", _network),
    "polbooks": ("networks/polbooks.npz", _network),
    "football": ("networks/football.npz", _network),
}
