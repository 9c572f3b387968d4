"""provision, server, client as a person meets them: sentences, exit codes, nothing left."""

import json
import os
import shutil
import signal

import pytest
from commands import fedhull, invite, process
from federations import draft, make_data
from frames import GENES, frame_draft, make_frame_files

from fedhull.engines.files.runner import FilesRunner

NAMES = ["lab-a", "lab-b", "lab-c"]


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    """A folder with kits for files, data, and the draft; every site has its first request."""
    folder = tmp_path_factory.mktemp("study")
    (folder / "study.toml").write_text(draft(NAMES))
    make_data(folder, NAMES)
    done = fedhull(
        "provision", folder / "study.toml", "--out", folder / "kits", "--engine", "files"
    )
    assert done.returncode == 0, done.stderr
    invite(folder / "kits", NAMES)
    return folder


def client(study, *words, answer="", kit="lab-a"):
    data = ("--data", study / "lab-a.npz")
    return fedhull("client", study / "kits" / kit, *data, *words, answer=answer)


def test_provision_shows_the_hash_that_the_client_shows(study):
    again = study / "again"
    made = fedhull("provision", study / "study.toml", "--out", again, "--engine", "files")
    invite(again, NAMES)
    shown = process("client", again / "lab-a", "--data", study / "lab-a.npz")
    (line,) = [line for line in made.stdout.splitlines() if "hash" in line]
    assert line.split("hash ")[1] in shown.stderr


def test_a_host_that_is_none_leaves_no_half_made_kits(study):
    kits = study / "half"
    done = fedhull("provision", study / "study.toml", "--out", kits, "--server", "https://x:1/")
    assert done.returncode == 2
    assert "--server must be a host name" in done.stderr
    assert not kits.exists()


# who declines is not wrong; where nobody is there to answer, the call is
@pytest.mark.parametrize(("answer", "code"), [("n\n", 5), ("\n", 5), ("maybe\n", 5), ("", 2)])
def test_without_a_yes_nothing_is_sent(study, answer, code):
    done = client(study, answer=answer)
    assert done.returncode == code
    assert "Round learn" in done.stderr
    assert "nothing was sent" in done.stderr
    assert done.stdout == ""
    assert not (study / "kits" / "lab-a" / "consent.json").exists()


def test_consent_is_never_asked_blind(study):
    done = client(study, "--json", answer="n\n")
    assert "Round learn" in done.stderr
    assert json.loads(done.stdout)["error"]["kind"] == "Declined"


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["client", "kits/server", "--data", "lab-a.npz"], "coordinator's kit"),
        (["server", "kits/lab-a"], "is the kit of lab-a"),
        (["client", "nowhere", "--data", "lab-a.npz"], "is not a kit"),
        (["client", "kits/lab-a"], "--data must name the file"),
        (["client", "kits/lab-a", "--data", "tree"], "must end in"),
        (["client", "kits/lab-a", "--data", "missing.csv"], "does not exist"),
        (["client", "kits/lab-a", "--data", "lab-a.npz", "--label", "kind"], "no column 'kind'"),
    ],
)
def test_mistakes_get_a_sentence(study, words, sentence):
    path = [study / w if (study / w.split("/")[0]).exists() or "/" in w else w for w in words]
    done = fedhull(*path)
    assert done.returncode == 2
    assert sentence in done.stderr
    assert "Traceback" not in done.stderr


def test_a_study_by_files_ends_with_exit_code_0_and_waits_with_3(study, tmp_path):
    # kits of its own: other tests count on those that nobody has used
    kits = shutil.copytree(study / "kits", tmp_path / "kits")
    codes = set()
    for _ in range(8):
        done = fedhull("server", kits / "server", "--mail", tmp_path / "mail", "--json")
        codes.add(done.returncode)
        if done.returncode == 0:
            break
        for name in NAMES:
            fedhull("client", kits / name, "--mail", tmp_path / "mail",
                    "--data", study / f"{name}.npz", "--yes")  # fmt: skip
    assert codes == {0, 3}
    assert json.loads(done.stdout)["survivors"] == NAMES
    report = (kits / "server" / "results" / "files" / "report.html").read_text()
    assert all(f'"name":"{name}"' in report for name in NAMES)


# An encoder study.


@pytest.fixture(scope="module")
def encoder_study(tmp_path_factory):
    """A folder with the draft of an encoder study, its list of genes and data; kits for FLARE."""
    folder = tmp_path_factory.mktemp("encoder")
    (folder / "study.toml").write_text(frame_draft(NAMES))
    (folder / "genes.txt").write_text("\n".join(GENES))
    make_frame_files(folder, NAMES)
    done = process("provision", folder / "study.toml", "--out", folder / "kits",
                   "--genes", folder / "genes.txt")  # fmt: skip
    assert done.returncode == 0, done.stderr
    return folder


def test_an_encoder_study_says_what_leaves_before_it_asks(encoder_study):
    kit, data = encoder_study / "kits" / "lab-a", encoder_study / "lab-a.npz"
    done = fedhull("client", kit, "--data", data, answer="n\n")
    assert done.returncode == 5
    for words in (
        "240 cells",
        "Round genes",
        "opened only as a total over at least 2 sites",
        "No cell",
        "nothing was",
    ):
        assert words in done.stderr


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["provision", "study.toml", "--out", "new"], "--genes FILE"),
        (["provision", "study.toml", "--out", "new", "--genes", "none.txt"], "cannot be read"),
        (["client", "kits/lab-a"], "--data must name the file"),
        (["client", "kits/lab-a", "--data", "lab-a.npz", "--layer", "counts"], "is for .h5ad"),
    ],
)
def test_mistakes_with_an_encoder_study_get_a_sentence(encoder_study, words, sentence):
    paths = {"study.toml", "new", "none.txt", "genes.txt", "kits/lab-a", "lab-a.npz"}
    done = fedhull(*(encoder_study / word if word in paths else word for word in words))
    assert done.returncode == 2
    assert sentence in done.stderr
    assert not list((encoder_study / "new").glob("*"))


# Stopping


def fresh_kit(study, folder):
    """A kit as it was sent."""
    unused = shutil.ignore_patterns("results", "consent.json", "holdings.bin")
    return shutil.copytree(study / "kits" / "lab-b", folder / "lab-b", ignore=unused)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_stopping_a_client_withdraws_the_consent_that_was_not_used(
    study, tmp_path, monkeypatch, number
):
    kit = fresh_kit(study, tmp_path)
    join = FilesRunner.join

    def stopped(self, opened, options, say):
        assert (kit / "consent.json").exists()
        os.kill(os.getpid(), number)
        return join(self, opened, options, say)

    monkeypatch.setattr(FilesRunner, "join", stopped)
    before = signal.getsignal(number)
    done = fedhull("client", kit, "--data", study / "lab-b.npz", "--yes")
    assert done.returncode == 130
    assert "withdrawn" in done.stderr
    assert not (kit / "consent.json").exists()
    assert not (kit / "holdings.bin").exists()
    assert signal.getsignal(number) == before
