"""What scripts and administrators count on: exit codes, errors as JSON, silence on request."""

import io
import json
import os
import signal
import subprocess
import sys
from contextlib import suppress

import pytest
from commands import COMMANDS, fedhull, invite
from federations import draft, make_data

from fedhull import errors
from fedhull.cli import app, keygen
from fedhull.cli.console import Terminal, note, progress_bar, spinner
from fedhull.engines.files.runner import FilesRunner
from fedhull.errors import FedhullError
from fedhull.kits.results import write_status

NAMES = ["lab-a", "lab-b", "lab-c"]


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    """A folder with kits for files, data, and the draft."""
    folder = tmp_path_factory.mktemp("study")
    (folder / "study.toml").write_text(draft(NAMES))
    make_data(folder, NAMES)
    done = fedhull(
        "provision", folder / "study.toml", "--out", folder / "kits", "--engine", "files"
    )
    assert done.returncode == 0, done.stderr
    return folder


# Exit codes.


@pytest.mark.parametrize(
    ("kind", "code"),
    [
        ("InvalidInput", 2),
        ("OutsideDisc", 2),
        ("MissingExtra", 2),
        ("BadIdentity", 2),
        ("ServerUnreachable", 3),
        ("ProtocolError", 4),
        ("BelowThreshold", 4),
        ("UnknownLabelSum", 4),
        ("EngineFailure", 4),
        ("ConnectionDropped", 4),
        ("Declined", 5),
        ("Stopped", 130),
    ],
)
def test_the_kind_of_an_error_decides_the_exit_code(kind, code, monkeypatch):
    def fails(*_, **__):
        raise getattr(errors, kind)("a sentence")

    monkeypatch.setattr("fedhull.protocol.keys.Identity.generate", fails)
    done = fedhull("keygen", "lab-a", "--json")
    assert done.returncode == code
    assert "fedhull: a sentence" in done.stderr
    assert json.loads(done.stdout) == {
        "error": {"kind": kind, "message": "a sentence", "exit_code": code}
    }


def test_every_error_has_one_of_the_documented_exit_codes():
    found = [FedhullError]
    for each in found:
        found += each.__subclasses__()
    assert {each.exit_code for each in found} == {2, 3, 4, 5, 130}


def test_a_study_that_ended_without_a_result_is_4_and_names_what_ended_it(study, monkeypatch):
    def ended(self, kit, options, say):
        results = kit.results("ended")
        write_status(results, "InvalidInput", "the data do not fit")
        return results

    monkeypatch.setattr(FilesRunner, "serve", ended)
    done = fedhull("server", study / "kits" / "server", "--engine", "files", "--json")
    assert done.returncode == 4
    assert json.loads(done.stdout)["error"]["kind"] == "InvalidInput"
    assert "InvalidInput: the data do not fit" in done.stderr


# Errors as JSON.


@pytest.mark.parametrize(
    ("words", "kind", "sentence"),
    [
        (["simulate"], "WrongUse", "Missing option"),
        (["simulat"], "WrongUse", "Did you mean 'simulate'?"),
        (["bench", "hul"], "WrongUse", "Did you mean 'hull'?"),
        (["predict", "x", "y", "--colour"], "WrongUse", "No such option"),
        (["keygen", "lab-a", "--out", "nowhere"], "InvalidInput", "No such file"),
        (["report", "nowhere"], "InvalidInput", "nowhere cannot be read"),
    ],
)
def test_with_json_an_error_is_one_object_and_a_sentence_on_standard_error(words, kind, sentence):
    done = fedhull(*words, "--json")
    error = json.loads(done.stdout)["error"]
    assert (error["kind"], error["exit_code"], done.returncode) == (kind, 2, 2)
    assert sentence in error["message"]
    assert sentence in " ".join(done.stderr.split())


def test_without_json_an_error_prints_nothing_on_standard_output():
    assert fedhull("report", "nowhere").stdout == ""


def test_a_word_after_two_dashes_is_no_option(tmp_path):
    done = fedhull("report", "--", "--json", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")


def test_with_json_a_bug_is_an_object_too(monkeypatch, capsys):
    def bug(*_, **__):
        raise AssertionError("should not happen")

    monkeypatch.setattr("fedhull.protocol.keys.Identity.generate", bug)
    monkeypatch.setattr(sys, "argv", ["fedhull", "keygen", "lab-a", "--json"])
    with pytest.raises(AssertionError):
        app.main()
    error = json.loads(capsys.readouterr().out)["error"]
    assert (error["kind"], error["exit_code"]) == ("InternalError", 1)


# Ctrl-C.


@pytest.mark.parametrize("words", [[], ["--json"]])
def test_ctrl_c_is_a_sentence_and_130(monkeypatch, words):
    def interrupted(*_, **__):
        os.kill(os.getpid(), signal.SIGINT)

    monkeypatch.setattr("fedhull.protocol.keys.Identity.generate", interrupted)
    done = fedhull("keygen", "lab-a", *words)
    assert done.returncode == 130
    assert done.stderr == "fedhull: stopped\n"
    assert done.stdout == "" if not words else json.loads(done.stdout)["error"]["kind"] == "Stopped"


def test_ctrl_c_while_a_command_is_imported_is_a_sentence_too():
    code = (
        "import os, signal, sys\n"
        "from fedhull.cli.app import main\n"
        "class Slow:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name == 'fedhull.cli.keygen':\n"
        "            os.kill(os.getpid(), signal.SIGINT)\n"
        "sys.meta_path.insert(0, Slow())\n"
        "main()\n"
    )
    words = [sys.executable, "-c", code, "keygen", "lab-a"]
    done = subprocess.run(words, capture_output=True, text=True)
    assert done.returncode == 130
    assert done.stderr == "fedhull: stopped\n"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_server_that_is_stopped_says_so(study, monkeypatch, number):
    cleaned = []

    def serve(self, kit, options, say):
        try:
            os.kill(os.getpid(), number)
        finally:
            cleaned.append(True)

    monkeypatch.setattr(FilesRunner, "serve", serve)
    done = fedhull("server", study / "kits" / "server", "--engine", "files")
    assert done.returncode == 130
    assert "fedhull: stopped" in done.stderr
    assert cleaned


# Short options and silence.


@pytest.mark.parametrize(
    "words", [[], ["bench"], ["bench", "hull"], *([name] for name in COMMANDS)]
)
def test_h_is_help(words):
    assert fedhull(*words, "-h").stdout == fedhull(*words, "--help").stdout


def test_capital_v_is_the_version():
    assert fedhull("-V").stdout == fedhull("--version").stdout


@pytest.mark.parametrize("name", [*COMMANDS, "bench hull"])
def test_every_command_can_be_quiet(name):
    assert "--quiet" in fedhull(*name.split(), "--help").stdout


@pytest.mark.parametrize("before", [True, False])
def test_a_quiet_command_prints_what_was_asked_for_and_no_progress(study, tmp_path, before):
    words = ["client", study / "kits" / "lab-a", "--engine", "files", "--yes"]
    words += ["--data", study / "lab-a.npz", "--consent-only"]
    loud = fedhull(*words)
    quiet = fedhull("--quiet", *words) if before else fedhull(*words, "--quiet")
    assert "Agreed" in loud.stderr
    assert quiet.returncode == 0
    assert "Agreed" not in quiet.stderr
    key = fedhull("--quiet", "keygen", "lab-a", "--out", tmp_path)
    assert 'lab-a = "' in key.stdout


def test_a_quiet_command_still_says_what_is_wrong_and_what_somebody_agrees_to(study):
    invite(study / "kits", NAMES)
    words = ["client", study / "kits" / "lab-b", "--data", study / "lab-b.npz"]
    done = fedhull(*words, "--quiet", answer="n\n")
    assert done.returncode == 5
    assert "Round learn" in done.stderr
    assert "fedhull: you did not agree" in done.stderr


@pytest.mark.parametrize("words", [["--quiet"], ["--json"]])
def test_bars_and_spinners_are_silent_on_request(words, monkeypatch, capsys):
    def shown():
        with progress_bar(quiet=False) as bar:
            bar.add_task("working")
        with spinner("working"):
            pass
        return capsys.readouterr().err

    screen = Terminal(stderr=True, force_terminal=True)
    monkeypatch.setattr("fedhull.cli.console.err", screen)
    monkeypatch.setattr(sys, "argv", ["fedhull", "x"])
    assert shown().count("working") >= 2
    monkeypatch.setattr(sys, "argv", ["fedhull", "x", *words])
    assert shown() == ""


def test_notes_are_silent_on_request_but_not_with_json(monkeypatch, capsys):
    for words, expected in (([], "so\n"), (["--json"], "so\n"), (["--quiet"], "")):
        monkeypatch.setattr(sys, "argv", ["fedhull", "x", *words])
        note("so")
        assert capsys.readouterr().err == expected


# The first line.


class Screen(io.TextIOWrapper):
    """Standard error as a terminal is."""

    def isatty(self):
        return True


@pytest.mark.parametrize("name", COMMANDS)
def test_on_a_terminal_a_line_appears_before_a_command_is_imported(name, monkeypatch):
    screen = Screen(io.BytesIO(), encoding="utf-8")
    seen = []

    def load(self):
        screen.flush()
        seen.append(screen.buffer.getvalue().decode())
        return keygen.keygen

    monkeypatch.setattr("fedhull.cli.group.Command.load", load)
    monkeypatch.setattr(sys, "stderr", screen)
    for words in ([name], [name, "--json"], [name, "--quiet"], [name, "--help"]):
        monkeypatch.setattr(sys, "argv", ["fedhull", *words])
        with suppress(SystemExit):
            app.main()
        screen.seek(0)
        screen.truncate()
    assert seen == [f"Starting fedhull {name} …\n", "", "", ""]
