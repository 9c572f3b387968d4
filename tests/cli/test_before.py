"""Before anything is sent: init, check and plan, as people call them."""

import json
import tomllib

import numpy as np
import pytest
from commands import fedhull
from federations import draft, make_data

from fedhull.embed.cells import Cells
from fedhull.embed.neighbours import NeighbourEmbedder

NAMES = ["lab-a", "lab-b", "lab-c"]
ANSWERS = "model\nLung atlas\nOne classifier\nAda\n2999-12-31\nlab-a,lab-b,lab-c\n5\n6\n{}\n{}\n"


def make_counts(path, genes=60, how=lambda x: x, labels=lambda y: y):
    """An .h5ad of 120 cells in two classes that express different genes."""
    anndata = pytest.importorskip("anndata", reason="the anndata extra is not installed")
    rng = np.random.default_rng(3)
    kind = np.arange(120) % 2
    rate = np.where((np.arange(60) < 30)[None] == (kind == 0)[:, None], 3.0, 0.3)
    x = how(rng.poisson(rate).astype(np.float32))
    adata = anndata.AnnData(x[:, :genes])
    adata.var_names = [f"gene-{i}" for i in range(genes)]
    adata.obs_names = [f"cell-{i}" for i in range(120)]
    adata.obs["cell_type"] = labels(np.where(kind == 0, "alpha", "beta").astype(object))
    adata.write_h5ad(path)
    return adata


@pytest.fixture(scope="module")
def encoder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("encoder")
    adata = make_counts(folder / "cells.h5ad")
    path = folder / "encoder.npz"
    NeighbourEmbedder(n_genes=60).fit(Cells(adata.X, list(adata.var_names))).save(path)
    return path


@pytest.fixture
def counts_study(tmp_path):
    made = fedhull("init", cwd=tmp_path, answer=ANSWERS.format("moments", "counts"))
    assert made.returncode == 0, made.stderr
    return tmp_path / "study.toml"


@pytest.mark.parametrize("summary", ["hulls", "moments"])
@pytest.mark.parametrize("cells", ["points", "counts"])
def test_what_init_writes_is_a_study_that_check_takes(tmp_path, summary, cells):
    made = fedhull("init", cwd=tmp_path, answer=ANSWERS.format(summary, cells))
    assert made.returncode == 0, made.stderr
    written = tomllib.loads((tmp_path / "study.toml").read_text())
    assert (written["name"], written["purpose"], written["contact"]) == (
        "Lung atlas",
        "One classifier",
        "Ada",
    )
    assert list(written["clients"]) == NAMES
    assert ("embedding" in written) == (cells == "counts")
    checked = fedhull("check", "study.toml", cwd=tmp_path)
    assert checked.returncode == 0
    assert ("also needs its encoder's file" in checked.stdout) == (cells == "counts")


def test_what_init_is_not_told_it_asks_for_until_it_understands(tmp_path):
    given = ["--make", "encoder", "--name", "A", "--purpose", "B", "--contact", "C"]
    made = fedhull(
        "init", *given, "--sites", "a,b,c", cwd=tmp_path, answer="soon\n2999-01-01\nmany\n7\n"
    )
    assert made.returncode == 0, made.stderr
    assert "must be a date" in made.stderr
    assert "must be a whole number" in made.stderr
    written = tomllib.loads((tmp_path / "study.toml").read_text())
    assert written["disclosure"]["min_cells"] == 7
    assert written["encoder"]["genes"] == ""


@pytest.mark.parametrize(
    ("options", "answer", "words"),
    [
        (["--sites", "a,b"], "", "--sites: must be at least 3"),
        (["--sites", "A,b,c"], "", "--sites: a site's name"),
        ([], "model\n", "there was no answer; type one, or pass --name"),
        (["--valid-until", "tomorrow"], ANSWERS, "--valid-until: must be a date"),
        (["--valid-until", "2001-01-01"], ANSWERS, "--valid-until: must not be in the past"),
        (["--classes", "0"], ANSWERS, "--classes: must be a whole number from 1"),
    ],
)
def test_init_refuses_in_a_sentence_and_writes_nothing(tmp_path, options, answer, words):
    given = ["--make", "model", "--name", "A", "--purpose", "B", "--contact", "C"]
    given = given if options else []
    refused = fedhull("init", *given, *options, cwd=tmp_path, answer=answer or "2999-01-01\n")
    assert refused.returncode == 2
    assert words in refused.stderr
    # options are refused before anything is asked
    assert ("--" in words[:2]) == ("?" not in refused.stderr)
    assert not (tmp_path / "study.toml").exists()


def test_init_overwrites_no_study(tmp_path):
    (tmp_path / "study.toml").write_text("mine")
    refused = fedhull("init", cwd=tmp_path, answer=ANSWERS)
    assert refused.returncode == 2
    assert (tmp_path / "study.toml").read_text() == "mine"


def test_check_says_what_would_leave_and_what_to_mind(tmp_path, encoder, counts_study):
    make_counts(tmp_path / "cells.h5ad", genes=40)
    words = ["check", counts_study, "--data", tmp_path / "cells.h5ad", "--label", "cell_type"]
    checked = fedhull(*words, "--encoder", encoder)
    assert checked.returncode == 0, checked.stderr
    for said in ("Purpose: One classifier", "alpha: 60 cells", "Nothing was sent"):
        assert said in checked.stdout
    assert "Careful: Your data lack 20 of the encoder's 60 genes" in checked.stdout
    content = json.loads(fedhull(*words, "--encoder", encoder, "--json").stdout)
    assert content["data_taken"]
    assert content["study"]["hash"] is None
    assert any("lack 20" in each for each in content["careful"])


@pytest.mark.parametrize(
    ("how", "words"),
    [
        ({"how": lambda x: x - 1.0}, "must hold raw counts"),
        ({"how": np.log1p}, "must hold raw counts"),
        ({"labels": lambda y: np.where(np.arange(120) == 7, None, y)}, "the first in row 7"),
        ({"genes": 20}, "lack 40 of the embedder's 60 genes"),
    ],
)
def test_check_refuses_what_a_session_would_refuse(tmp_path, encoder, counts_study, how, words):
    make_counts(tmp_path / "cells.h5ad", **how)
    refused = fedhull(
        "check", counts_study, "--data", tmp_path / "cells.h5ad", "--label", "cell_type",
        "--encoder", encoder,
    )  # fmt: skip
    assert refused.returncode == 2
    assert words in refused.stderr
    assert "Traceback" not in refused.stderr


def test_a_column_that_is_not_there_is_answered_with_the_nearest(tmp_path, encoder, counts_study):
    make_counts(tmp_path / "cells.h5ad")
    refused = fedhull(
        "check", counts_study, "--data", tmp_path / "cells.h5ad", "--label", "celltype",
        "--encoder", encoder,
    )  # fmt: skip
    assert "did you mean 'cell_type'?" in refused.stderr


def test_check_names_the_file_that_a_study_needs(tmp_path, counts_study):
    make_counts(tmp_path / "cells.h5ad")
    refused = fedhull("check", counts_study, "--data", tmp_path / "cells.h5ad")
    assert refused.returncode == 2
    assert "--encoder FILE" in refused.stderr


def test_check_says_that_a_study_is_over(tmp_path):
    (tmp_path / "study.toml").write_text("valid_until = 2001-01-01\n" + draft(NAMES))
    refused = fedhull("check", tmp_path / "study.toml")
    assert refused.returncode == 2
    assert "was valid until 2001-01-01" in refused.stderr


def test_check_takes_a_kit_and_knows_its_hash(tmp_path):
    data = make_data(tmp_path, NAMES)["lab-a"]
    (tmp_path / "study.toml").write_text(draft(NAMES))
    words = ["--out", tmp_path / "kits", "--engine", "files", "--json"]
    made = json.loads(fedhull("provision", tmp_path / "study.toml", *words).stdout)
    checked = fedhull("check", tmp_path / "kits" / "lab-a", "--data", data, "--json")
    content = json.loads(checked.stdout)
    assert content["study"]["hash"] == made["study_hash"]
    assert any("does not say its purpose" in each for each in content["careful"])


def test_a_plan_of_a_study_file_is_that_of_its_settings(tmp_path):
    data = make_data(tmp_path, NAMES)["lab-a"]
    extra = "[protocol]\nallow_small_cohort = true\nmost_bins = 1000000"
    (tmp_path / "study.toml").write_text(draft(NAMES, extra))
    of_file = fedhull("plan", tmp_path / "study.toml", "--data", data, "--json")
    assert of_file.returncode == 0, of_file.stderr
    settings = ["--clients", 3, "--classes", 6, "--epsilon", 0.1, "--radius", 0.98]
    of_settings = json.loads(fedhull("plan", *settings, "--data", data, "--json").stdout)
    ours = json.loads(of_file.stdout)
    # the study's name and hash are in messages, and of another length
    for name in ("bytes_up_per_client", "bytes_up_learn"):
        assert abs(ours.pop(name) - of_settings.pop(name)) < 100
    assert ours == of_settings
    refused = fedhull("plan", tmp_path / "study.toml", "--epsilon", 0.2)
    assert refused.returncode == 2
    assert "leave out --epsilon" in refused.stderr
