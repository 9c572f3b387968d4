"""Every file that fedhull reads, damaged in hundreds of ways: read, or refused in a sentence, soon.

What loads must also work: a model predicts, an encoder places cells. Whatever is neither success
nor an error of ours, a warning included, fails here.
"""

import io
import json
import math
import random
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
from commands import fedhull
from mutations import damaged, nested, twisted
from reading import holds, put
from strategies import swept

from fedhull.arrays import read_arrays
from fedhull.data.datasets import load_cells
from fedhull.data.files import load_file
from fedhull.embed.cells import Cells
from fedhull.embed.edges import read_edges
from fedhull.embed.embedder import embedder_from_bytes
from fedhull.embed.tree import TreeEmbedder, embed_tree
from fedhull.kits.results import write_report
from fedhull.learn.model import load_model, published_model
from fedhull.protocol.keys import Identity
from fedhull.study.kinds import study_from_toml

FIXTURES = Path(__file__).parents[1] / "fixtures"
FILES = FIXTURES / "files"
MODELS = ["lorentz", "lorentz-two", "poincare-svm", "poincare-svm-two", "euclidean-svm"]
MUTATIONS = swept(200)
X = np.random.default_rng(0).uniform(-0.5, 0.5, (30, 2))
Y = np.array(["a", "b", "c"] * 10)


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
    plain = json.loads((FIXTURES / "models" / "lorentz.json").read_text())
    plain["classes"] = list(range(len(plain["classes"])))

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

    text = (FILES / f"study-{kind}.toml").read_text()
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


# Encoders


@pytest.mark.parametrize("kind", ["neighbours", "autoencoder", "tree"])
def test_encoder_files(kind):
    content = (FILES / f"encoder-{kind}.npz").read_bytes()
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
    plain = json.loads((FILES / f"result-{kind}.json").read_text())

    def use(content):
        write_report(put(tmp_path / "result.json", content))

    use(json.dumps(plain).encode())
    holds(as_json(plain), use)
    holds(as_json({"report": plain["report"]}), use)


def test_key_files():
    pem = Identity.generate().to_pem()
    holds(damaged(pem, 1_500), Identity.from_pem)


def test_points_of_another_dimension_than_the_models_are_refused(tmp_path):
    np.savez(tmp_path / "data.npz", x=np.zeros((3, 5)), y=np.zeros(3))
    run = fedhull("predict", FIXTURES / "models" / "lorentz.json", tmp_path / "data.npz")
    assert run.returncode == 2
    assert "must have 2 coordinates, as the model's have, got 5" in " ".join(run.stderr.split())
