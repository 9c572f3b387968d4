"""The table of commands: what is listed is what is there, and nothing is imported too early."""

import inspect
import re
import subprocess
import sys

import pytest
import typer
from commands import COMMANDS, fedhull

from fedhull.study.draft import default_of

HEAVY = {"matplotlib", "numba", "numpy", "scipy", "sklearn"}


@pytest.fixture(autouse=True)
def wide(monkeypatch):
    """A terminal in which no line is broken."""
    monkeypatch.setenv("COLUMNS", "200")


@pytest.mark.parametrize("name", COMMANDS)
def test_a_help_line_is_the_first_sentence_of_the_docstring(name):
    part = COMMANDS[name].load()
    words = part.info.help if isinstance(part, typer.Typer) else inspect.getdoc(part)
    first = re.split(r"(?<=\.)\s", words)[0]
    assert COMMANDS[name].help == " ".join(first.split())


def test_help_lists_every_command_with_its_line():
    shown = fedhull("--help").stdout
    for name, entry in COMMANDS.items():
        assert re.search(rf"{name} +{re.escape(entry.help)}", shown)


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_a_help_page_of_its_own(name):
    shown = fedhull(name, "--help")
    assert shown.returncode == 0
    assert f"fedhull {name}" in shown.stdout
    assert COMMANDS[name].help in shown.stdout
    assert "--install-completion" not in shown.stdout


def test_without_arguments_help_is_shown():
    assert "reproduce" in fedhull().stdout


def test_version_prints_the_version():
    assert fedhull("--version").stdout.startswith("fedhull 0.")


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["simulat"], "No such command 'simulat'. Did you mean 'simulate'?"),
        (["Demo"], "No such command 'Demo'. Did you mean 'demo'?"),
        (["bench", "hul"], "No such command 'hul'. Did you mean 'hull'?"),
        (["xyz"], "No such command 'xyz'."),
    ],
)
def test_a_wrong_name_gets_one_suggestion(words, sentence):
    done = fedhull(*words)
    assert done.returncode == 2
    assert sentence in done.stderr
    assert done.stderr.count("Did you mean") == sentence.count("Did you mean")


@pytest.mark.parametrize(
    ("typed", "completed"),
    [
        ("fedhull si", {"simulate"}),
        ("fedhull simulate --ep", {"--epsilon"}),
        ("fedhull bench hu", {"hull"}),
        ("fedhull nothing --ep", set()),
    ],
)
def test_a_shell_completes_names_and_options(typed, completed, monkeypatch):
    monkeypatch.setenv("_FEDHULL_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", typed)
    monkeypatch.setenv("COMP_CWORD", str(len(typed.split()) - 1))
    assert set(fedhull().stdout.split()) == completed


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["simulat"], "Did you mean 'simulate'?"),
        (["--help"], "reproduce"),
        (["predict", "missing.json", "x.csv"], "missing.json cannot be read as a model"),
        (["predict", __file__, "x.csv"], "x.csv cannot be read as points"),
    ],
)
def test_a_mistake_or_a_help_page_loads_no_heavy_library(words, sentence):
    code = (
        "import atexit, sys\n"
        "from fedhull.cli.app import main\n"
        f"atexit.register(lambda: print('loaded', sorted({HEAVY} & set(sys.modules))))\n"
        "main()\n"
    )
    done = subprocess.run([sys.executable, "-c", code, *words], capture_output=True, text=True)
    assert sentence in done.stdout + done.stderr
    assert done.stdout.splitlines()[-1] == "loaded []"


def test_the_help_of_simulate_loads_the_study_and_its_defaults_but_nothing_that_learns():
    code = (
        "import atexit, sys\n"
        "from fedhull.cli.app import main\n"
        "atexit.register(lambda: print('loaded', {'scipy.stats', 'sklearn'} & set(sys.modules)))\n"
        "main()\n"
    )
    words = [sys.executable, "-c", code, "simulate", "--help"]
    shown = subprocess.run(words, capture_output=True, text=True).stdout
    assert default_of("guard") in shown
    assert shown.splitlines()[-1] == "loaded set()"
