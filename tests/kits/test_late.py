"""What can still be had after a session: a model for a site that missed the end, another model for
the coordinator that has a sum."""

import json
import shutil

import pytest
from commands import fedhull
from conformance import agree, learned
from federations import draft, make_data
from frames import make_frame_kits
from restarting import Restarting

from fedhull.errors import InvalidInput
from fedhull.kits.fetch import published_run
from fedhull.kits.kit import Kit
from fedhull.kits.participant import coordinate
from fedhull.kits.provision import make_kits
from fedhull.learn.model import load_model
from fedhull.rounds.hulls import HullSums

NAMES = ["lab-a", "lab-b", "lab-c", "lab-d"]


class Dying(Restarting):
    """A site is killed after its upload, or at another step, and hears no more."""

    def __init__(self, kits, names, step="confirm"):
        super().__init__(kits, names)
        self.fatal, self.gone = step, False

    def step(self, kind, messages, timeout=0.0):
        self.gone = self.gone or kind == self.fatal
        reached = {name: m for name, m in messages.items() if not (self.gone and name == "lab-d")}
        replies, failures = super().step(kind, reached, timeout)
        return replies, failures | dict.fromkeys(messages.keys() - reached.keys(), "vanished")


def made_kits(folder):
    kits = make_kits(draft(NAMES), folder / "kits").folder
    data = make_data(folder, NAMES)
    for name in NAMES:
        agree(kits, name, data)
    return kits


@pytest.fixture
def kits(tmp_path):
    return made_kits(tmp_path)


@pytest.fixture(scope="module")
def after(tmp_path_factory):
    """The kits after a session, in which lab-d was killed at this step if one is named: for copies,
    since every session takes a while."""
    made = {}

    def kits_after(fatal=None):
        if fatal not in made:
            folder = tmp_path_factory.mktemp("session")
            with pytest.MonkeyPatch.context() as here:
                here.setenv("XDG_STATE_HOME", str(folder / "state"))
                kits = made_kits(folder)
                run(kits, Dying(kits, NAMES, fatal) if fatal else None)
            made[fatal] = kits
        return made[fatal]

    return kits_after


@pytest.fixture
def died(after, tmp_path):
    """Kits of a session in which lab-d was killed after its upload."""
    return shutil.copytree(after("confirm"), tmp_path / "died" / "kits")


@pytest.fixture
def results(after, tmp_path):
    """The coordinator's folder of a session with all sites."""
    kits = shutil.copytree(after(), tmp_path / "kits")
    return kits / "server" / "results" / "run"


def run(kits, engine=None):
    engine = engine or Restarting(kits, NAMES)
    coordinate(Kit.open(kits / "server"), "run", engine, 1.0, lambda progress: None)
    return kits / "server" / "results" / "run"


def fetch(kits, *words):
    return fedhull("client", kits / "lab-d", "--engine", "files", "--fetch", *words)


# A site that missed the end


@pytest.mark.parametrize("step", ["confirm", "unmask", "publish"])
def test_a_site_that_was_killed_after_its_upload_gets_its_model_later(kits, tmp_path, step):
    published = run(kits, Dying(kits, NAMES, step)) / "publication.bin"
    results = kits / "lab-d" / "results" / "run"
    kept = {name: results / name for name in ("receipt.bin", "holdings.bin")}
    assert all(path.stat().st_mode & 0o077 == 0 for path in kept.values())
    (tmp_path / "lab-d.npz").unlink()  # what waits in the kit is enough
    done = fetch(kits, "--publication", published, "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["site"] == "lab-d"
    there = load_model(kits / "lab-a" / "results" / "run" / "model.json")
    late = load_model(results / "model.json")
    assert sorted(late.classes_) == sorted(there.classes_)
    assert there.provenance_.survivors is not None
    assert late.provenance_.survivors is None, "it was not there when they were listed"
    page = (results / "report.html").read_text()
    assert "not known to a site that came late" in page
    assert "not in the sum" not in page
    assert not any(path.exists() for path in kept.values())


def test_nothing_is_sent_for_a_late_result_and_what_came_is_noted(died):
    published = died / "server" / "results" / "run" / "publication.bin"
    log = died / "lab-d" / "results" / "run" / "audit.jsonl"
    before = log.read_text().splitlines()
    fetch(died, "--publication", published)
    (line,) = log.read_text().splitlines()[len(before) :]
    assert (json.loads(line)["direction"], json.loads(line)["step"]) == ("received", "publish")


def test_without_an_upload_there_is_nothing_to_fetch(kits):
    published = run(kits, Dying(kits, NAMES, "upload")) / "publication.bin"
    done = fetch(kits, "--publication", published)
    assert done.returncode == 2
    assert "none has uploaded" in done.stderr


def test_a_publication_that_is_none_is_refused_and_the_right_one_still_serves(died, tmp_path):
    published = died / "server" / "results" / "run" / "publication.bin"
    whole = published.read_bytes()
    for content in (b"", whole[:-1], whole[:-1] + bytes([whole[-1] ^ 1])):
        (tmp_path / "bad").write_bytes(content)
        done = fetch(died, "--publication", tmp_path / "bad")
        assert done.returncode == 2
        assert "Traceback" not in done.stderr
    assert fetch(died, "--publication", tmp_path / "none").returncode == 2
    assert fetch(died, "--publication", published).returncode == 0


def test_an_engine_that_cannot_fetch_says_what_to_ask_for(died):
    done = fedhull("client", died / "lab-d", "--engine", "flower", "--fetch")
    assert done.returncode == 2
    assert "publication.bin" in done.stderr or "extra" in done.stderr


def hand_out(kits, *words):
    return fedhull("server", kits / "server", "--engine", "files", "--publish", *words)


def test_a_coordinator_hands_out_complete_runs_only(kits, died):
    assert "nothing can be handed out" in hand_out(kits).stderr
    results = died / "server" / "results" / "run"
    assert published_run(Kit.open(died / "server")) == results
    done = hand_out(died, "--run", "other")
    assert done.returncode == 2
    assert "got 'other'; there is run" in done.stderr
    (results / "status.json").write_text('{"error": "BadShares", "sentence": ""}')
    assert "nothing can be handed out" in hand_out(died).stderr


def test_the_newest_run_is_handed_out_unless_another_is_named(results):
    fedhull("learn", results)
    server = Kit.open(results.parents[1])
    assert published_run(server).name == "run-learned-1"
    assert published_run(server, "run").name == "run"


def test_an_engine_that_cannot_hand_out_says_what_to_send(died):
    results = died / "server" / "results" / "run"
    done = hand_out(died)
    assert done.returncode == 2
    assert str(results / "publication.bin") in done.stderr


def test_a_new_consent_gives_up_on_the_late_result(kits, tmp_path):
    run(kits, Dying(kits, NAMES))
    agree(kits, "lab-d", {"lab-d": tmp_path / "lab-d.npz"}, again=True)
    assert not list((kits / "lab-d" / "results").rglob("*.bin"))


def test_a_site_of_an_encoder_study_gets_the_encoder_later(tmp_path):
    class DyingInTheLastSum(Dying):
        def step(self, kind, messages, timeout=0.0):
            self.sums = getattr(self, "sums", 0) + (kind == "advertise")
            self.fatal = "publish" if self.sums == 3 else ""
            return super().step(kind, messages, timeout)

    kits, _ = make_frame_kits(tmp_path, NAMES)
    published = run(kits, DyingInTheLastSum(kits, NAMES)) / "publication.bin"
    done = fetch(kits, "--publication", published, "--json")
    assert done.returncode == 0, done.stderr
    encoders = [kits / name / "results" / "run" / "encoder.npz" for name in ("lab-a", "lab-d")]
    assert encoders[0].read_bytes() == encoders[1].read_bytes()


# A coordinator that has a sum


def test_the_sum_is_kept_for_its_owner_only(results):
    assert (results / "sum.bin").stat().st_mode & 0o077 == 0


def test_learning_again_with_the_same_settings_gives_the_same_model(results):
    done = fedhull("learn", results, "--json")
    assert done.returncode == 0, done.stderr
    made = results.with_name("run-learned-1")
    assert json.loads(done.stdout)["results"] == str(made)
    assert learned(made / "model.json") == learned(results / "model.json")
    assert (made / "report.html").exists()
    assert (made / "result.json").exists()


def test_learning_again_with_other_settings_gives_another_model(results, tmp_path):
    out = tmp_path / "other"
    done = fedhull("learn", results, "--method", "poincare-svm", "--strength", "0.5", "--out", out)
    assert done.returncode == 0, done.stderr
    assert learned(out / "model.json") != learned(results / "model.json")


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--method", "magic"], "method must be one of"),
        (["--grouping", "magic"], "grouping must be one of"),
        (["--strength", "-1"], "strength"),
        (["--strength", "nan"], "strength"),
        (["--classes", "-1"], "classes"),
        (["--classes", "2"], "classes"),
    ],
)
def test_settings_that_are_none_are_refused_and_leave_no_folder(results, words, sentence):
    done = fedhull("learn", results, *words)
    assert done.returncode == 2
    assert sentence in done.stderr
    assert not results.with_name("run-learned-1").exists()


def test_a_folder_without_a_sum_or_with_something_in_it_is_refused(results, tmp_path):
    assert "does not exist" in fedhull("learn", tmp_path).stderr
    assert "not empty" in fedhull("learn", results, "--out", tmp_path).stderr
    (results / "sum.bin").write_bytes(b"\xff" * 40)
    assert "damaged" in fedhull("learn", results).stderr


def test_if_learning_fails_the_sum_is_not_lost_and_sites_get_a_model_all_the_same(
    kits, monkeypatch
):
    def fail(*of_the_sum):
        raise InvalidInput("no boundary separates the classes")

    with monkeypatch.context() as patch:
        patch.setattr(HullSums, "learn", fail)
        with pytest.raises(InvalidInput, match=r"no boundary.*'fedhull learn"):
            run(kits)
    results = kits / "server" / "results" / "run"
    status = json.loads((results / "status.json").read_text())
    assert "The opened sum is kept" in status["sentence"]
    done = fedhull("learn", results)
    assert done.returncode == 0, done.stderr
    published = results.with_name("run-learned-1") / "publication.bin"
    assert str(published) in done.stdout
    assert fetch(kits, "--publication", published).returncode == 0
    assert (kits / "lab-d" / "results" / "run" / "model.json").exists()
