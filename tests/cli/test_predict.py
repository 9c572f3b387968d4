"""`fedhull predict MODEL DATA --out FILE`: annotated cells, tables, and what is refused."""

import csv
import json

import anndata
import numpy as np
import pyarrow.parquet
import pytest
from commands import fedhull

from fedhull import LorentzClassifier, NeighbourEmbedder, save_model
from fedhull.learn.prediction import Prediction

GENES = [f"G{i}" for i in range(30)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A model that carries its encoder, and raw cells with everything an .h5ad can hold."""
    folder = tmp_path_factory.mktemp("predict")
    rng = np.random.default_rng(0)
    kind = np.arange(90) % 3
    x = rng.poisson(1.0, (90, 30)).astype(np.float32)
    for k in range(3):
        x[kind == k, 10 * k : 10 * k + 10] += 6
    adata = anndata.AnnData(x)
    adata.var_names, adata.obs_names = GENES, [f"cell-{i}" for i in range(90)]
    adata.obs["kind"] = np.array(["a/1", "b", "c"])[kind]
    adata.uns["title"] = "ours"
    adata.obsm["X_pca"] = rng.normal(size=(90, 4))
    adata.layers["raw"] = x
    adata.write_h5ad(folder / "cells.h5ad")
    encoder = NeighbourEmbedder(n_genes=25, n_components=5, steps=50).fit(adata)
    points = encoder.transform(adata)
    model = LorentzClassifier(C=10.0).fit(points, adata.obs["kind"].to_numpy())
    np.savez(folder / "points.npz", x=points)
    np.savetxt(folder / "cells.csv", x, "%d", ",", header=",".join(GENES), comments="")
    save_model(model, folder / "bare.json")
    model.encoder_, model.encoder_file_ = encoder.hash, encoder.to_bytes()
    save_model(model, folder / "model.json")
    return folder


def run(folder, *words):
    done = fedhull("predict", *words, cwd=folder)
    assert done.returncode == 0, done.stderr
    return done


def test_an_annotated_file_has_classes_and_probabilities_and_all_that_was_there(folder):
    shown = run(folder, "model.json", "cells.h5ad", "--out", "out.h5ad")
    assert "Written: out.h5ad" in shown.stdout
    old, new = (anndata.read_h5ad(folder / name) for name in ("cells.h5ad", "out.h5ad"))
    assert np.mean(new.obs["fedhull_label"].astype(str) == old.obs["kind"].astype(str)) > 0.9
    sure = new.obsm["fedhull_probabilities"]
    assert list(sure.columns) == ["a|1", "b", "c"]
    np.testing.assert_allclose(sure.sum(axis=1), 1.0)
    np.testing.assert_array_equal(new.obs["fedhull_probability"], sure.max(axis=1))
    np.testing.assert_allclose(new.obsm["X_poincare"], np.load(folder / "points.npz")["x"])
    assert new.obs_names.equals(old.obs_names)
    assert new.uns["title"] == "ours"
    assert np.array_equal(new.X, old.X)
    assert np.array_equal(new.layers["raw"], old.layers["raw"])
    assert np.array_equal(new.obsm["X_pca"], old.obsm["X_pca"])
    lines = run(folder, "model.json", "out.h5ad").stdout.splitlines()
    assert lines == new.obs["fedhull_label"].tolist(), (
        "points of this encoder are taken as they are"
    )


@pytest.mark.parametrize("name", ["out.csv", "out.parquet"])
def test_a_table_names_each_cell(folder, name):
    run(folder, "model.json", "cells.h5ad", "--layer", "raw", "--out", name)
    if name == "out.csv":
        with (folder / name).open() as file:
            rows = list(csv.DictReader(file))
    else:
        rows = pyarrow.parquet.read_table(folder / name).to_pylist()
    assert [row["cell"] for row in rows] == [f"cell-{i}" for i in range(90)]
    columns = ["probability:a/1", "probability:b", "probability:c"]
    assert list(rows[0]) == ["cell", "label", "probability", *columns]
    for row in rows:
        assert float(row["probability"]) == max(float(row[column]) for column in columns)
        assert float(row[f"probability:{row['label']}"]) == float(row["probability"])


def test_classes_are_in_alphabetical_order_whatever_the_models_order_is():
    probabilities = np.array([[0.2, 0.7, 0.1]])
    none = np.zeros(1, dtype=bool)
    found = Prediction(["b"], ["c", "b", "a"], probabilities, none, none)
    assert list(found.columns(["x"]))[3:] == ["probability:a", "probability:b", "probability:c"]
    assert [float(p[0]) for p in found.by_class(plain=True).values()] == [0.1, 0.7, 0.2]
    assert found.names == ["a", "b", "c"]


@pytest.mark.parametrize("data", ["points.npz", "cells.csv"])
def test_cells_of_tables_go_by_their_numbers(folder, data):
    run(folder, "model.json", data, "--out", "t.parquet")
    rows = pyarrow.parquet.read_table(folder / "t.parquet").to_pylist()
    assert [row["cell"] for row in rows] == list(range(90))
    run(folder, "model.json", data, "--out", "t.h5ad")
    made = anndata.read_h5ad(folder / "t.h5ad")
    assert made.obs_names.tolist() == [str(i) for i in range(90)]
    assert made.obs["fedhull_label"].tolist() == [row["label"] for row in rows]
    np.testing.assert_allclose(made.obsm["X_poincare"], np.load(folder / "points.npz")["x"])


def test_a_probability_can_be_asked_for(folder):
    done = run(folder, "model.json", "cells.h5ad", "--unassigned", "1")
    assert set(done.stdout.split()) == {"unassigned"}
    assert "no class has a probability of 1 or more" in done.stderr
    told = json.loads(run(folder, "model.json", "cells.h5ad", "--json", "--out", "j.csv").stdout)
    assert {"classes", "probabilities", "far_from_all"} <= told.keys()
    assert told["out"] == "j.csv"
    assert len(told["classes"]) == len(told["probabilities"]) == 90


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (
            ["model.json", "cells.h5ad", "--out", "x.txt"],
            "end in .h5ad, .csv, .parquet here, got",
        ),
        (["model.json", "cells.h5ad", "--out", "cells.h5ad"], "another file than the cells"),
        (["model.json", "cells.h5ad", "--out", "./cells.h5ad"], "another file than the cells"),
        (["model.json", "cells.h5ad", "--out", "no/x.csv"], "in a folder that exists"),
        (["model.json", "cells.h5ad", "--layer", "spliced"], "no layers['spliced'], only raw"),
        (["model.json", "points.npz", "--layer", "raw"], "--layer is for .h5ad files"),
        (["model.json", "cells.h5ad", "--unassigned", "2"], "between 0 and 1, got 2"),
        (["bare.json", "cells.h5ad"], "does not say which encoder its points come from"),
        (["bare.json", "cells.h5ad", "--layer", "raw"], "carries none and none is named"),
        (["bare.json", "cells.csv"], "must have 2 coordinates, as the model's have, got 30"),
    ],
)
def test_what_cannot_be_done_is_a_sentence_and_leaves_no_file(folder, words, sentence):
    before = {path: path.stat().st_mtime_ns for path in folder.iterdir()}
    done = fedhull("predict", *words, cwd=folder)
    assert done.returncode == 2
    assert sentence in " ".join(done.stderr.split())
    assert "Traceback" not in done.stderr
    assert {path: path.stat().st_mtime_ns for path in folder.iterdir()} == before
