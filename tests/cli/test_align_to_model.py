"""`fedhull align --to model.json`: a site that comes after a study fits itself to its model."""

import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from fedhull import load_model, make_tree
from fedhull.cli.app import app
from fedhull.disc.isometry import rotation, translation
from fedhull.errors import InvalidInput
from fedhull.study.draft import draft_study, with_names
from fedhull.study.kinds import task_of
from fedhull.study.rehearsal import rehearse


def run(*words):
    result = CliRunner().invoke(app, [str(word) for word in words])
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    """(folder with the coordinator's model, a site's, and cells of a new site, few of them
    labelled; what they are)."""
    folder = tmp_path_factory.mktemp("study")
    data = make_tree(1200, lineages=3, seed=0)
    x = 0.8 * data.x
    drafted = draft_study(3, 4, summary="moments", features=32, align=1)
    drafted = with_names(drafted, sorted(set(data.y.tolist())))
    task = task_of(drafted)
    held = {
        name: task.prepare(x[i:900:3], data.y[i:900:3]) for i, name in enumerate(drafted.clients)
    }
    done = rehearse(drafted, held)
    files = {"model.json": done.outcome, "site.json": next(iter(done.sites.values()))}
    for name, party in files.items():
        (folder / name).write_bytes(party.files()["model.json"])
    away = (translation([0.25, 0.1]) @ rotation(0.4)).apply(x[900:])
    np.savez(folder / "labelled.npz", x=away[:100], y=data.y[900:1000])
    np.savez(folder / "cells.npz", x=away)
    return folder, data.y[900:]


@pytest.mark.parametrize("model", ["model.json", "site.json"])
def test_a_new_site_aligns_itself_to_a_model_and_gets_one_of_its_own(study, model, tmp_path):
    folder, truth = study
    shown = run("align", folder / "labelled.npz", "--to", folder / model,
                "--out", tmp_path / "a.npz", "--model-out", tmp_path / "own.json",
                "--site", "lab-z", "--json")  # fmt: skip
    result = json.loads(shown.stdout)
    assert result["misfit"] < 0.5 * result["misfit_before"]
    assert result["reflected"] is False
    own = load_model(tmp_path / "own.json")
    assert (own.site, own.isometry.to_json()) == ("lab-z", result["isometry"])
    predicted = {
        name: np.array(json.loads(run("predict", path, cells, "--json").stdout)["classes"])
        for name, path, cells in [
            ("as measured", tmp_path / "own.json", folder / "cells.npz"),
            ("moved", folder / "model.json", tmp_path / "a.npz"),
            ("not moved", folder / "model.json", folder / "cells.npz"),
        ]
    }
    assert (predicted["as measured"][:100] == predicted["moved"]).all()
    right = {name: (c == truth[: len(c)]).mean() for name, c in predicted.items()}
    assert right["as measured"] > 0.9
    assert right["as measured"] > right["not moved"] + 0.05


def test_aligning_to_a_model_says_what_it_did(study, tmp_path):
    folder, _ = study
    shown = run("align", folder / "labelled.npz", "--to", folder / "model.json", "--out",
                tmp_path / "a.csv", "--model-out", tmp_path / "own.json")  # fmt: skip
    assert "Matched 4 class centres." in shown.stdout
    assert "own.json" in shown.stdout.replace("\n", "")


@pytest.mark.parametrize(
    ("cells", "words", "sentence"),
    [
        ("labelled.npz", ["--to", "plain.json"], "no class centres to align to"),
        ("labelled.npz", ["--to", "absent.json"], "absent.json"),
        (
            "labelled.npz",
            ["--to", "labelled.npz", "--model-out", "own.json"],
            "goes with a model.json",
        ),
        ("labelled.npz", ["--to", "model.json", "--model-out", "/nowhere/own.json"], "folder that"),
        ("other.npz", ["--to", "model.json"], "but 'alpha' is not"),
        ("one.npz", ["--to", "model.json"], "at least 2 classes"),
        ("labelled.npz", ["--to", "model.json", "--label", "nope"], "no column 'nope'"),
    ],
)
def test_what_cannot_be_aligned_to_a_model_gets_a_sentence(
    study, tmp_path, monkeypatch, cells, words, sentence
):
    folder, _ = study
    monkeypatch.chdir(folder)
    x = np.load("cells.npz")["x"]
    np.savez("other.npz", x=x, y=np.array(["alpha"] * 300))
    np.savez("one.npz", x=x, y=np.array(["stem"] * 300))
    plain = json.loads(Path("model.json").read_text())
    Path("plain.json").write_text(json.dumps({k: v for k, v in plain.items() if k != "aligned_to"}))
    with pytest.raises(InvalidInput, match=sentence):
        run("align", cells, "--out", tmp_path / "out.npz", *words)
    assert not list(tmp_path.iterdir())
    assert not (folder / "own.json").exists()
