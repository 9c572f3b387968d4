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
from federations import PATIENCE, draft, make_data

FEDHULL = str(Path(sys.executable).with_name("fedhull"))
RECIPES = Path(__file__).parent.parent / "docs" / "extending.md"


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
