"""Published files: in a folder of the user's, or downloaded once, where their terms allow that."""

import hashlib
import os
import urllib.request
from pathlib import Path

from fedhull.disk import write_bytes
from fedhull.errors import InvalidInput

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
    """Where what can be had again is kept."""
    return Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "fedhull"
