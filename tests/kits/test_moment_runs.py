"""Studies of moments from kits: two sums under one consent, whatever happens to the processes."""

import json
import shutil

import numpy as np
import pytest
from commands import fedhull
from conformance import agree, in_memory, learned, sites_in_memory
from federations import AGREED, ALIGNED, MOMENTS, draft, make_data
from restarting import Restarting

from fedhull.errors import BelowThreshold, InvalidInput
from fedhull.kits import ledger
from fedhull.kits.audit import read_audit
from fedhull.kits.journal import Journal
from fedhull.kits.kit import Kit
from fedhull.kits.participant import coordinate
from fedhull.kits.provision import make_kits
from fedhull.learn.model import model_to_json
from fedhull.learn.moment_classifier import MomentClassifier
from fedhull.protocol.drive import MemoryEngine
from fedhull.protocol.keys import Randomness
from fedhull.rounds.run import run_study
from fedhull.study.task import Source

NAMES = ["lab-a", "lab-b", "lab-c", "lab-d"]
THREE = NAMES[:3]


@pytest.fixture
def data(tmp_path):
    return make_data(tmp_path, NAMES)


@pytest.fixture
def kits(tmp_path, data):
    return made_kits(tmp_path, data)


@pytest.fixture
def agreed_kits(tmp_path, data):
    return made_kits(tmp_path, data, AGREED)


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """Kits of a study that ran to its end, for tests that only look at them."""
    folder = tmp_path_factory.mktemp("finished")
    with pytest.MonkeyPatch.context() as here:
        here.setenv("XDG_STATE_HOME", str(folder / "state"))
        kits = made_kits(folder, make_data(folder, NAMES))
        run(kits)
    return kits


def made_kits(folder, data, extra="", study=MOMENTS):
    kits = make_kits(draft(NAMES, f"{study}\n{extra}"), folder / "kits").folder
    for name in NAMES:
        agree(kits, name, data)
    return kits


class Recording(Restarting):
    """Remembers what every site replied; `fatal` is the step of a sum at which lab-d is gone."""

    def __init__(self, kits, names, fatal=None):
        super().__init__(kits, names)
        self.replies = {name: [] for name in names}
        self.fatal, self.number, self.gone = fatal, 0, False

    def step(self, kind, messages, timeout=0.0):
        self.number += kind == "advertise"
        self.gone = self.gone or (kind, self.number) == self.fatal
        reached = {name: m for name, m in messages.items() if not (self.gone and name == "lab-d")}
        replies, failures = super().step(kind, reached, timeout)
        for name in reached:
            self.replies[name].append(replies.get(name))
        return replies, failures | dict.fromkeys(messages.keys() - reached.keys(), "vanished")


def run(kits, engine=None):
    engine = engine or Recording(kits, NAMES)
    outcome = coordinate(Kit.open(kits / "server"), "run", engine, 1.0, lambda progress: None)
    return outcome, engine


def results(kits, name="server"):
    return kits / name / "results" / "run"


def result(kits, name="server"):
    return json.loads((results(kits, name) / "result.json").read_text())


def test_a_new_process_for_each_message_gives_the_replies_of_one_that_lasts(kits, data):
    outcome, engine = run(kits)
    assert model_to_json(outcome.model) == model_to_json(in_memory(kits, data).model)
    for name in NAMES:
        kit, journal = Kit.open(kits / name), Journal.from_bytes(engine.journals[name])
        held = kit.task.read(Source(str(data[name])))
        site = kit.task.site(name, kit.identity, held, Randomness(journal.root))
        messages = [message for _, message in engine.seen[name]]
        assert [site.receive(message) for message in messages] == engine.replies[name]


def test_one_consent_covers_both_sums(kits):
    run(kits)
    for name in NAMES:
        sent = [e for e in read_audit(results(kits, name) / "audit.jsonl") if e.is_upload]
        assert len(sent) == 2
    assert [each.rounds for each in ledger.uploads()] == [2] * len(NAMES)
    # a second session finds no consent
    with pytest.raises(BelowThreshold):
        coordinate(
            Kit.open(kits / "server"), "more", Restarting(kits, NAMES, "more"), 1.0, lambda p: None
        )
    status = json.loads((kits / "lab-a" / "results" / "more" / "status.json").read_text())
    assert status["error"] == "NoConsent"


def test_a_second_session_is_asked_for_with_again(kits, data):
    run(kits)
    words = ("client", kits / "lab-a", "--data", data["lab-a"], "--yes", "--consent-only")
    done = fedhull(*words, "--engine", "files")
    assert done.returncode == 2
    assert "use --again" in done.stderr
    assert fedhull(*words, "--engine", "files", "--again").returncode == 0


@pytest.mark.parametrize("number", [1, 2])
def test_an_upload_that_cannot_be_noted_does_not_leave(kits, monkeypatch, number):
    record = ledger.record

    def full(upload, agreed):
        if "lab-d" in upload.kit and upload.rounds == number:
            raise InvalidInput("no space left")
        record(upload, agreed)

    monkeypatch.setattr(ledger, "record", full)
    outcome, _ = run(kits)
    assert outcome.survivors == THREE
    assert outcome.matched_sites == (THREE if number == 1 else NAMES)
    sent = [e for e in read_audit(results(kits, "lab-d") / "audit.jsonl") if e.is_upload]
    assert len(sent) == number - 1


def test_a_journal_from_before_the_second_upload_uploads_nothing(kits):
    class RolledBack(Recording):
        def step(self, kind, messages, timeout=0.0):
            if (kind, self.number) == ("upload", 2):
                self.old = self.journals["lab-d"]
            if (kind, self.number) == ("confirm", 2):
                self.journals["lab-d"] = self.old
                kind, message = next(e for e in reversed(self.seen["lab-d"]) if e[0] == "upload")
                self.again = self.site("lab-d").answer("upload", message)
                kind = "confirm"
            return super().step(kind, messages, timeout)

    _, engine = run(kits, RolledBack(kits, NAMES))
    assert engine.again == (None, "OutOfTurn")


# Late


@pytest.mark.parametrize(
    ("fatal", "in_second"),
    [(("confirm", 1), False), (("publish", 1), False), (("upload", 2), False),
     (("confirm", 2), True), (("publish", 2), True)],
)  # fmt: skip
def test_a_site_that_was_gone_after_its_first_upload_gets_the_model_later(
    kits, data, fatal, in_second
):
    run(kits, Recording(kits, NAMES, fatal))
    assert ("lab-d" in result(kits)["survivors"]) == in_second
    assert "lab-d" in result(kits)["matched_sites"]
    data["lab-d"].unlink()  # what waits in the kit is enough
    publication = results(kits) / "publication.bin"
    words = ("client", kits / "lab-d", "--engine", "files", "--fetch", "--publication", publication)
    done = fedhull(*words)
    assert done.returncode == 0, done.stderr
    assert "The model uses your class names: " in done.stderr
    assert result(kits, "lab-d")["tested"] > 0
    assert (results(kits, "lab-d") / "report.html").exists()
    assert not (results(kits, "lab-d") / "receipt.bin").exists()


@pytest.mark.slow
@pytest.mark.parametrize("fatal", [("confirm", 4), ("publish", 4)])
def test_a_late_site_has_its_cells_where_it_had_aligned_them(tmp_path, data, fatal):
    kits = made_kits(tmp_path, data, study=ALIGNED)
    run(kits, Recording(kits, NAMES, fatal))
    assert result(kits)["survivors"] == NAMES
    words = ("client", kits / "lab-d", "--engine", "files", "--fetch", "--publication")
    done = fedhull(*words, results(kits) / "publication.bin")
    assert done.returncode == 0, done.stderr
    sites = sites_in_memory(kits, data)
    server = Kit.open(kits / "server")
    run_study(server.task.coordinator(), MemoryEngine(sites), server.identity)
    late = result(kits, "lab-d")
    assert late["alignment"] == pytest.approx(np.array(sites[3].result()["alignment"]))
    assert late["correct"] == sites[3].finding.correct


def test_what_was_published_between_the_sums_is_no_result(kits, tmp_path):
    class Keeping(Recording):
        def step(self, kind, messages, timeout=0.0):
            if (kind, self.number) == ("publish", 1):
                shutil.copy(results(kits) / "publication.bin", tmp_path / "early.bin")
            return super().step(kind, messages, timeout)

    run(kits, Keeping(kits, NAMES, ("advertise", 2)))
    fetch = ("client", kits / "lab-d", "--engine", "files", "--fetch", "--publication")
    done = fedhull(*fetch, tmp_path / "early.bin")
    assert done.returncode == 2
    assert "is not of round learn" in done.stderr
    assert fedhull(*fetch, results(kits) / "publication.bin").returncode == 0


def test_a_late_site_of_a_study_with_agreed_names_gets_the_model(agreed_kits):
    run(agreed_kits, Recording(agreed_kits, NAMES, ("confirm", 1)))
    publication = results(agreed_kits) / "publication.bin"
    words = ("client", agreed_kits / "lab-d", "--engine", "files", "--fetch", "--publication")
    done = fedhull(*words, publication)
    assert done.returncode == 0, done.stderr
    assert "stem" in result(agreed_kits, "lab-d")["classes"].values()


# Learning again


@pytest.mark.parametrize("kind", ["kits", "agreed_kits"])
def test_learning_again_gives_the_same_model_and_a_publication_for_sites(kind, request):
    kits = request.getfixturevalue(kind)
    run(kits, Recording(kits, NAMES, ("confirm", 1)))
    done = fedhull("learn", results(kits), "--json")
    assert done.returncode == 0, done.stderr
    made = results(kits).with_name("run-learned-1")
    assert learned(made / "model.json") == learned(results(kits) / "model.json")
    fetch = ("client", kits / "lab-d", "--engine", "files", "--fetch", "--publication")
    assert fedhull(*fetch, made / "publication.bin").returncode == 0
    assert (results(kits, "lab-d") / "model.json").exists()


@pytest.mark.parametrize(
    "words",
    [["--method", "lorentz"], ["--method", "magic"], ["--grouping", "matching"],
     ["--strength", "0.5"], ["--classes", "6"]],
)  # fmt: skip
def test_what_cannot_be_chosen_again_is_refused_in_a_sentence(finished, words):
    done = fedhull("learn", results(finished), *words)
    assert done.returncode == 2
    assert f"{words[0]} cannot be chosen again" in done.stderr
    assert not results(finished).with_name("run-learned-1").exists()


def test_if_learning_fails_the_totals_are_kept_and_no_setting_is_suggested(kits, monkeypatch):
    def fail(*args, **settings):
        raise InvalidInput("no classifier")

    with monkeypatch.context() as patch:
        patch.setattr(MomentClassifier, "from_moments", fail)
        with pytest.raises(InvalidInput, match=r"no classifier\. The opened sum is kept") as told:
            run(kits)
    assert "--method" not in str(told.value)
    assert fedhull("learn", results(kits)).returncode == 0
    published = results(kits).with_name("run-learned-1") / "publication.bin"
    fetch = ("client", kits / "lab-a", "--engine", "files", "--fetch", "--publication")
    assert fedhull(*fetch, published).returncode == 0


def test_nothing_is_kept_of_a_first_sum_that_could_not_be_matched(kits, monkeypatch):
    def fail(*args, **settings):
        raise InvalidInput("no match")

    monkeypatch.setattr("fedhull.rounds.match.match", fail)
    with pytest.raises(InvalidInput, match=r"^no match$"):
        run(kits)
    assert not (results(kits) / "sum.bin").exists()


def test_doubtful_matches_are_named_at_the_end(finished):
    task = Kit.open(finished / "server").task
    ours, sites = result(finished), result(finished, "lab-a")
    assert "Careful" not in task.summarize(ours) + task.summarize(sites)
    ours["matches"][2]["doubtful"] = 1
    sites["matches"][2]["doubtful"] = True
    assert "put into class 3 belongs there" in task.summarize(ours)
    assert f"other sites: {sites['matches'][2]['name']}" in task.summarize(sites)
