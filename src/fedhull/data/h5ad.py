"""AnnData objects from .h5ad files."""

import subprocess
import sys
import warnings
from functools import lru_cache
from pathlib import Path
from typing import Any

from fedhull.data.probe import REFUSED
from fedhull.disk import replacing
from fedhull.errors import InvalidInput, MissingExtra

# A disk may be slow, but not that slow; time spent working is limited by the probe itself.
_PATIENCE = 120.0
_SIGNATURE = b"\x89HDF\r\n\x1a\n"


def open_h5ad(path: str | Path, backed: bool = False) -> Any:
    """The AnnData object in a file; `backed`, its matrix stays there."""
    anndata = _anndata()
    path = Path(path)
    if not path.is_file():
        raise InvalidInput(f"{path} does not exist")
    now = path.stat()
    problem_found = _probe(path.resolve(), now.st_mtime_ns, now.st_size)
    if problem_found:
        raise InvalidInput(f"{path} cannot be read: {problem_found}")
    with warnings.catch_warnings():
        # files of older versions are read as well, and their owners need not hear how
        warnings.simplefilter("ignore")
        try:
            return anndata.read_h5ad(path, backed="r" if backed else None)
        # AnnData, pandas and SciPy fail in many ways on damaged files, and all mean the same
        except Exception as problem:
            raise InvalidInput(
                f"{path} is damaged or not an .h5ad file: {_first_line(problem)}"
            ) from None


def numbered_cells(n: int) -> Any:
    """An AnnData object of n cells whose names are their numbers, from 0; nothing is known of
    them."""
    import pandas as pd

    return _anndata().AnnData(obs=pd.DataFrame(index=[str(i) for i in range(n)]))


def write_h5ad(adata: Any, path: str | Path) -> None:
    """Write an AnnData object to a file, in one go."""
    with replacing(path) as part:
        try:
            adata.write_h5ad(part)
        except OSError:
            raise
        # AnnData fails in many ways on what an .h5ad file cannot hold, and all mean the same
        except Exception as problem:
            raise InvalidInput(f"{path} cannot be written: {_first_line(problem)}") from None


@lru_cache(maxsize=64)
def _probe(path: Path, changed: int, size: int) -> str:
    """What is wrong with a file, or nothing: another process reads it first, once for each content,
    because HDF5's library can hang or crash on damaged files."""
    with path.open("rb") as file:
        if file.read(len(_SIGNATURE)) != _SIGNATURE:
            return "it is damaged, or not an .h5ad file"
    command = [sys.executable, "-P", "-m", "fedhull.data.probe", str(path)]
    try:
        run = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, timeout=_PATIENCE, check=False
        )
    except subprocess.TimeoutExpired:
        return f"that takes more than {_PATIENCE:g} seconds"
    if run.returncode == REFUSED:
        return run.stdout.decode("utf-8", "replace").splitlines()[0]
    if run.returncode != 0:
        return f"it is damaged: reading it failed or took forever (exit code {run.returncode})"
    return ""


def _anndata() -> Any:
    try:
        import anndata
    except ImportError:
        raise MissingExtra(
            "reading and writing .h5ad files needs anndata: pip install 'fedhull[anndata]'"
        ) from None
    return anndata


def _first_line(problem: Exception) -> str:
    return (str(problem).splitlines() or [type(problem).__name__])[0]
