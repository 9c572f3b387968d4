"""The built-in data sets by name: generated ones, and published ones from a folder of downloads."""

from collections.abc import Callable, Collection
from pathlib import Path

import numpy as np

from fedhull.data.files import check_data, load_file, read_column
from fedhull.data.published import published_file
from fedhull.data.raw import BUILT_IN, embed_built_in
from fedhull.data.synthetic import make_two_class
from fedhull.data.tree import make_tree
from fedhull.errors import InvalidInput

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
