"""The built-in data sets by name: generated ones, and published ones from a folder of downloads."""

import hashlib
import os
import urllib.request
from collections.abc import Callable
from pathlib import Path

import numpy as np

from fedhull.data.files import check_data, load_file, read_column
from fedhull.data.synthetic import make_two_class
from fedhull.data.tree import make_tree
from fedhull.errors import InvalidInput

Data = tuple[np.ndarray, np.ndarray]


def load_dataset(
    name: str, label: str = "label", seed: int = 0, without: str | None = None
) -> Data:
    """Points and labels of a built-in data set or file; the column `without` is no coordinate."""
    if name in _GENERATED:
        return _GENERATED[name](seed)
    if name in _PUBLISHED:
        file, read = _PUBLISHED[name]
        return check_data(*read(_published_file(name, file)), name)
    if name in _NOT_EMBEDDED:
        raise InvalidInput(
            f"the data set {name!r} has no points in the disc yet: embedding raw data is not built "
            f"in this version; embed it yourself and pass the file"
        )
    if Path(name).suffix:
        return load_file(name, label, without)
    raise InvalidInput(
        f"dataset must be one of {', '.join(sorted([*_GENERATED, *_PUBLISHED]))} or a file, "
        f"got {name!r}"
    )


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


def _published_file(name: str, file: str) -> Path:
    """The file in FEDHULL_DATA_DIR, or downloaded, where its publisher's terms allow that."""
    folder = os.environ.get("FEDHULL_DATA_DIR")
    if name in _DOWNLOADS and (folder is None or not (Path(folder) / file).is_file()):
        return download(*_DOWNLOADS[name], _cache_folder() / Path(file).name)
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
        partial = target.with_suffix(".partial")
        partial.write_bytes(content)
        partial.replace(target)
    return target


def _cache_folder() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "fedhull"


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
_NOT_EMBEDDED = ("lung", "pbmc68k")
_GENERATED: dict[str, Callable[[int], Data]] = {"synthetic": _synthetic, "tree": _tree}
_PUBLISHED: dict[str, tuple[str, Callable[[Path], Data]]] = {
    "olsson": ("olsson/olsson_poincare_embedding.npz", _embedding),
    "fashion-mnist": ("fashion_mnist/fashion-mnist_poincare_embedding.npz", _embedding),
    "paul": ("paul/Paul.npz", _paul),
    "karate": ("networks/karate.npz", _network),
    "polbooks": ("networks/polbooks.npz", _network),
    "football": ("networks/football.npz", _network),
}
