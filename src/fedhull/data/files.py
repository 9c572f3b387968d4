"""Points and labels from files: .npz, .csv, .parquet, .h5ad. Never pickle."""

import subprocess
import sys
import warnings
from collections.abc import Collection
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from fedhull.arrays import check_size, read_arrays
from fedhull.data.probe import REFUSED
from fedhull.disc.points import check_curvature
from fedhull.disk import replacing
from fedhull.errors import FedhullError, InvalidInput, MissingExtra
from fedhull.text import did_you_mean, shortened

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
    """An AnnData object of n cells that are named by their numbers, from 0."""
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
    """The problem with a file, or nothing: another process reads it first, once for each content,
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


def load_file(
    path: str | Path, label: str = "label", *, without: Collection[str] = ()
) -> tuple[np.ndarray, np.ndarray]:
    """Points x (n, d) and labels y (n,) of a file.

    .npz holds `x` and `y`; .csv and .parquet coordinate columns and a label column; .h5ad
    ``obsm['X_poincare']`` and the label in ``obs``. Columns in `without` are no coordinates.
    """
    columns = read_columns(path)
    if label not in columns and not (columns.npz and label == "label"):
        raise InvalidInput(f"{_no_column(path, label, columns)} (--label names the classes)")
    points = columns.points(leave_out={label, *without})
    return check_data(points, columns.get("y" if columns.npz else label), str(path))


def load_points(path: str | Path, label: str = "label") -> np.ndarray:
    """Only the points of a file; a label column is left out if there is one."""
    points = read_columns(path).points(leave_out={label})
    return check_data(points, np.zeros(len(points)), str(path))[0]


def read_column(path: str | Path, column: str) -> np.ndarray:
    """One column of a file that says something else about each point, such as its donor."""
    columns = read_columns(path)
    if column not in columns:
        raise InvalidInput(_no_column(path, column, columns))
    return np.asarray(columns.get(column))


def _no_column(path: str | Path, column: str, columns: "Columns") -> str:
    names = columns.names
    return (
        f"{path} has no column {column!r}; it has {', '.join(names) or 'none'}"
        f"{did_you_mean(column, names)}"
    )


def write_points(path: Path, points: np.ndarray, names: Any = None, column: str = "label") -> None:
    """Points and perhaps their labels, to an .npz or .csv that `load_file` reads."""
    if path.suffix == ".npz":
        named = {} if names is None else {"y": np.asarray(names)}
        np.savez(path, allow_pickle=False, x=points, **named)
        return
    from pyarrow import table
    from pyarrow.csv import write_csv

    columns: dict[str, Any] = {f"x{i + 1}": values for i, values in enumerate(points.T)}
    write_csv(table(columns if names is None else columns | {column: names}), path)


def write_table(path: Path, columns: dict[str, Any]) -> None:
    """Columns of equal length to a .csv or .parquet file, in one go."""
    from pyarrow import table

    with replacing(path) as part:
        if path.suffix == ".csv":
            from pyarrow.csv import write_csv

            write_csv(table(columns), part)
        else:
            from pyarrow.parquet import write_table as write_parquet

            write_parquet(table(columns), part)


def read_curvature(path: str | Path) -> float:
    """The curvature that an .h5ad says its points have; 1 if it says nothing."""
    if Path(path).suffix != ".h5ad" or not Path(path).is_file():
        return 1.0
    data = open_h5ad(path, backed=True)
    data.file.close()
    facts = data.uns.get("poincare", {})
    curvature = facts.get("curvature", 1.0) if hasattr(facts, "get") else 1.0
    try:
        return check_curvature(float(curvature))
    except (TypeError, ValueError):
        raise InvalidInput(
            f"{path}: the curvature in uns['poincare'] must be > 0, got {shortened(curvature)}"
        ) from None


def check_data(x: Any, y: Any, name: str) -> tuple[np.ndarray, np.ndarray]:
    """A float array (n, d) and as many labels, none missing."""
    try:
        points = np.asarray(x, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidInput(f"{name}: the coordinates must be numbers") from None
    labels = np.asarray(y)
    if points.ndim != 2 or labels.shape != (len(points),):
        raise InvalidInput(
            f"{name}: x, y must have shapes (n, d), (n,), got {points.shape} and {labels.shape}"
        )
    if len(points) == 0:
        raise InvalidInput(f"{name}: there are no points")
    bad = ~np.isfinite(points).all(axis=1)
    if bad.any():
        raise InvalidInput(
            f"{name}: row {int(bad.argmax())}, counted from 0, holds NaN or infinity"
        )
    if labels.dtype.kind == "f":
        if not np.isfinite(labels).all():
            row = int((~np.isfinite(labels)).argmax())
            raise InvalidInput(f"{name}: a label is missing in row {row} (counted from 0)")
        if (labels != np.round(labels)).any():
            raise InvalidInput(
                f"{name}: labels must be names or whole numbers, got "
                f"{labels[labels != np.round(labels)][0]!r}; is this the column with the classes?"
            )
        labels = labels.astype(np.int64)
    if labels.dtype.kind == "O":
        missing = np.array([label is None or label != label for label in labels])
        labels = np.where(missing, "", labels.astype(str))
    if labels.dtype.kind == "U":
        # what other programs write where there is no label; never a class
        missing = np.isin(np.char.lower(np.char.strip(labels)), ["", "nan", "<na>"])
        if missing.any():
            raise InvalidInput(
                f"{name}: {missing.sum():,} labels are missing, the first in row "
                f"{int(missing.argmax())} (counted from 0); leave these cells out, or give them a "
                f"class"
            )
    return points, labels


@dataclass(frozen=True)
class Columns:
    """Content of a file: named columns, and the points, if they are kept apart from them."""

    named: dict[str, Any]
    separate_points: Any = None
    npz: bool = False
    no_points: str = ""  # why there are none

    def __contains__(self, name: str) -> bool:
        return name in self.named

    @property
    def names(self) -> list[str]:
        """The names of all columns."""
        return [str(name) for name in self.named]

    def get(self, name: str) -> Any:
        """A column, missing entries left as they are."""
        return self.named[name]

    def width(self, label: str) -> int:
        """Number of values in a row, the label apart."""
        if self.separate_points is not None:
            return int(np.shape(self.separate_points)[-1])
        return len(self.named) - (label in self.named)

    def points(self, leave_out: set[str | None]) -> Any:
        """The coordinates: all columns but those left out, or what is kept apart."""
        if self.no_points:
            raise InvalidInput(self.no_points)
        if self.separate_points is not None:
            return self.separate_points
        coordinates = {name: v for name, v in self.named.items() if name not in leave_out}
        words = [name for name, values in coordinates.items() if not _are_numbers(values)]
        if words:
            raise InvalidInput(
                f"the coordinates must be numbers, and all columns but the one with the classes "
                f"count as coordinates, but {', '.join(words)} holds words; leave it out of the "
                f"file, or use --label to name the column with the classes"
            )
        return np.column_stack(list(coordinates.values()))


def _are_numbers(values: Any) -> bool:
    """True if a column can be read as numbers, missing ones among them."""
    try:
        np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        return False
    return True


def read_columns(path: str | Path) -> Columns:
    """Content of a file, by its ending."""
    path = Path(path)
    readers = {".npz": _npz, ".csv": _table, ".parquet": _table, ".h5ad": _h5ad}
    if path.suffix not in readers:
        raise InvalidInput(
            f"{path} must end in {', '.join(readers)}, or name a built-in data set; "
            f"got {path.suffix or 'no ending'!r}"
        )
    if not path.is_file():
        raise InvalidInput(f"{path} does not exist")
    try:
        return readers[path.suffix](path)
    except FedhullError:
        raise
    # the parsers fail in many ways on damaged files, and all mean the same
    except Exception as problem:
        words = (str(problem).splitlines() or [type(problem).__name__])[0]
        raise InvalidInput(f"{path} cannot be read: {words}") from None


def _npz(path: Path) -> Columns:
    arrays = read_arrays(path, str(path))
    if "x" not in arrays:
        raise InvalidInput(f"{path} must hold 'x' (and 'y'), but holds {sorted(arrays)}")
    points = arrays.pop("x")
    return Columns(arrays, points, npz="y" in arrays)


def _table(path: Path) -> Columns:
    if path.suffix == ".csv":
        from pyarrow.csv import read_csv

        table = read_csv(path)
    else:
        from pyarrow.parquet import ParquetFile

        with ParquetFile(path) as file:
            held = file.metadata
            # runs of one value take next to nothing in the file, whatever it says of its bytes
            cells = 8 * held.num_rows * held.num_columns
            parts = (held.row_group(i).total_byte_size for i in range(held.num_row_groups))
            check_size(str(path), max(cells, sum(parts)), path.stat().st_size)
            table = file.read()
    return Columns({name: np.array(table.column(name).to_pylist()) for name in table.column_names})


def _h5ad(path: Path) -> Columns:
    data = open_h5ad(path, backed=True)
    data.file.close()
    columns = {str(name): np.asarray(data.obs[name]) for name in data.obs.columns}
    if "X_poincare" not in data.obsm:
        return Columns(
            columns,
            no_points=f"{path} has no obsm['X_poincare']; place its cells in the frame of the "
            f"others with their encoder (--encoder FILE here, or fedhull embed {path} --out {path} "
            f"--encoder FILE); without --encoder, fedhull embed fits a frame of its own",
        )
    return Columns(columns, np.asarray(data.obsm["X_poincare"]))
