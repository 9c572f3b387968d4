"""Studies with differential privacy from kits: consent says what is promised, processes may end
after every message, and the pages say no more than the threat model does."""

import json
import re
from pathlib import Path

import numpy as np
import pytest
from commands import fedhull
from conformance import agree
from federations import draft, make_data
from restarting import Restarting

from fedhull.errors import InvalidInput
from fedhull.kits.kit import Kit
from fedhull.kits.participant import coordinate
from fedhull.kits.provision import make_kits
from fedhull.report.page import page_from_json
from fedhull.report.render import content
from fedhull.report.sections import Noise
from fedhull.rounds.noise import NOT_COVERED
from fedhull.study.task import Source

NAMES = ["lab-a", "lab-b", "lab-c", "lab-d"]
PRIVATE = '[learning]\nsummary = "moments"\nfeatures = 24\n[privacy]\nepsilon = 8.0'
THREAT_MODEL = (Path(__file__).parents[2] / "docs" / "threat-model.md").read_text()


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """Kits of a study that ran to its end, each site in a new process for every message."""
    folder = tmp_path_factory.mktemp("finished")
    with pytest.MonkeyPatch.context() as here:
        here.setenv("XDG_STATE_HOME", str(folder / "state"))
        data = make_data(folder, NAMES)
        kits = make_kits(draft(NAMES, PRIVATE), folder / "kits").folder
        for name in NAMES:
            agree(kits, name, data)
        engine = Restarting(kits, NAMES)
        coordinate(Kit.open(kits / "server"), "run", engine, 1.0, lambda progress: None)
    return {
        name: json.loads((kits / name / "results" / "run" / "result.json").read_text())
        for name in ("server", *NAMES)
    }


def words_of(text):
    return " ".join(re.sub(r"[*|>]", " ", text).split())


def test_a_site_that_starts_anew_for_every_message_is_in_the_sum_and_has_the_model(finished):
    assert finished["server"]["survivors"] == NAMES
    # of six classes with 60 cells at a site, one is rarely lost in noise, and never many
    assert min(len(finished[name]["classes"]) for name in NAMES) > 3


def test_pages_say_what_is_promised_and_how_much_noise_there_is(finished):
    for name in ("server", "lab-a"):
        page = page_from_json(finished[name]["report"], "it")
        section = page.find(Noise).text()
        assert section.title == "What noise hides"
        assert "ε = 8" in section.paragraphs[0]
        assert section.paragraphs[-1] == NOT_COVERED
        assert len(section.table.rows) == 5
        shown = content(page) | {"glossary": []}
        told = json.dumps(shown, ensure_ascii=False)
        assert "not differential privacy" not in told
        assert "with noise" in told


def test_pages_say_no_more_than_the_threat_model():
    assert words_of(NOT_COVERED) in words_of(THREAT_MODEL)


def test_whoever_agrees_reads_what_is_promised_before(tmp_path):
    data = make_data(tmp_path, NAMES)
    kits = make_kits(draft(NAMES, PRIVATE), tmp_path / "kits").folder
    task = Kit.open(kits / "lab-a").task
    told = " ".join(task.explain("lab-a", task.read(Source(str(data["lab-a"])))))
    assert "Noise hides any single cell (differential privacy, ε = 8, δ = 1e-05)" in told
    assert "2,981.0 times as likely" in told
    assert "withheld" not in told


def test_plan_says_what_the_noise_costs_from_the_sites_own_cells(tmp_path):
    (tmp_path / "study.toml").write_text(draft(NAMES, PRIVATE))
    data = make_data(tmp_path, NAMES)["lab-a"]
    made = fedhull("plan", tmp_path / "study.toml", "--data", data, "--json")
    assert made.returncode == 0, made.stderr
    price = json.loads(made.stdout)["dp"]["price"]
    assert price["points_lost"] == pytest.approx(price["without_noise"] - price["with_noise"])
    assert 0.0 < price["with_noise"] <= 100.0


def test_a_class_that_stands_for_several_is_refused_before_anything_leaves(tmp_path):
    names = [*(f"lineage-{i}" for i in range(1, 5)), "early", "late"]
    agreed = f"[classes]\nnames = {json.dumps(names)}"
    cells = np.load(make_data(tmp_path, NAMES)["lab-a"])
    some = cells["y"] != "stem"
    np.savez(tmp_path / "some.npz", x=cells["x"][some], y=cells["y"][some])
    kits = make_kits(draft(NAMES, f"{PRIVATE}\n{agreed}"), tmp_path / "kits").folder
    (tmp_path / "map.toml").write_text('lineage-5 = ["early", "late"]')
    source = Source(str(tmp_path / "some.npz"), names=str(tmp_path / "map.toml"))
    with pytest.raises(InvalidInput, match="stands for several"):
        Kit.open(kits / "lab-a").task.read(source)


def test_hulls_with_privacy_are_refused_in_a_sentence_that_names_moments(tmp_path):
    study = tmp_path / "study.toml"
    study.write_text(draft(NAMES, "[privacy]\nepsilon = 1.0"))
    made = fedhull("provision", study, "--out", tmp_path / "kits", "--engine", "files")
    assert made.returncode == 2
    assert "summary = 'moments'" in " ".join(made.stderr.split())
