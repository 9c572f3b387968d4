"""Without the extra `plot` everything but figures works, and figures say what to install."""

import json
import subprocess
import sys

import pytest

SENTENCE = "figures need matplotlib: pip install 'fedhull[plot]'"


def run_without_matplotlib(code, *arguments):
    hidden = f"import sys; sys.modules['matplotlib'] = None\n{code}"
    return subprocess.run(
        [sys.executable, "-c", hidden, *arguments], capture_output=True, text=True
    )


def fedhull(*arguments):
    return run_without_matplotlib("from fedhull.cli.app import main; main()", *arguments)


def test_everything_public_can_be_imported():
    run = run_without_matplotlib("from fedhull import *; print(pl.__name__)")
    assert run.stdout == "fedhull.pl\n", run.stderr


@pytest.mark.parametrize(
    "call",
    [
        "pl.disc([[0.1, 0.2]])",
        "pl.hulls([[0.1, 0.2]])",
        "pl.bins([[0.1, 0.2]], epsilon=0.1)",
        "pl.boundaries(None)",
        "pl.tradeoff([0.1], [90.0])",
    ],
)
def test_every_figure_names_the_extra(call):
    run = run_without_matplotlib(f"from fedhull import pl; {call}")
    assert run.returncode == 1
    assert run.stderr.splitlines()[-1] == f"fedhull.errors.MissingExtra: {SENTENCE}"


@pytest.mark.slow
def test_the_demo_leaves_out_the_picture_and_says_so(tmp_path):
    run = fedhull("demo", "--out", str(tmp_path))
    assert run.returncode == 0, run.stderr
    words = " ".join(run.stdout.split())
    assert f"No picture of the decoded hulls: {SENTENCE}" in words
    assert {path.name for path in tmp_path.iterdir()} == {
        "model.json",
        "moments",
        "report.html",
        "result.json",
    }


@pytest.mark.slow
def test_the_demo_names_no_picture_that_is_not_there(tmp_path):
    run = fedhull("demo", "--json", "--out", str(tmp_path))
    assert run.returncode == 0, run.stderr
    result = json.loads(run.stdout)
    assert "picture" not in result
    assert result["model"] == str(tmp_path / "model.json")


def test_reproduce_lists_its_experiments_and_runs_none(tmp_path):
    assert "olsson" in fedhull("reproduce").stdout
    run = fedhull("reproduce", "complexity", "--quick", "--out", str(tmp_path))
    assert run.returncode == 2
    assert " ".join(run.stderr.split()).endswith(f"fedhull: {SENTENCE}")
    assert list(tmp_path.iterdir()) == []
