"""Small files that unpack to large ones, and files that are said to be small: refused unread."""

import io
import time

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
from reading import QUICK

from fedhull.arrays import MOST_BYTES, read_arrays
from fedhull.data.files import load_file
from fedhull.embed.embedder import embedder_from_bytes
from fedhull.errors import InvalidInput


def test_an_npz_that_unpacks_to_far_more_than_it_is_is_refused_unread(tmp_path, monkeypatch):
    import tracemalloc

    path = tmp_path / "bomb.npz"
    np.savez_compressed(path, x=np.zeros((6_000_000, 2)), y=np.zeros(1))
    assert path.stat().st_size < 200_000
    tracemalloc.start()
    with pytest.raises(InvalidInput, match=r"96,000,\d{3} bytes of memory, more than 200 times"):
        load_file(path)
    assert tracemalloc.get_traced_memory()[1] < 10_000_000
    tracemalloc.stop()
    with pytest.raises(InvalidInput, match="bytes of memory"):
        embedder_from_bytes(path.read_bytes())
    monkeypatch.setenv(MOST_BYTES, "1000")
    with pytest.raises(InvalidInput, match="more than the limit of 1,000"):
        load_file(path)
    monkeypatch.setenv(MOST_BYTES, str(10**9))
    assert read_arrays(path, "it")["x"].shape == (6_000_000, 2)


def test_an_npz_whose_arrays_say_that_they_are_larger_than_they_are_is_refused(tmp_path):
    file = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        file, {"descr": "<f8", "fortran_order": False, "shape": (2**40, 2)}
    )
    import zipfile

    with zipfile.ZipFile(tmp_path / "bomb.npz", "w") as archive:
        archive.writestr("x.npy", file.getvalue())
    begin = time.process_time()
    with pytest.raises(InvalidInput, match=r"which its \d+ bytes are not"):
        load_file(tmp_path / "bomb.npz")
    assert time.process_time() - begin < QUICK


def test_a_parquet_file_that_unpacks_to_far_more_than_it_is_is_refused_unread(tmp_path):
    column = pa.array(np.zeros(9_000_000))
    pyarrow.parquet.write_table(pa.table({"x1": column}), tmp_path / "bomb.parquet")
    assert (tmp_path / "bomb.parquet").stat().st_size < 100_000
    with pytest.raises(InvalidInput, match="bytes of memory, more than"):
        load_file(tmp_path / "bomb.parquet")


def test_compressed_tables_are_not_read(tmp_path):
    import gzip

    with gzip.open(tmp_path / "data.csv.gz", "wb") as file:
        file.write(b"0" * 10_000_000)
    with pytest.raises(InvalidInput, match="must end in"):
        load_file(tmp_path / "data.csv.gz")
