"""The recipes of docs/extending.md, installed as the package they describe, each in use."""

import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import numpy as np
import pytest
from commands import process
from federations import PATIENCE, Federation, draft, make_data
from federations import ended as ended_with

FEDHULL = str(Path(sys.executable).with_name("fedhull"))
RECIPES = Path(__file__).parent.parent / "docs" / "extending.md"
# What the summary of the recipes discloses.
LEAVES = "its number of cells and the sum of their positions"


@pytest.fixture(scope="module")
def extras(tmp_path_factory):
    """A folder with the package and its metadata, as pip would leave them."""
    folder = tmp_path_factory.mktemp("site-packages")
    text = RECIPES.read_text()
    (folder / "extras").mkdir()
    (folder / "extras" / "__init__.py").touch()
    for name, code in re.findall(r"```python\n# extras/(\w+\.py)\n(.*?)```", text, re.DOTALL):
        (folder / "extras" / name).write_text(code)
    tables = tomllib.loads(re.search(r"```toml\n(.*?)```", text, re.DOTALL)[1])
    metadata = folder / "extras-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: extras\nVersion: 1.0\n")
    lines = []
    for group, entries in tables["project"]["entry-points"].items():
        lines += [f"[{group}]", *(f"{name} = {place}" for name, place in entries.items())]
    (metadata / "entry_points.txt").write_text("\n".join(lines) + "\n")
    return folder


@pytest.fixture
def fedhull(extras, tmp_path):
    """Starts `fedhull` where the package is installed."""

    def start(*words):
        return subprocess.Popen(
            [FEDHULL, *map(str, words)],
            env=os.environ | {"PYTHONPATH": str(extras)},
            cwd=tmp_path,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )

    return start


def ended(process, code=0):
    out, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == code, err
    return out


def stopped(process):
    _, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 2
    return err


@pytest.mark.slow
def test_classifier_grouping_guard_and_section_from_another_package(fedhull, tmp_path):
    out = ended(
        fedhull(
            "simulate", "--dataset", "tree", "--clients", 3, "--epsilon", 0.1, "--out", "run",
            "--method", "nearest-centre", "--grouping", "by-angle",
            "--guard", "edit+within:4+group",
            "--json",
        )
    )  # fmt: skip
    result = json.loads(out)
    assert result["decoded_exactly"]
    for setting, name in [("method", "nearest-centre"), ("grouping", "by-angle"),
                          ("guard", "edit+within:4+group")]:  # fmt: skip
        assert result["report"]["parameters"][setting] == name
    assert "We thank site-0001, site-0002, site-0003." in (tmp_path / "run/report.html").read_text()
    np.savez(tmp_path / "points.npz", x=np.array([[0.1, 0.2], [-0.3, 0.5]]), y=np.zeros(2))
    out = ended(fedhull("predict", "run/model.json", "points.npz", "--json"))
    assert len(json.loads(out)["classes"]) == 2


@pytest.mark.slow
def test_an_embedder_from_another_package(fedhull, tmp_path):
    rng = np.random.default_rng(0)
    genes = np.array([f"gene-{i}" for i in range(8)])
    np.savez(tmp_path / "cells.npz", x=rng.poisson(3.0, (50, 8)), genes=genes)
    words = ["--method", "two-genes", "--out", "points.npz", "--save-encoder", "encoder.npz"]
    ended(fedhull("embed", "cells.npz", *words))
    points = np.load(tmp_path / "points.npz")["x"]
    assert points.shape == (50, 2)
    ended(fedhull("embed", "cells.npz", "--encoder", "encoder.npz", "--out", "again.npz"))
    assert np.array_equal(np.load(tmp_path / "again.npz")["x"], points)


@pytest.mark.slow
def test_an_engine_from_another_package(fedhull, tmp_path):
    names = ["lab-a", "lab-b", "lab-c"]
    learning = '[learning]\nmethod = "nearest-centre"\nguard = "within:9+group"'
    (tmp_path / "study.toml").write_text(draft(names, learning))
    data = make_data(tmp_path, names)
    ended(fedhull("provision", "study.toml", "--out", "kits", "--engine", "shared-folder"))
    words = ["--mail", "mail", "--json"]
    server = fedhull("server", "kits/server", *words)
    sites = [
        fedhull("client", f"kits/{name}", "--data", data[name], "--yes", *words) for name in names
    ]
    result = json.loads(ended(server))
    assert result["survivors"] == names
    for site in sites:
        assert json.loads(ended(site))["study_hash"] == result["study_hash"]


MEANS = '[learning]\nsummary = "means"'
BY_FILES = """
import sys
from pathlib import Path
from by_mail import MailStudy
study = MailStudy(Path(sys.argv[1]), ["lab-a", "lab-b", "lab-c"], {extra!r})
study.finish()
"""


@pytest.mark.slow
def test_a_summary_from_another_package_in_a_simulation_a_plan_and_a_check(fedhull, tmp_path):
    words = ["--dataset", "tree", "--clients", 3, "--epsilon", 0.1, "--switch-labels", "--json"]
    result = json.loads(ended(fedhull("simulate", "--summary", "means", "--out", "run", *words)))
    assert result["decoded_exactly"]
    assert result["accuracy"]["FL"]["mean"] > 85.0
    assert result["report"]["parameters"]["summary"] == "means"
    page = (tmp_path / "run" / "report.html").read_text()
    assert LEAVES in page
    names = ["lab-a", "lab-b", "lab-c"]
    (tmp_path / "study.toml").write_text(draft(names, MEANS))
    data = make_data(tmp_path, names)
    checked = json.loads(ended(fedhull("check", "study.toml", "--data", data["lab-a"], "--json")))
    assert any(LEAVES in sentence for sentence in checked["what_leaves"])
    planned = json.loads(ended(fedhull("plan", "study.toml", "--data", data["lab-a"], "--json")))
    assert planned["numbers_in_totals"] == 3 * 6
    assert planned["bytes_up_per_client"] > planned["bytes_up_learn"] > 0


@pytest.mark.slow
def test_a_summary_from_another_package_by_files(extras, tmp_path, monkeypatch):
    paths = [str(extras), str(Path(__file__).parent)]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(paths))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    script = BY_FILES.format(extra=f"{MEANS}\n[protocol]\nthreshold = 3")
    subprocess.run([sys.executable, "-c", script, str(tmp_path)], check=True)
    for name in ("server", "lab-a"):
        check_results(tmp_path / "kits" / name / "results" / "files")


@pytest.mark.slow
@pytest.mark.processes
def test_a_summary_from_another_package_on_flare(extras, tmp_path, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(extras))
    monkeypatch.setattr("federations.fedhull", process)
    federation = Federation(tmp_path, 3, extra=f"{MEANS}\n[protocol]\nthreshold = 3")
    try:
        parties = [federation.server("--json"), *map(federation.client, federation.names)]
        for party in parties:
            code, _, errors = ended_with(party)
            assert code == 0, errors
        for name in ("server", "lab-a"):
            check_results(federation.results(name))
    finally:
        federation.end()


def check_results(results):
    """A model of all classes, a result, and a page that says what left."""
    content = json.loads((results / "model.json").read_text())
    # a site's model moves its cells first
    assert len(content.get("model", content)["classes"]) == 6
    result = json.loads((results / "result.json").read_text())
    assert result["summary"] == "means"
    assert result["accuracy"] > 80.0
    assert LEAVES in (results / "report.html").read_text()


@pytest.mark.slow
def test_a_command_from_another_package(fedhull):
    assert json.loads(ended(fedhull("count", "tree", "--json")))["stem"] > 0
    assert "stem" in ended(fedhull("count", "tree"))
    listed = ended(fedhull("--help"))
    assert re.search(r"count +Count the points of each class in a data set", listed)
    assert "did you mean 'count'" in stopped(fedhull("coumt", "tree")).lower()


def test_recipes_import_only_what_is_public():
    code = "\n".join(re.findall(r"```python\n(.*?)```", RECIPES.read_text(), re.DOTALL))
    modules = set(re.findall(r"^(?:>>> )?(?:from|import) (fedhull[\w.]*)", code, re.MULTILINE))
    assert modules == {"fedhull", "fedhull.errors", "fedhull.extend"}


def test_a_part_that_is_not_installed_is_refused_with_the_names_that_are(tmp_path):
    words = ["simulate", "--dataset", "tree", "--method", "nearest-centre"]
    done = subprocess.run([FEDHULL, *words], capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 2
    assert "method must be one of euclidean-svm, lorentz, moments, poincare-svm" in done.stderr
