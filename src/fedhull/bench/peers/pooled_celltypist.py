"""CellTypist on all training cells in one place. It needs an older scikit-learn than fedhull, so it
runs in an environment of its own, made with pip the first time."""

import json
import subprocess
import sys
import tempfile
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix

from fedhull.bench.peers import celltypist_script
from fedhull.bench.peers.cells import Deal
from fedhull.bench.peers.measured import Measured, Method, Options, share_right
from fedhull.bench.peers.ours import carried
from fedhull.data.datasets import cache_folder
from fedhull.embed.cells import Cells
from fedhull.errors import MissingExtra

WANTED = ("celltypist", "scikit-learn<1.7")
_ASK = "from importlib.metadata import version; print(version('celltypist'))"
_LONGEST = 1800  # seconds of an installation or a training, on a slow machine


def pooled_celltypist(deal: Deal, options: Options) -> Measured:
    """Trained on the counts of all training cells, and asked for each test cell by itself."""
    trial, cells = deal.trial, deal.trial.cells
    assert cells is not None
    python = interpreter(options)
    y = trial.content.y
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder) / "cells.npz", Path(folder) / "found.json"
        np.savez(
            source,
            allow_pickle=False,
            genes=np.array(list(cells.genes)),
            labels=y[trial.train],
            **_parts("train", cells[trial.train]),
            **_parts("test", cells[trial.test]),
        )
        _run([str(python), "-I", celltypist_script.__file__, str(source), str(target)])
        found = json.loads(target.read_text())
    right = share_right(np.array(found["classes"]), deal)
    return Measured(right, trial.test, 1, 1, carried(deal), found["seconds"])


def interpreter(options: Options) -> Path:
    """A Python that has CellTypist: the user's, or one in the cache folder."""
    if options.celltypist is not None:
        if installed(options.celltypist) is None:
            raise MissingExtra(
                f"{options.celltypist} is no Python with CellTypist; without --celltypist, "
                f"it is installed in an environment of its own"
            )
        return options.celltypist
    folder = cache_folder() / "celltypist"
    python = folder / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")
    if installed(python) is None:
        options.tell(
            f"CellTypist is installed with pip into an environment of its own, {folder}; this is "
            f"done once and takes a few minutes."
        )
        _run([sys.executable, "-m", "venv", "--clear", str(folder)])
        _run([str(python), "-m", "pip", "install", "--quiet", *WANTED])
        installed.cache_clear()
    return python


@lru_cache
def installed(python: Path) -> str | None:
    """The version of CellTypist that an interpreter has, if it has one."""
    try:
        return _run([str(python), "-I", "-c", _ASK]).strip()
    except MissingExtra:
        return None


def _run(command: list[str]) -> str:
    """What a command prints; the last line of its complaint is the error."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_LONGEST)
    except (OSError, subprocess.TimeoutExpired) as problem:
        raise MissingExtra(f"CellTypist cannot be run: {problem}") from None
    if done.returncode:
        said = done.stderr.strip().splitlines() or ["no reason given"]
        raise MissingExtra(f"CellTypist cannot be run: {said[-1]}")
    return done.stdout


def _parts(which: str, cells: Cells) -> dict[str, Any]:
    x = csr_matrix(cells.x, dtype=np.float64)
    return {
        f"{which}_data": x.data,
        f"{which}_indices": x.indices,
        f"{which}_indptr": x.indptr,
        f"{which}_shape": np.array(x.shape),
    }


CELLTYPIST = Method(
    "pooled CellTypist", "all cells", False, "celltypist",
    "pip install celltypist 'scikit-learn<1.7'", pooled_celltypist,
    pooled=True, needs_genes=True,
)  # fmt: skip
