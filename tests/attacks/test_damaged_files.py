"""Every file that fedhull reads, damaged in hundreds of ways: read, or refused in a sentence, soon.

What loads must also work: a model predicts, an encoder places cells. Whatever is neither success
nor an error of ours, a warning included, fails here.
"""

import io
import json
import math
import random
import time
import warnings
from pathlib import Path

import anndata
import h5py
import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
from commands import fedhull
from mutations import damaged, nested, twisted
from scipy.sparse import csr_matrix
from strategies import swept

from fedhull.arrays import MOST_BYTES, read_arrays
from fedhull.data.files import load_file, read_curvature
from fedhull.data.h5ad import open_h5ad
from fedhull.data.raw import is_raw, load_cells
from fedhull.embed.annotated import cells_of, column_of, made_by
from fedhull.embed.cells import Cells
from fedhull.embed.edges import read_edges
from fedhull.embed.embedder import embedder_from_bytes
from fedhull.embed.tree import TreeEmbedder, embed_tree
from fedhull.errors import FedhullError, InvalidInput
from fedhull.kits.results import write_report
from fedhull.learn.model import load_model, published_model
from fedhull.protocol.keys import Identity
from fedhull.study.kinds import study_from_toml

FIXTURES = Path(__file__).parents[1] / "fixtures"
MODELS = ["lorentz", "lorentz-two", "poincare-svm", "poincare-svm-two", "euclidean-svm"]
MUTATIONS = swept(200)
QUICK = 2.0  # seconds of work
X = np.random.default_rng(0).uniform(-0.5, 0.5, (30, 2))
Y = np.array(["a", "b", "c"] * 10)


def seconds() -> float:
    """Work of this process and of those that it has started and seen end."""
    import os

    return sum(os.times()[:4])


def holds(contents, read) -> None:
    """Every content is read or refused by an error of ours, in under two seconds of work; some are
    refused, or the test tests nothing."""
    refusals = []
    for number, content in enumerate(contents):
        begin = seconds()
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            try:
                read(content)
            except FedhullError as problem:
                refusals.append(str(problem))
        assert seconds() - begin < QUICK, number
    assert refusals
    assert [sentence[:200] for sentence in refusals if not 0 < len(sentence) < 2_000] == []


def put(path: Path, content: bytes) -> Path:
    path.write_bytes(content)
    return path


def as_json(plain, n=MUTATIONS):
    """JSON with wrong values, and JSON that is none."""
    for changed in twisted(plain, n):
        yield json.dumps(changed).encode("utf-8", "surrogatepass")
    yield from damaged(json.dumps(plain).encode(), n)
    yield from (text.encode() for text in nested())
    yield from (b"", b"9" * 10_000, b"null", b"[]")
    yield json.dumps(plain).replace("1", "1e999").encode()


# Models


@pytest.mark.parametrize("name", MODELS)
def test_model_files(name, tmp_path):
    file = FIXTURES / "models" / f"{name}.json"

    def use(content):
        model = load_model(put(tmp_path / "model.json", content))
        assert len(model.predict(X)) == len(X)
        if hasattr(model, "predict_proba"):
            model.predict_proba(X)

    use(file.read_bytes())
    holds(as_json(json.loads(file.read_text())), use)


def test_published_models():
    plain = json.loads((FIXTURES / "models" / "published.json").read_text())

    def use(content):
        assert len(published_model(content).predict(X)) == len(X)

    use(json.dumps(plain).encode())
    holds(as_json(plain), use)


# Studies


def as_toml(plain) -> str:
    lines = [f"{key} = {_toml(value)}" for key, value in plain.items() if not _is_table(value)]
    for key, table in plain.items():
        if _is_table(table):
            lines += [f"[{json.dumps(key)}]"]
            lines += [f"{json.dumps(k)} = {_toml(v)}" for k, v in table.items()]
    return "\n".join(lines) + "\n"


def _is_table(value) -> bool:
    return isinstance(value, dict)


def _toml(value) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(k)} = {_toml(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_toml, value)) + "]"
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return "1979-05-27" if value is None else json.dumps(value)


@pytest.mark.parametrize("kind", ["hulls", "encoder"])
def test_study_files(kind):
    import tomllib

    text = (FIXTURES / "version-3" / f"study-{kind}.toml").read_text()
    plain = tomllib.loads(text)

    def use(content):
        study = study_from_toml(content)
        assert study.threshold <= len(study.clients)
        assert study_from_toml(study.to_toml()).hash == study.hash

    use(text)
    tables = [changed for changed in twisted(plain, MUTATIONS) if isinstance(changed, dict)]
    holds((as_toml(changed) for changed in tables), use)
    holds((c.decode("utf-8", "replace") for c in damaged(text.encode(), MUTATIONS)), use)
    deep = [f"a = {text}" for text in nested()]
    lines = ["a = " + "[\n" * 50_000, "a" + ".a" * 200_000 + " = 1", "a = " + "9" * 3_900]
    many = "".join(f"a{'.a' * 60}.b{i} = 1\n" for i in range(2_000))
    holds([*deep, *lines, many, "", "\n" * 100_000, "x = 1\n" * 3], use)


# Tables


def test_npz_files(tmp_path):
    for save in (np.savez, np.savez_compressed):
        file = io.BytesIO()
        save(file, x=X, y=Y, donor=np.arange(30))
        path = tmp_path / "data.npz"
        load_file(put(path, file.getvalue()))

        def use(content, path=path):
            load_file(put(path, content))
            load_cells(path, "label")

        holds(damaged(file.getvalue(), MUTATIONS), use)
    holds([_npz(x=array, y=Y) for array in _strange_arrays(X)], use)
    holds([b"", b"PK", io.BytesIO(b"\x93NUMPY").getvalue(), _npz(z=X), _npz()], use)


def _npz(**arrays) -> bytes:
    file = io.BytesIO()
    np.savez(file, **arrays)
    return file.getvalue()


def _strange_arrays(like: np.ndarray) -> list[np.ndarray]:
    """Arrays where another is expected."""
    flat = like.astype(float) if like.dtype.kind in "fiub" else np.ones(like.shape)
    spoiled = []
    for value in (np.nan, np.inf, -np.inf, 1e308, 5e-324):
        one = flat.copy()
        one.reshape(-1)[-1:] = value
        spoiled.append(one)
    return [
        *spoiled,
        flat * 0.0,
        flat * 1e300,
        flat * 1e-300,
        flat + 1e38,
        -flat,
        flat.astype(str),
        flat.astype(np.int8),
        flat.astype(bool),
        flat.astype(complex),
        flat.astype(np.float16),
        flat[..., None],
        flat[:-1] if flat.ndim else flat,
        flat.reshape(-1),
        np.zeros(0),
        np.zeros((0, 2)),
        np.zeros((3, 0)),
        np.array(1.0),
        np.array("text"),
        np.array(["2020-01-01"], dtype="datetime64[D]"),
        np.zeros(3, dtype=[("a", "f8")]),
    ]


def test_csv_files(tmp_path):
    rows = [f"{a},{b},{c}" for (a, b), c in zip(X, Y, strict=True)]
    text = "\n".join(["x1,x2,label", *rows]) + "\n"

    def use(content):
        load_file(put(tmp_path / "data.csv", content))
        load_cells(tmp_path / "data.csv", "label")

    use(text.encode())
    holds(damaged(text.encode(), MUTATIONS), use)
    rng = random.Random(0)
    strange = ["nan", "inf", "1e999", "", '"', "a,b", "9" * 400, "2020-01-01", "\x00", "é", "-"]

    def twist(_):
        cells = [row.split(",") for row in text.splitlines()]
        cells[rng.randrange(len(cells))][rng.randrange(3)] = rng.choice(strange)
        return "\n".join(map(",".join, cells)).encode()

    holds(map(twist, range(MUTATIONS)), use)


@pytest.mark.parametrize(
    "options", [{}, {"compression": "gzip"}, {"use_dictionary": False}], ids=str
)
def test_parquet_files(options, tmp_path):
    file = io.BytesIO()
    table = pa.table({"x1": X[:, 0], "x2": X[:, 1], "label": Y})
    pyarrow.parquet.write_table(table, file, **options)

    def use(content):
        load_file(put(tmp_path / "data.parquet", content))
        load_cells(tmp_path / "data.parquet", "label")

    use(file.getvalue())
    holds(damaged(file.getvalue(), MUTATIONS), use)


# .h5ad

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


# Encoders


@pytest.mark.parametrize("kind", ["neighbours", "autoencoder", "tree"])
def test_encoder_files(kind):
    content = (FIXTURES / "version-1" / f"encoder-{kind}.npz").read_bytes()
    arrays = read_arrays(content, "it")
    header = json.loads(str(arrays.pop("header")))
    whole = embedder_from_bytes(content)
    known = whole.names[:3].tolist() if isinstance(whole, TreeEmbedder) else None
    rng = np.random.default_rng(0)

    def use(content):
        embedder = embedder_from_bytes(content)
        if known is not None and isinstance(embedder, TreeEmbedder):
            points = embedder.transform(known)
        else:
            genes = whole.preparation.genes
            cells = Cells(rng.poisson(2.0, (20, len(genes))).astype(float), genes)
            points = embedder.transform(cells)
        assert np.isfinite(points).all()
        embedder.to_bytes()

    use(content)
    holds(damaged(content, MUTATIONS), use)
    headers = (np.array(json.dumps(changed)) for changed in twisted(header, MUTATIONS))
    holds((_npz(header=changed, **arrays) for changed in headers), use)
    said = np.array(json.dumps(header))
    spoiled = [
        arrays | {name: strange} for name in arrays for strange in _strange_arrays(arrays[name])
    ]
    missing = [{n: a for n, a in arrays.items() if n != name} for name in arrays]
    holds((_npz(header=said, **changed) for changed in spoiled + missing), use)
    holds([_npz(header=np.array(text)) for text in nested()], use)


# Edges


def test_edge_files(tmp_path):
    rng = random.Random(0)
    rows = [f"n{i},n{rng.randrange(i)},{rng.choice((1, 0.5, 2.25))}" for i in range(1, 60)]
    text = "\n".join(["child,parent,weight", *rows]) + "\n"

    def use(content):
        embed_tree(read_edges(put(tmp_path / "tree.csv", content)))

    use(text.encode())
    holds(damaged(text.encode(), MUTATIONS), use)
    strange = ["0", "-1", "nan", "inf", "1e308", "5e-324", "1e-200", "", '"', "\x00", "n1", "n59"]
    strange += ["9" * 400, "é", "a" * 200_000]

    def twist(_):
        cells = [row.split(",") for row in text.splitlines()]
        for _ in range(rng.choice((1, 1, 3))):
            cells[rng.randrange(len(cells))][rng.randrange(3)] = rng.choice(strange)
        return "\n".join(map(",".join, cells)).encode()

    holds(map(twist, range(MUTATIONS)), use)


# Results and keys


@pytest.mark.parametrize("kind", ["coordinator", "site", "simulation"])
def test_result_files(kind, tmp_path):
    plain = json.loads((FIXTURES / "version-1" / f"result-{kind}.json").read_text())

    def use(content):
        write_report(put(tmp_path / "result.json", content))

    use(json.dumps(plain).encode())
    holds(as_json(plain), use)
    holds(as_json({"report": plain["report"]}), use)


def test_key_files():
    pem = Identity.generate().to_pem()
    holds(damaged(pem, 1_500), Identity.from_pem)


# Small files that unpack to large ones


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


def test_points_of_another_dimension_than_the_models_are_refused(tmp_path):
    np.savez(tmp_path / "data.npz", x=np.zeros((3, 5)), y=np.zeros(3))
    run = fedhull("predict", FIXTURES / "models" / "lorentz.json", tmp_path / "data.npz")
    assert run.returncode == 2
    assert "must have 2 coordinates, as the model's have, got 5" in " ".join(run.stderr.split())
