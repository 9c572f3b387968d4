"""Damaged .h5ad files, and some that HDF5's library cannot cope with: read, or refused in a
sentence."""

import random
from pathlib import Path

import anndata
import h5py
import numpy as np
import pytest
from mutations import damaged
from reading import QUICK, holds, put, seconds
from scipy.sparse import csr_matrix

from fedhull.data.datasets import is_raw
from fedhull.data.files import load_file, open_h5ad, read_curvature
from fedhull.embed.cells import cells_of, column_of, made_by
from fedhull.errors import FedhullError, InvalidInput

STRANGE_ENTRIES = [0, -1, "text", b"\xff", np.nan, [], [-7] * 13, [10**9] * 6, [[1.0]], ["a"] * 12]


def write_h5ad(path: Path) -> bytes:
    rng = np.random.default_rng(0)
    cells = anndata.AnnData(
        X=csr_matrix(rng.poisson(0.5, (12, 5)).astype("f4")),
        obs={"label": ["a", "b", "c"] * 4, "donor": list(range(12))},
        obsm={"X_poincare": rng.uniform(-0.5, 0.5, (12, 2))},
        uns={"poincare": {"curvature": 1.0, "encoder_hash": "a" * 64}},
    )
    cells.obs_names = [f"cell-{i}" for i in range(12)]
    cells.write_h5ad(path)
    return path.read_bytes()


def use_h5ad(path: Path) -> None:
    """All that commands do with such a file."""
    failed = None
    for read in (_read_points, _read_cells):  # one may be refused where the other is not
        try:
            read(path)
        except FedhullError as problem:
            failed = problem
    if failed is not None:
        raise failed


def _read_points(path: Path) -> None:
    load_file(path)
    read_curvature(path)
    is_raw(str(path))


def _read_cells(path: Path) -> None:
    data = open_h5ad(path)
    cells_of(data)
    column_of(data, "label")
    made_by(data)


@pytest.mark.filterwarnings("ignore::Warning:anndata")
@pytest.mark.slow  # a process for each file
@pytest.mark.parametrize("part", range(6))
def test_h5ad_files_with_wrong_bytes(part, tmp_path):
    content = write_h5ad(tmp_path / "whole.h5ad")
    use_h5ad(tmp_path / "whole.h5ad")
    contents = (put(tmp_path / f"{i}.h5ad", c) for i, c in enumerate(damaged(content, 30, part)))
    holds(contents, use_h5ad)


@pytest.mark.filterwarnings("ignore::Warning:anndata")
@pytest.mark.slow  # a process for each file
@pytest.mark.parametrize("part", range(3))
def test_h5ad_files_with_wrong_entries(part, tmp_path):
    content = write_h5ad(tmp_path / "whole.h5ad")
    rng = random.Random(part)

    def twist(number):
        path = put(tmp_path / f"{number}.h5ad", content)
        with h5py.File(path, "r+") as file:
            names: list[str] = []
            file.visit(names.append)
            name = rng.choice(names)
            thing, what = file[name], rng.randrange(5)
            if what == 0:
                del file[name]
            elif what == 1 and len(thing.attrs):
                attribute = rng.choice(sorted(thing.attrs))
                thing.attrs[attribute] = rng.choice(["", "array", "dict", "csr_matrix", 3, [1, 2]])
            elif what == 2 and len(thing.attrs):
                del thing.attrs[rng.choice(sorted(thing.attrs))]
            else:
                kept = dict(thing.attrs)
                del file[name]
                file[name] = rng.choice(STRANGE_ENTRIES)
                for key, value in kept.items():
                    file[name].attrs[key] = value
        return path

    holds(map(twist, range(20)), use_h5ad)


def test_a_file_on_which_hdf5_never_comes_to_an_end_is_refused(tmp_path):
    """HDF5's library runs in circles where a group's tree of names leads back to itself."""
    path = tmp_path / "circle.h5ad"
    write_h5ad(path)
    content = bytearray(path.read_bytes())
    # every node of such a tree begins with TREE and, after eight bytes, names its siblings
    at = content.find(b"TREE")
    sentence = ""
    while at >= 0 and "took forever" not in sentence:
        twisted_content = bytearray(content)
        twisted_content[at + 8 : at + 16] = at.to_bytes(8, "little")
        twisted_content[at + 16 : at + 24] = at.to_bytes(8, "little")
        try:
            use_h5ad(put(tmp_path / f"{at}.h5ad", bytes(twisted_content)))
        except FedhullError as problem:
            sentence = str(problem)
        at = content.find(b"TREE", at + 1)
    assert "took forever" in sentence


def test_a_file_that_leads_to_other_files_is_refused(tmp_path):
    write_h5ad(tmp_path / "other.h5ad")
    path = tmp_path / "linked.h5ad"
    write_h5ad(path)
    with h5py.File(path, "r+") as file:
        del file["obsm"]
        file["obsm"] = h5py.ExternalLink("other.h5ad", "/obsm")
    with pytest.raises(InvalidInput, match="refers to another place"):
        load_file(path)


def test_a_matrix_that_points_outside_itself_is_refused(tmp_path):
    path = tmp_path / "cells.h5ad"
    write_h5ad(path)
    with h5py.File(path, "r+") as file:
        file["X/indices"][0] = 2**30
    with pytest.raises(InvalidInput, match="damaged"):
        cells_of(open_h5ad(path))


def test_an_h5ad_that_unpacks_to_far_more_than_it_is_is_refused_unread(tmp_path):
    for name, rows in (("filled", 6_000_000), ("empty", 2**40)):
        path = tmp_path / f"{name}.h5ad"
        write_h5ad(path)
        with h5py.File(path, "r+") as file:
            del file["obsm/X_poincare"]
            bomb = file.create_dataset(
                "obsm/X_poincare", (rows, 2), "f8", chunks=(100_000, 2), compression="gzip"
            )
            if name == "filled":
                bomb[:] = np.zeros((rows, 2))
        assert path.stat().st_size < 1_000_000
        begin = seconds()
        with pytest.raises(InvalidInput, match="bytes of memory, more than"):
            load_file(path)
        assert seconds() - begin < QUICK
