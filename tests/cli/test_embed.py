"""`fedhull embed` and `fedhull align`, as people type them."""

import json

import anndata
import numpy as np
import pytest
from scipy.sparse import csr_matrix
from typer.testing import CliRunner

from fedhull.cli.app import app
from fedhull.data.files import load_file
from fedhull.embed.embedder import load_embedder
from fedhull.errors import InvalidInput
from fedhull.learn.lorentz import LorentzClassifier
from fedhull.learn.model import save_model


def run(*words):
    result = CliRunner().invoke(app, [str(word) for word in words])
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


@pytest.fixture
def counts(tmp_path):
    rng = np.random.default_rng(0)
    kind = np.arange(120) % 3
    x = rng.poisson(1.0, (120, 30))
    for k in range(3):
        x[kind == k, 10 * k : 10 * k + 10] += 6
    adata = anndata.AnnData(csr_matrix(x.astype(np.float32)))
    adata.var_names = [f"G{i}" for i in range(30)]
    adata.obs["cell_type"] = np.array(["a", "b", "c"])[kind]
    adata.obs["donor"] = np.array(["p", "q", "r", "s"])[rng.integers(0, 4, 120)]
    adata.write_h5ad(tmp_path / "counts.h5ad")
    return tmp_path / "counts.h5ad"


def test_from_counts_to_a_federated_study_by_donor(counts, tmp_path):
    shown = run("embed", counts, "--out", counts, "--label", "cell_type")
    assert "120 cells, 30 genes (counts, normalised and log-transformed)" in shown.stdout
    assert "in 2 principal components" in shown.stdout
    study = run("simulate", "--dataset", counts, "--label", "cell_type",
                "--partition", "column:donor", "--json")  # fmt: skip
    result = json.loads(study.stdout)
    assert result["accuracy"]["FL"]["mean"] > 85
    assert result["decoded_exactly"]


def test_raw_cells_are_embedded_on_the_way_and_one_is_told(counts):
    study = run("simulate", "--dataset", counts, "--label", "cell_type",
                "--partition", "column:donor", "--json")  # fmt: skip
    result = json.loads(study.stdout)
    assert result["accuracy"]["FL"]["mean"] > 85
    assert result["settings"]["frame"] == "pooled"
    assert "an encoder with default settings is fitted to the pooled training cells" in " ".join(
        study.stderr.split()
    )


def test_an_encoder_places_others_and_says_which_genes_are_missing(counts, tmp_path):
    run("embed", counts, "--out", tmp_path / "a.h5ad", "--save-encoder", tmp_path / "e.npz")
    fewer = anndata.read_h5ad(counts)[:, 2:].copy()
    fewer.write_h5ad(tmp_path / "fewer.h5ad")
    shown = run("embed", tmp_path / "fewer.h5ad", "--out", tmp_path / "b.h5ad",
                "--encoder", tmp_path / "e.npz", "--json")  # fmt: skip
    result = json.loads(shown.stdout)
    assert result["missing_genes"] == ["G0", "G1"]
    assert not result["fitted_here"]
    one, two = anndata.read_h5ad(tmp_path / "a.h5ad"), anndata.read_h5ad(tmp_path / "b.h5ad")
    assert one.uns["poincare"]["encoder_hash"] == two.uns["poincare"]["encoder_hash"]


def test_predict_takes_points_of_the_models_encoder_and_no_others(counts, tmp_path):
    run("embed", counts, "--out", tmp_path / "a.h5ad", "--save-encoder", tmp_path / "e.npz")
    run("embed", counts, "--out", tmp_path / "own.h5ad", "--seed", "5",
        "--save-encoder", tmp_path / "other.npz")  # fmt: skip
    x, y = load_file(tmp_path / "a.h5ad", "cell_type")
    encoder = load_embedder(tmp_path / "e.npz")
    save_model(LorentzClassifier().fit(x, y), tmp_path / "m.json", encoder.hash)
    for words in ([counts, "--encoder", tmp_path / "e.npz"], [tmp_path / "a.h5ad"]):
        told = run("predict", tmp_path / "m.json", *words, "--json")
        assert np.mean(np.array(json.loads(told.stdout)["classes"]) == y) > 0.95
    for words in (
        [tmp_path / "own.h5ad"],
        [counts, "--encoder", tmp_path / "other.npz"],
        [counts],
    ):
        with pytest.raises(InvalidInput, match="encoder"):
            run("predict", tmp_path / "m.json", *words)


def test_plan_takes_raw_cells_with_their_encoder(counts, tmp_path):
    run("embed", counts, "--out", tmp_path / "a.h5ad", "--save-encoder", tmp_path / "e.npz")
    told = run("plan", "--clients", "3", "--data", counts, "--label", "cell_type",
               "--encoder", tmp_path / "e.npz", "--radius", "0.995", "--json")  # fmt: skip
    plan = json.loads(told.stdout)
    assert sum(line["cells"] for line in plan["by_class"]) == 120


def test_what_is_no_h5ad_is_refused_in_a_sentence(tmp_path):
    (tmp_path / "bad.h5ad").write_text("no")
    for name, sentence in (("bad.h5ad", "not an .h5ad file"), ("none.h5ad", "does not exist")):
        with pytest.raises(InvalidInput, match=sentence):
            run("embed", tmp_path / name, "--out", tmp_path / "x.h5ad")


def test_curvature_is_read_from_the_file(counts, tmp_path):
    run("embed", counts, "--out", counts, "--curvature", "4")
    run("simulate", "--dataset", counts, "--label", "cell_type", "--model", tmp_path / "m.json")
    assert json.loads((tmp_path / "m.json").read_text())["curvature"] == 4.0


def test_tables_and_trees_can_be_embedded(tmp_path):
    x = np.random.default_rng(0).normal(size=(40, 5))
    np.savez(tmp_path / "raw.npz", x=x, y=np.arange(40) % 2)
    run("embed", tmp_path / "raw.npz", "--out", tmp_path / "points.csv")
    header, first = (tmp_path / "points.csv").read_text().splitlines()[:2]
    assert header == '"x1","x2","label"'
    assert first.count(",") == 2
    (tmp_path / "edges.csv").write_text("cat,mammal\ndog,mammal\nmammal,animal\n")
    shown = run("embed", tmp_path / "edges.csv", "--out", tmp_path / "tree.csv", "--method", "tree")
    assert "4 nodes, animal at the origin" in shown.stdout


def test_align_reports_the_misfit(counts, tmp_path):
    run("embed", counts, "--out", tmp_path / "a.h5ad")
    run("embed", counts, "--out", tmp_path / "b.h5ad", "--seed", "3")
    shown = run("align", tmp_path / "b.h5ad", "--to", tmp_path / "a.h5ad",
                "--out", tmp_path / "c.h5ad", "--label", "cell_type", "--json")  # fmt: skip
    result = json.loads(shown.stdout)
    assert result["misfit"] <= result["misfit_before"]
    assert result["pairs"] == 3


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--out", "x.txt"], "--out must end in"),
        (["--out", "/nowhere/x.h5ad"], "a folder that exists"),
        (["--out", "x.h5ad", "--encoder", "absent.npz"], "absent.npz cannot be read"),
        (["--out", "x.h5ad", "--curvature", "-1"], "curvature"),
        (["--out", "x.h5ad", "--label", "nope"], "no obs"),
        (["--out", "x.h5ad", "--set", "steps"], "NAME=VALUE"),
        (["--out", "x.h5ad", "--set", "steps=many"], "must be of the same type as its default"),
        (["--out", "x.h5ad", "--set", "wings=2"], "no setting 'wings'"),
    ],
)
def test_mistakes_get_a_sentence_and_nothing_is_written(counts, words, sentence):
    before = counts.read_bytes()
    with pytest.raises(InvalidInput, match=sentence):
        run("embed", counts, *words)
    assert counts.read_bytes() == before
