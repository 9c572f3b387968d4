"""Commands of other packages: found by name, loaded late, and of no harm to fedhull's own."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

FEDHULL = str(Path(sys.executable).with_name("fedhull"))
PACKAGE = """
from fedhull.extend import Command, out

GREET = Command("stranger:greet", "Greet somebody.")
LOST = Command("stranger:nothing", "Call what is not there.")
STRANGE = Command("stranger:strange", "Take what no command line can.")


def greet(name: str = "you") -> None:
    "Greet somebody."
    out.print(f"Hello {name}")


def strange(what: type(greet)) -> None:
    "Take what no command line can."
"""
ENTRIES = """
[fedhull.commands]
absent = not_installed:COMMAND
bench = stranger:GREET
ends = ending:COMMAND
greet = stranger:GREET
lost = stranger:LOST
plain = stranger:greet
simulate = stranger:GREET
strange = stranger:STRANGE
"""
BROKEN = {
    "absent": "ModuleNotFoundError: No module named 'not_installed'",
    "ends": "SystemExit",
    "lost": "AttributeError",
    "plain": "its entry point names no Command",
    "strange": "Type not yet supported",
}


@pytest.fixture(scope="module")
def stranger(tmp_path_factory):
    """A folder with a package that adds good and bad commands."""
    folder = tmp_path_factory.mktemp("site-packages")
    (folder / "stranger.py").write_text(PACKAGE)
    (folder / "ending.py").write_text("import sys\nsys.exit('no')\n")
    metadata = folder / "stranger-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: stranger\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text(ENTRIES)
    return folder


@pytest.fixture
def fedhull(stranger):
    """Runs `fedhull` where that package is installed."""

    def run(*words, **more):
        return subprocess.run(
            [FEDHULL, *words],
            env=os.environ | {"PYTHONPATH": str(stranger), "COLUMNS": "300"} | more,
            capture_output=True,
            text=True,
        )

    return run


def test_help_lists_good_commands_and_says_which_cannot_be_loaded(fedhull):
    done = fedhull("--help")
    assert done.returncode == 0
    assert "Greet somebody." in done.stdout
    assert "Write the report page" in done.stdout
    for name in ("absent", "ends", "plain"):
        assert f"(the command '{name}', which another package adds, cannot be" in done.stdout
    assert "Traceback" not in done.stdout + done.stderr


def test_a_good_command_runs_with_the_options_that_all_have(fedhull):
    assert fedhull("greet", "--name", "Ada", "--quiet").stdout == "Hello Ada\n"
    assert "--name" in fedhull("greet", "--help").stdout


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_command_is_a_sentence(fedhull, name):
    done = fedhull(name, "--json")
    assert done.returncode == 2
    assert f"fedhull: the command '{name}', which another package adds" in done.stderr
    assert BROKEN[name] in done.stderr
    assert "Traceback" not in done.stderr
    assert json.loads(done.stdout)["error"]["kind"] == "InvalidInput"


@pytest.mark.parametrize("name", ["simulate", "bench"])
def test_no_other_package_takes_the_name_of_an_own_command(fedhull, name):
    shown = fedhull(name, "--help").stdout
    assert "Greet" not in shown
    assert ("federated study" if name == "simulate" else "against peers") in shown


@pytest.mark.parametrize(
    ("typed", "completed"),
    [("gr", {"greet"}), ("ab", {"absent"}), ("absent --", {"--help"}), ("greet --na", {"--name"})],
)
def test_a_shell_completes_added_commands(fedhull, typed, completed):
    words = f"fedhull {typed}"
    asked = {"COMP_WORDS": words, "COMP_CWORD": str(len(words.split()) - 1)}
    done = fedhull(_FEDHULL_COMPLETE="complete_bash", **asked)
    assert set(done.stdout.split()) == completed
    assert not done.stderr


@pytest.mark.parametrize(
    ("word", "unwanted"),
    [
        ("--help", {"fedhull_lab.bench", "fedhull_lab.reproduce", "numpy"}),
        ("--version", {"fedhull_lab", "importlib.metadata", "fedhull.registry"}),
    ],
)
def test_what_is_only_listed_is_not_imported(word, unwanted):
    code = (
        "import atexit, sys\n"
        "from fedhull.cli.app import main\n"
        f"atexit.register(lambda: print('loaded', sorted({unwanted} & set(sys.modules))))\n"
        "main()\n"
    )
    done = subprocess.run([sys.executable, "-c", code, word], capture_output=True, text=True)
    assert done.stdout.splitlines()[-1] == "loaded []"
