"""No text of a study, a data file or a peer commands the terminal that it is shown on."""

import io
import json

import numpy as np
import pytest
from commands import fedhull
from federations import draft

from fedhull.cli.console import Terminal, progress_bar, showing
from fedhull.cli.engine import say
from fedhull.errors import InvalidInput
from fedhull.learn.model import save_model
from fedhull.learn.svm import EuclideanSVC
from fedhull.progress import Progress
from fedhull.study.kinds import study_from_toml
from fedhull.text import printable

ESCAPE = "\x1b[2J\x1b]0;owned\x07"
EVIL = {
    "escape": f"lab{ESCAPE}",
    "carriage return": "you send 9,000 points\rnothing",
    "C1": "lab\x9b31m",
    "delete": "lab\x7f",
    "right to left": "lab\u202egnp.x",
    "isolate": "lab\u2066a",
    "no width": "lab\u200bb",
    "byte order": "\ufefflab",
    "line separator": "lab\u2028b",
    "soft hyphen": "la\u00adb",
}
PLAIN = {"escape": "\\x1b", "right to left": "\\u202e", "C1": "\\x9b", "no width": "\\u200b"}


def obeyed(text: str) -> list[str]:
    """What in an output is not shown but obeyed."""
    return [c for c in text if not (c.isprintable() or c == "\n")]


@pytest.mark.parametrize("kind", EVIL)
def test_a_study_with_an_unseen_character_in_its_name_is_refused(kind):
    text = draft(["lab-a", "lab-b", "lab-c"]).replace('= ""', f'= "{"a" * 64}"')
    for i, site in enumerate(("lab-a", "lab-b", "lab-c")):
        text = text.replace(f'{site} = "{"a" * 64}"', f'{site} = "{i:064x}"')
    assert study_from_toml(text).name == "A test"
    name = json.dumps(EVIL[kind])  # JSON's escapes are TOML's
    with pytest.raises(InvalidInput, match="name must be plain text") as refusal:
        study_from_toml(text.replace('"A test"', name))
    assert not obeyed(str(refusal.value))


@pytest.mark.parametrize("setting", ["guard = 'trim:0.02\x1f'", 'guard = "trim:0.02\\u0085"'])
def test_no_text_of_a_study_holds_unseen_characters(setting):
    # Python reads "0.02\x85" as a number, so that the guard itself takes it
    text = draft(["lab-a", "lab-b", "lab-c"], f"[learning]\n{setting}")
    for i in range(3):
        text = text.replace('= ""', f'= "{i:064x}"', 1)
    with pytest.raises(InvalidInput):
        study_from_toml(text)


@pytest.mark.parametrize("kind", EVIL)
def test_what_is_printed_is_shown(kind):
    assert not obeyed(printable(EVIL[kind]))
    assert PLAIN.get(kind, "") in printable(EVIL[kind])
    for name in ("Zürich", "細胞", "B cell [CD19+] 🧬", "α–β ≤ 0.5"):
        assert printable(name) == name


@pytest.mark.parametrize("kind", EVIL)
def test_console_tables_and_progress_obey_nothing(kind, capsys, monkeypatch):
    from rich.table import Table

    shown = io.StringIO()
    terminal = Terminal(file=shown, force_terminal=True, color_system=None, width=200)
    terminal.print(EVIL[kind], soft_wrap=True)
    table = Table(title=EVIL[kind])
    table.add_column(EVIL[kind])
    table.add_row(EVIL[kind])
    terminal.print(table)
    assert not obeyed(shown.getvalue())
    say(EVIL[kind])
    assert not obeyed(capsys.readouterr().err)
    bar = progress_bar(quiet=False)
    showing(bar)(Progress(EVIL[kind], 1, 2))
    assert not obeyed(bar.tasks[0].description)


@pytest.mark.parametrize("name", ["[red]x", "[/]", "[link=https://a.org]x[/link]", ":warning:"])
def test_names_are_not_taken_for_markup(name, capsys):
    shown = io.StringIO()
    terminal = Terminal(file=shown, force_terminal=True, width=200)
    terminal.print(name)
    assert shown.getvalue() == f"{name}\n"
    say(name)
    assert capsys.readouterr().err == f"{name}\n"
    bar = progress_bar(quiet=False)
    showing(bar)(Progress(name, 1, 2))
    assert bar.columns[0](bar.tasks[0]).plain == name


@pytest.fixture
def kits(tmp_path):
    (tmp_path / "study.toml").write_text(draft(["lab-a", "lab-b", "lab-c"]))
    run = fedhull(
        "provision", tmp_path / "study.toml", "--out", tmp_path / "kits", "--engine", "files"
    )
    assert run.returncode == 0
    return tmp_path / "kits"


def test_the_consent_screen_obeys_no_study(kits, tmp_path):
    data = tmp_path / "data.npz"
    rng = np.random.default_rng(0)
    np.savez(data, x=rng.uniform(-0.5, 0.5, (60, 2)), y=np.array(["a", "b"] * 30))
    study = kits / "lab-a" / "study.toml"
    study.write_text(study.read_text().replace('"A test"', '"A \\u001b[2Jtest"'))
    run = fedhull("client", kits / "lab-a", "--data", data, "--engine", "files", answer="n\n")
    assert run.returncode == 2
    assert "must be plain text" in " ".join(run.stderr.split())
    assert not obeyed(run.stderr)


def test_errors_and_predictions_obey_no_data_file(tmp_path):
    names = np.array([f"T{ESCAPE}", "[red]B\u202e"])
    x, y = np.array([[0.5, 0.0], [-0.5, 0.0]] * 5), np.array([0, 1] * 5)
    model, data = tmp_path / "model.json", tmp_path / "data.npz"
    save_model(EuclideanSVC().fit(x, names[y]), model)
    np.savez(data, x=x, y=names[y])
    run = fedhull("predict", model, data)
    assert run.returncode == 0
    assert len(run.stdout.splitlines()) == 10
    assert "[red]B" in run.stdout
    assert not obeyed(run.stdout)
    exact = fedhull("predict", model, data, "--json")
    assert json.loads(exact.stdout)["classes"] == names[y].tolist()
    table = tmp_path / "data.csv"
    table.write_text(f"x1,x2,{EVIL['escape']}\n0.1,0.2,a\n", encoding="utf-8")
    run = fedhull("predict", model, table, "--label", "label")
    assert run.returncode == 2
    assert "lab" in run.stderr
    assert not obeyed(run.stderr)


def test_no_command_prints_past_the_terminal():
    """Every print of the command line is one of `Terminal`, of JSON, or of `printable` words."""
    import ast
    from pathlib import Path

    import fedhull.cli

    for file in Path(fedhull.cli.__file__).parent.glob("*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
                where = f"{file.name}:{node.lineno}"
                if node.func.attr == "echo":
                    words = ast.unparse(node.args[0])
                    known = ("json.dumps", "printable(", "__version__", "identity.public")
                    assert any(part in words for part in known), where
                assert ast.unparse(node.func) not in ("sys.stdout.write", "sys.stderr.write"), where
            if isinstance(node, ast.ImportFrom) and node.module == "rich.console":
                assert file.name == "console.py"
