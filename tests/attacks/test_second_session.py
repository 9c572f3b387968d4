"""Two sums that differ by one site are that site's part: no site uploads the same data twice,
unless somebody there has agreed to one more session."""

import json
import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from commands import fedhull
from conformance import agree
from federations import NO_BALLOT, TWO_OF_THREE, draft, make_data
from frames import make_frame_kits
from restarting import Restarting

from fedhull.errors import BelowThreshold, FedhullError, InvalidInput, NoConsent, OutOfTurn
from fedhull.kits import consent, ledger
from fedhull.kits.kit import Kit
from fedhull.kits.participant import coordinate
from fedhull.kits.provision import make_kits
from fedhull.protocol.server import ServerSession

NAMES = ["lab-a", "lab-b", "lab-c"]


@pytest.fixture
def data(tmp_path):
    return make_data(tmp_path, NAMES)


@pytest.fixture
def kits(tmp_path):
    return new_kits(tmp_path / "kits")


def new_kits(folder, name="A test"):
    # without the ballot, which has no part in who may upload and takes as long as all the rest
    text = draft(NAMES, f"{TWO_OF_THREE}\n{NO_BALLOT}")
    return make_kits(text.replace("A test", name), folder).folder


def run_study(kits, data, again=False, run="run"):
    """A whole study; the names of those whose upload left."""
    for name in NAMES:
        agree(kits, name, data, again)
    coordinate(Kit.open(kits / "server"), run, Restarting(kits, NAMES, run), 1.0, lambda p: None)


def client(kits, data, *words, name="lab-a"):
    options = ("--engine", "files", "--yes", "--consent-only")
    return fedhull("client", kits / name, "--data", data, *options, *words)


def opened_session(kits):
    """A session of the coordinator's, and its invitations."""
    server = Kit.open(kits / "server")
    return ServerSession(server.study, server.task.coordinator().next_sum(), server.identity)


def until_upload(kits, data):
    """(engine, requests for the uploads) of a session in which nothing has been uploaded yet."""
    for name in NAMES:
        agree(kits, name, data)
    session, engine = opened_session(kits), Restarting(kits, NAMES)
    requests = session.start()
    for step in ("advertise", "share", "announce"):
        requests = session.advance(engine.step(step, requests)[0])
    return engine, requests


def sentence(kits, name="lab-a", run="run"):
    return json.loads((kits / name / "results" / run / "status.json").read_text())["sentence"]


# The same data in another guise


def resaved(file, folder):
    """The same points in another format, in another order, with other names for the classes."""
    x, y = (np.load(file)[key] for key in "xy")
    order = np.random.default_rng(0).permutation(len(x))
    rows = zip(x[order], y[order], strict=True)
    lines = ["x,y,label", *(f"{a:.9g},{b:.9g},type {c}" for (a, b), c in rows)]
    (folder / "resaved.csv").write_text("\n".join(lines) + "\n")
    return folder / "resaved.csv"


def grown(file, folder):
    """The same points and a few more."""
    x, y = (np.load(file)[key] for key in "xy")
    np.savez(folder / "grown.npz", x=np.concatenate((x, x[:9] / 2)), y=np.concatenate((y, y[:9])))
    return folder / "grown.npz"


@pytest.mark.parametrize("disguise", [lambda file, folder: file, resaved, grown])
@pytest.mark.parametrize("study", ["A test", "A quite different study"])
def test_a_renamed_study_or_a_file_saved_again_is_not_a_first_session(
    kits, data, tmp_path, disguise, study
):
    run_study(kits, data)
    others = new_kits(tmp_path / "others", study)
    file = disguise(data["lab-a"], tmp_path)
    asked = client(others, file)
    assert asked.returncode == 2
    for words in ("were uploaded on 20", "'A test'", "subtract", "--again", "--fetch"):
        assert words in asked.stderr
    # nor if somebody, or something, gave the consent all the same
    for name in NAMES:
        agree(others, name, data | {"lab-a": file})
    with pytest.raises(BelowThreshold):
        coordinate(
            Kit.open(others / "server"), "run", Restarting(others, NAMES), 1.0, lambda p: None
        )
    assert not Kit.open(others / "lab-a").has_uploaded
    assert "--again" in sentence(others)


def test_other_data_are_a_first_session(kits, data, tmp_path):
    run_study(kits, data)
    others = new_kits(tmp_path / "others")
    x, y = (np.load(data["lab-a"])[key] for key in "xy")
    np.savez(tmp_path / "other.npz", x=x @ np.array([[0.8, 0.6], [-0.6, 0.8]]), y=y)
    assert client(others, tmp_path / "other.npz").returncode == 0


def test_a_kit_that_is_unpacked_again_does_not_upload_again(kits, data, tmp_path):
    fresh = shutil.copytree(kits, tmp_path / "fresh")
    run_study(kits, data)
    assert "were uploaded on" in client(fresh, data["lab-a"]).stderr


def test_again_is_one_more_session_and_not_two(kits, data, tmp_path):
    run_study(kits, data)
    second, third = (new_kits(tmp_path / name, name) for name in ("second", "third"))
    for name in NAMES:  # both agreed to when there had been one session
        agree(third, name, data, again=True)
    run_study(second, data, again=True)
    with pytest.raises(BelowThreshold):
        coordinate(Kit.open(third / "server"), "run", Restarting(third, NAMES), 1.0, lambda p: None)
    assert "'second'" in sentence(third)
    assert client(third, data["lab-a"], "--again").returncode == 0


def test_a_damaged_audit_log_does_not_keep_anybody_from_agreeing_to_one_more(kits, data):
    run_study(kits, data)
    log = kits / "lab-a" / "results" / "run" / "audit.jsonl"
    log.write_bytes(b"?\n" + log.read_bytes())
    ledger.ledger_file().unlink()  # so that the log is all there is
    asked = client(kits, data["lab-a"])
    assert asked.returncode == 2
    assert "line 1 of" in asked.stderr
    assert client(kits, data["lab-a"], "--again").returncode == 0


# The same session again


def test_a_rolled_back_journal_does_not_upload_again(kits, data):
    engine, requests = until_upload(kits, data)
    before = dict(engine.journals)
    assert len(engine.step("upload", requests)[0]) == 3
    engine.journals = before
    assert engine.step("upload", requests) == ({}, dict.fromkeys(NAMES, "OutOfTurn"))
    assert "already uploaded" in sentence(kits)
    assert "audit.jsonl" in sentence(kits)


def test_a_journal_that_is_rolled_back_with_its_audit_log_does_not_upload_again(kits, data):
    engine, requests = until_upload(kits, data)
    before = dict(engine.journals)
    log = kits / "lab-a" / "results" / "run" / "audit.jsonl"
    lines = log.read_bytes()
    engine.step("upload", requests)
    engine.journals = before
    log.write_bytes(lines)
    assert engine.step("upload", {"lab-a": requests["lab-a"]})[1] == {"lab-a": "OutOfTurn"}
    assert "ledger.json" in sentence(kits)


def test_a_copied_kit_does_not_upload_again(kits, data, tmp_path):
    engine, requests = until_upload(kits, data)
    copy = shutil.copytree(kits / "lab-a", tmp_path / "copy")
    journal = engine.journals["lab-a"]
    assert engine.step("upload", requests)[1] == {}
    engine.journals["lab-a"] = journal
    run = engine.site("lab-a", copy)
    assert run.answer("upload", requests["lab-a"]) == (None, "OutOfTurn")


def test_an_upload_that_the_server_calls_by_another_name_is_noted_too(kits, data):
    engine, requests = until_upload(kits, data)
    assert len(engine.step("confirm", requests)[0]) == 3
    assert len(ledger.uploads()) == 3
    assert Kit.open(kits / "lab-a").has_uploaded


def test_the_ledger_is_written_before_the_upload_leaves_and_is_its_owners(kits, data):
    engine, requests = until_upload(kits, data)
    assert ledger.uploads() == []
    site = engine.site("lab-a")
    site.answer("upload", requests["lab-a"])
    (noted,) = ledger.uploads()
    assert (noted.study, noted.kit) == ("A test", str(kits / "lab-a"))
    assert noted.session == consent.read(site.results / "consent.json").session
    assert ledger.ledger_file().stat().st_mode & 0o077 == 0
    assert ledger.ledger_file().parent.stat().st_mode & 0o077 == 0


# The ledger itself


def test_without_a_ledger_nothing_is_uploaded(kits, data, tmp_path, monkeypatch):
    engine, requests = until_upload(kits, data)
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "file"))
    assert engine.step("upload", requests)[0] == {}
    assert "nothing was uploaded" in sentence(kits)
    assert not Kit.open(kits / "lab-a").has_uploaded
    # it has not happened: once the ledger can be written, it does
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    assert len(engine.step("upload", requests)[0]) == 3


def test_a_damaged_ledger_is_not_taken_for_an_empty_one(kits, data):
    engine, requests = until_upload(kits, data)
    ledger.ledger_file().parent.mkdir()
    ledger.ledger_file().write_text("{")
    assert engine.step("upload", requests)[0] == {}
    assert "is damaged" in sentence(kits)
    asked = client(kits, data["lab-b"], name="lab-b")
    assert asked.returncode == 2
    assert "is damaged" in asked.stderr


def test_of_many_at_once_one_uploads():
    def upload(session):
        return ledger.Upload(
            session=session, time="", study="s", study_hash="00", kit="k", product="model",
            file="f", cells="",
        )  # fmt: skip

    def attempt(number):
        try:
            ledger.record(upload(f"session {number % 4}"), agreed=[])
        except (NoConsent, OutOfTurn):
            return False
        return True

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(attempt, range(16))) == 1
    assert len(ledger.uploads()) == 1


def test_a_person_without_a_home_is_told_what_to_do(monkeypatch):
    def homeless():
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setenv("XDG_STATE_HOME", "")
    monkeypatch.setattr(Path, "home", homeless)
    with pytest.raises(InvalidInput, match="XDG_STATE_HOME"):
        ledger.ledger_file()


# Encoder studies: one session, many uploads


def test_the_sums_of_one_session_upload_once_each_and_a_second_session_does_not(tmp_path):
    kits, data = make_frame_kits(tmp_path, NAMES)
    engine = Restarting(kits, NAMES)
    server = Kit.open(kits / "server")
    coordinate(server, "run", engine, 1.0, lambda progress: None)
    assert [upload.rounds for upload in ledger.uploads()] == [3, 3, 3]
    # with everything rolled back but the ledger, no sum is uploaded again
    rolled_back = Restarting(kits, NAMES, run="again")
    for name in NAMES:
        old, new = (kits / name / "results" / run for run in ("run", "again"))
        agree(kits, name, data)
        new.mkdir()
        shutil.copy(old / "consent.json", new / "consent.json")
        shutil.move(kits / name / "holdings.bin", new / "holdings.bin")
    with pytest.raises(FedhullError):
        coordinate(server, "again", rolled_back, 1.0, lambda progress: None)
    assert "already uploaded" in sentence(kits, run="again")
