"""Studies of moments by files: two sums, fourteen steps, one mail folder."""

import json

import numpy as np
import pytest
from by_mail import MailStudy
from commands import fedhull
from conformance import in_memory
from federations import AGREED, ALIGNED, MOMENTS, TWO_OF_THREE

from fedhull import load_model
from fedhull.engines.base import Options
from fedhull.engines.files.runner import RUNNER as FILES
from fedhull.errors import InvalidInput
from fedhull.kits import ledger
from fedhull.kits.audit import read_audit
from fedhull.kits.fetch import take_late
from fedhull.kits.kit import Kit
from fedhull.learn.model import model_to_json
from fedhull.learn.moment_classifier import MomentClassifier
from fedhull.protocol.drive import STEPS
from fedhull.rounds.match import Matching
from fedhull.rounds.moments import MomentSums
from fedhull.study.task import Source

NAMES = ["lab-a", "lab-b", "lab-c"]
TWO = NAMES[:2]  # the fewest that a study of three goes on with
EXTRA = f"{TWO_OF_THREE}\n{MOMENTS}"
# Candidates are judged after the last sum.
LAST_STEPS = [*STEPS[:-1], "propose", "publish"]


@pytest.fixture
def study(tmp_path):
    return MailStudy(tmp_path, NAMES, EXTRA)


def same_model(study, vanish=None):
    return study.model() == model_to_json(in_memory(study.kits, study.data, vanish).model)


def test_the_result_is_the_memory_engines(study):
    study.finish()
    assert same_model(study)
    result = study.result("server")
    sites = [study.result(name) for name in NAMES]
    assert result["correct"] == sum(site["correct"] for site in sites)
    assert result["matched_sites"] == result["survivors"] == NAMES
    names = [path.name for path in sorted((study.mail / "lab-a").glob("*.request"))]
    assert sorted(names, key=lambda name: int(name.split("-")[0])) == [
        f"{number}-{step}.request" for number, step in enumerate([*STEPS, *LAST_STEPS], 1)
    ]
    # nobody is asked anything between the sums, nor after candidates were judged
    assert not study.reply("lab-a", "publish").exists()
    assert study.reply("lab-a", "propose", 2).exists()
    assert not study.reply("lab-a", "publish", 2).exists()


def test_with_agreed_names_there_is_one_sum(tmp_path):
    study = MailStudy(tmp_path, NAMES, f"{EXTRA}\n{AGREED}")
    study.finish()
    assert len(study.post.steps) == 1
    result = study.result("server")
    assert result["matched_sites"] == []
    task = Kit.open(study.kits / "server").task
    held = [task.read(Source(str(study.data[name]))) for name in NAMES]
    x = np.concatenate([each.x[~each.test] for each in held])
    y = np.concatenate([each.y[~each.test] for each in held])
    pooled = MomentClassifier(n_features=24, seed=0).fit(x, y)
    model = load_model(study.results("server") / "model.json")
    assert result["ballot"]["chosen"] == 0
    assert (model.predict(x) == pooled.predict(x)).all()
    assert model.coef_ == pytest.approx(pooled.coef_, rel=1e-6)
    assert [study.result(name)["classes"] for name in NAMES] == [
        {str(i): name for i, name in enumerate(np.unique(y).tolist())}
    ] * 3


@pytest.mark.slow
def test_sites_that_align_themselves_take_four_sums(tmp_path):
    study = MailStudy(tmp_path, NAMES, f"{TWO_OF_THREE}\n{ALIGNED}")
    study.until("upload", number=3)
    assert "upload (step 18 of 29, round 3 of 4)" in study.waiting
    for name in TWO:
        study.answer(name)
    study.serve(go_on=True)  # lab-c is in the first two sums
    study.finish(TWO)
    assert study.result("server")["survivors"] == TWO
    assert study.answer("lab-c")
    assert study.result("lab-c")["tested"] > 0


def test_what_is_said_names_the_sum(study):
    study.until("share")
    assert "share (step 2 of 15, round 1 of 2)" in study.waiting
    study.until("upload", number=2)
    assert "upload (step 11 of 15, round 2 of 2)" in study.waiting


def test_a_site_that_drops_out_between_the_sums_is_in_the_first_only_and_fetches_the_model(study):
    study.until("advertise", number=2)
    for name in TWO:
        study.answer(name)
    assert not study.serve(go_on=True)
    study.answer("lab-c")  # too late
    assert not study.request("lab-c", "share", 2).exists()
    study.finish(TWO)
    result = study.result("server")
    assert (result["matched_sites"], result["survivors"]) == (NAMES, TWO)
    assert study.answer("lab-c")
    assert study.status("lab-c")["error"] is None
    late, other = study.result("lab-c"), study.result("lab-a")
    assert late["matches"]
    assert late["tested"]
    assert sorted(late["classes"].values()) == sorted(other["classes"].values())
    assert not (study.results("lab-c") / "session.secret").exists()
    entries = read_audit(study.results("server") / "audit.jsonl")
    assert sum(e.peer == "lab-c" and e.step == "publish" for e in entries) == 2


def test_a_site_that_dropped_out_of_the_first_sum_takes_no_further_part(study):
    study.until("upload")
    for name in TWO:
        study.answer(name)
    study.serve(go_on=True)
    study.finish(TWO)
    assert {path.name for path in (study.mail / "lab-c").iterdir()} <= {
        f"{number}-{step}.{kind}"
        for number, step in enumerate(STEPS[:4], 1)
        for kind in ("request", "reply")
    }
    result = study.result("server")
    assert result["matched_sites"] == result["survivors"] == TWO
    assert same_model(study, {"upload": ["lab-c"]})


def test_a_site_that_was_away_after_its_first_upload_is_in_the_second_sum(study):
    study.until("confirm")
    for name in TWO:
        study.answer(name)
    study.serve(go_on=True)
    while not study.request("lab-a", "advertise", 2).exists():
        for name in TWO:
            study.answer(name)
        study.serve()
    study.finish()
    assert study.result("server")["survivors"] == NAMES
    assert same_model(study)


def test_a_site_fetches_the_result_from_the_mail(study):
    study.until("confirm", number=2)
    for name in TWO:
        study.answer(name)
    study.serve(go_on=True)
    study.finish(TWO)
    kit = Kit.open(study.kits / "lab-c")
    take_late(kit, FILES.fetch(kit, Options(mail=study.mail), study.said.append))
    assert study.result("server")["survivors"] == NAMES
    assert study.result("lab-c")["accuracy"] is not None


@pytest.mark.parametrize(("step", "number"), [("upload", 1), ("advertise", 2), ("upload", 2)])
def test_calling_twice_changes_nothing(study, step, number):
    study.until(step, number=number)
    for name in NAMES:
        study.answer(name)
    replies = {path: path.read_bytes() for path in study.mail.rglob("*.reply")}
    for name in NAMES:
        study.answer(name)
    assert {path: path.read_bytes() for path in study.mail.rglob("*.reply")} == replies
    study.serve()
    requests = {path: path.read_bytes() for path in study.mail.rglob("*.request")}
    study.serve()
    assert {path: path.read_bytes() for path in study.mail.rglob("*.request")} == requests
    study.finish()
    assert same_model(study)


def test_a_site_that_was_stopped_over_the_first_publication_goes_on(study, monkeypatch):
    study.until("publish")

    def die(*news):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Matching, "take", die)
        with pytest.raises(KeyboardInterrupt):
            study.answer("lab-a")
    study.finish()
    assert study.result("server")["survivors"] == NAMES
    assert same_model(study)
    assert study.result("lab-a")["accuracy"] is not None


def test_a_site_that_was_stopped_over_the_result_gets_it_with_the_next_call(study, monkeypatch):
    study.until("publish", number=2)

    def die(*news):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(MomentSums, "take", die)
        with pytest.raises(KeyboardInterrupt):
            study.answer("lab-a")
    assert study.answer("lab-a")
    assert not study.reply("lab-a", "publish", 2).exists()


def test_one_consent_covers_both_sums_and_a_second_session_needs_another(study):
    study.until("upload")
    study.answer("lab-a")
    (noted,) = [each for each in ledger.uploads() if "lab-a" in each.kit]
    assert noted.rounds == 1
    study.finish()
    assert {each.rounds for each in ledger.uploads()} == {2}
    log = read_audit(study.results("lab-a") / "audit.jsonl")
    assert sum(entry.is_upload for entry in log) == 2
    assert [(e.direction, e.step) for e in log if e.direction == "sent"] == [
        ("sent", step) for step in [*STEPS[:-1], *LAST_STEPS[:-1]]
    ]
    study.serve(again=True)
    with pytest.raises(InvalidInput, match="opened a new one"):
        study.answer("lab-a")
    for name in NAMES:
        FILES.start_again(Kit.open(study.kits / name))
        study.agree(name, again=True)
    study.finish()
    assert same_model(study)


def test_no_secret_of_a_finished_session_is_left(study):
    study.until("upload", number=2)
    journal = study.results("lab-a") / "session.secret"
    assert journal.stat().st_mode & 0o077 == 0
    study.finish()
    assert {path.name for path in study.results("lab-a").iterdir()} == {
        "audit.jsonl", "consent.json", "model.json", "report.html", "result.json", "status.json"
    }  # fmt: skip


def test_commands_say_how_the_study_ended(study):
    study.until("publish", number=2)
    options = ("--engine", "files", "--mail", study.mail)
    for name in NAMES:
        done = fedhull("client", study.kits / name, *options)
        assert done.returncode == 0, done.stderr
        assert "The model uses your class names: " in done.stderr
        assert "points you held out" in done.stderr
    done = fedhull("server", study.kits / "server", *options)
    assert done.returncode == 0, done.stderr
    assert "The study is complete: 3 of 3 sites" in done.stderr
    assert "counted at 3 sites" in done.stderr
    assert json.loads((study.results("server") / "status.json").read_text())["error"] is None
