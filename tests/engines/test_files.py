"""Studies by files: one step for each call, whatever happens to the files on the way."""

import json
import shutil

import pytest
from by_mail import FOUR as NAMES
from by_mail import MailStudy
from conformance import in_memory

from fedhull.engines.base import Options
from fedhull.engines.files.runner import RUNNER as FILES
from fedhull.errors import InvalidInput, StillWaiting
from fedhull.kits.fetch import take_late
from fedhull.kits.kit import Kit
from fedhull.learn.model import model_to_json
from fedhull.protocol.drive import STEPS
from fedhull.rounds.hulls import HullSums

THREE = NAMES[:3]  # the fewest that a study of four goes on with


@pytest.fixture
def study(tmp_path):
    return MailStudy(tmp_path)


def test_the_result_is_the_memory_engines(study):
    study.until("advertise")
    study.finish()
    assert study.model() == model_to_json(in_memory(study.kits, study.data).model)
    result = json.loads((study.results("server") / "result.json").read_text())
    sites = [json.loads((study.results(n) / "result.json").read_text()) for n in NAMES]
    assert result["tested"] == sum(site["tested"] for site in sites)
    # a site does not tell candidates apart that differ on fewer than five of its cells
    assert abs(result["correct"] - sum(site["correct"] for site in sites)) < 5 * len(NAMES)


def test_no_secret_of_a_finished_session_is_left(study):
    study.until("upload")
    assert FILES.session_open(Kit.open(study.kits / "lab-a"))
    journal = study.results("lab-a") / "session.secret"
    assert journal.stat().st_mode & 0o077 == 0
    study.finish()
    assert not journal.exists()


def test_the_audit_log_has_every_message_once_and_no_content(study):
    study.until("advertise")
    study.finish()
    lines = (study.results("lab-a") / "audit.jsonl").read_text().splitlines()
    entries = [json.loads(line) for line in lines]
    steps = [*STEPS[:-1], "propose", "publish"]
    said = [(direction, step) for step in steps for direction in ("received", "sent")]
    # who has judged candidates is not asked about the model again
    messages = [(e["direction"], e["step"]) for e in entries if e["direction"] != "agreed"]
    assert messages == said[:-1]
    assert len(entries) == len(messages) + 1
    assert set(entries[0]) == {"time", "study", "peer", "direction", "step", "bytes", "sha256"}
    at_server = (study.results("server") / "audit.jsonl").read_text().splitlines()
    assert len(at_server) == len(said[:-1]) * len(NAMES)


def test_a_truncated_file_is_noticed_and_waited_for(study):
    study.until("upload")
    for name in NAMES:
        study.answer(name)
    path = study.reply("lab-a", "upload")
    whole = path.read_bytes()
    for length in (0, 10, len(whole) // 2, len(whole) - 1):
        path.write_bytes(whole[:length])
        assert not study.serve()
        assert not study.request("lab-a", "confirm").exists()
        assert "damaged or incomplete" in study.said[-1]
    path.write_bytes(whole)
    study.finish()
    assert len(study.model()["classes"]) == 6


def test_a_forged_reply_does_not_stand_for_its_supposed_author(study):
    study.until("upload")
    for name in NAMES:
        study.answer(name)
    true = study.reply("lab-a", "upload").read_bytes()
    shutil.copy(study.reply("lab-b", "upload"), study.reply("lab-a", "upload"))
    assert not study.serve()
    assert "signed by" in study.said[-1]
    study.reply("lab-a", "upload").write_bytes(true)
    study.finish()
    assert study.model() == model_to_json(in_memory(study.kits, study.data).model)


def test_a_forged_request_changes_nothing_at_a_site(study):
    study.until("confirm")
    true = study.request("lab-a", "confirm").read_bytes()
    study.request("lab-a", "confirm").write_bytes(true[:-1] + bytes([true[-1] ^ 1]))
    with pytest.raises(InvalidInput, match="damaged"):
        study.answer("lab-a")
    shutil.copy(study.request("lab-a", "upload"), study.request("lab-a", "confirm"))
    study.answer("lab-a")
    assert study.status("lab-a")["error"] == "OutOfTurn"
    shutil.copy(study.reply("lab-b", "upload"), study.request("lab-a", "confirm"))
    study.answer("lab-a")
    assert study.status("lab-a")["error"] == "BadIdentity"
    assert not study.reply("lab-a", "confirm").exists()
    study.request("lab-a", "confirm").write_bytes(true)
    study.finish()
    assert study.status("lab-a")["error"] is None


def test_calling_twice_and_files_that_arrive_twice_change_nothing(study):
    study.until("upload")
    for name in NAMES:
        study.answer(name)
    first = study.reply("lab-a", "upload").read_bytes()
    study.answer("lab-a")
    study.answer("lab-a")
    assert study.reply("lab-a", "upload").read_bytes() == first
    study.serve()
    before = study.request("lab-a", "confirm").read_bytes()
    study.serve()
    assert study.request("lab-a", "confirm").read_bytes() == before
    study.finish()


def test_a_late_reply_is_not_used_and_the_others_go_on_without_its_site(study):
    study.until("upload")
    for name in THREE:
        study.answer(name)
    assert not study.serve()
    assert not study.serve(go_on=True)
    study.answer("lab-d")  # too late
    study.finish(THREE)
    result = json.loads((study.results("server") / "result.json").read_text())
    assert result["survivors"] == THREE
    assert result["failures"] == {"lab-d": "vanished"}
    expected = in_memory(study.kits, study.data, {"upload": ["lab-d"]})
    assert study.model() == model_to_json(expected.model)


def test_a_site_that_missed_the_end_still_gets_the_model(study):
    study.until("confirm")
    for name in THREE:
        study.answer(name)
    study.serve(go_on=True)
    study.finish(THREE)
    assert study.answer("lab-d")
    assert study.status("lab-d")["error"] is None


def test_a_new_session_needs_a_new_consent(study):
    study.until("upload")
    study.serve(again=True)
    FILES.start_again(Kit.open(study.kits / "lab-a"))
    study.answer("lab-a")
    assert study.status("lab-a")["error"] == "NoConsent"
    for name in NAMES:
        FILES.start_again(Kit.open(study.kits / name))
        study.agree(name)
    study.finish()
    assert study.model() == model_to_json(in_memory(study.kits, study.data).model)
    assert not (study.kits / "lab-a" / "results" / "files-1" / "session.secret").exists()


def test_mail_of_an_earlier_session_does_not_disturb_a_new_one(study):
    study.until("advertise")
    study.finish()
    old = {path: path.read_bytes() for path in study.mail.rglob("*.re*")}
    study.serve(again=True)
    with pytest.raises(InvalidInput, match="opened a new one"):
        study.answer("lab-a")
    for path, content in old.items():
        if not path.exists():
            path.write_bytes(content)  # as a folder that is synced brings it back
    for name in NAMES:
        FILES.start_again(Kit.open(study.kits / name))
        study.agree(name, again=True)
    study.finish()
    assert study.model() == model_to_json(in_memory(study.kits, study.data).model)


def test_going_on_without_too_many_is_not_done(study):
    study.until("upload")
    study.answer("lab-a")
    study.answer("lab-b")
    assert not study.serve(go_on=True)
    assert not study.request("lab-a", "confirm").exists()
    study.answer("lab-c")
    study.serve(go_on=True)
    assert "going on without lab-d" in study.said[-1]
    assert study.request("lab-a", "confirm").exists()


def test_a_site_that_was_stopped_over_the_result_gets_it_with_the_next_call(study, monkeypatch):
    study.until("publish")

    def die(*news):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(HullSums, "take", die)
        with pytest.raises(KeyboardInterrupt):
            study.answer("lab-a")
    assert not (study.results("lab-a") / "model.json").exists()
    assert study.answer("lab-a")
    assert study.status("lab-a")["error"] is None
    assert not study.reply("lab-a", "publish").exists()  # what may have been answered is not again
    assert {path.name for path in study.results("lab-a").iterdir()} == {
        "audit.jsonl", "consent.json", "model.json", "report.html", "result.json", "status.json"
    }  # fmt: skip


def test_a_site_fetches_the_result_from_the_mail(study):
    study.until("confirm")
    for name in THREE:
        study.answer(name)
    study.serve(go_on=True)
    kit = Kit.open(study.kits / "lab-d")
    with pytest.raises(StillWaiting, match="nothing has been published"):
        FILES.fetch(kit, Options(mail=study.mail), study.said.append)
    study.finish(THREE)
    take_late(kit, FILES.fetch(kit, Options(mail=study.mail), study.said.append))
    assert study.answer("lab-d")
    assert not (study.results("lab-d") / "session.secret").exists()
