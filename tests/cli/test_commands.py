"""The commands as a user meets them: real processes, their output, their exit codes."""

import json
import subprocess
import sys

import pytest

from fedhull.protocol.keys import Identity


def fedhull(*arguments: str, cwd=None) -> subprocess.CompletedProcess:
    command = [sys.executable, "-c", "from fedhull.cli.app import main; main()", *arguments]
    return subprocess.run(command, capture_output=True, text=True, cwd=cwd)


def test_demo_says_what_left_and_what_is_not_built_yet(tmp_path):
    run = fedhull("demo", cwd=tmp_path)
    assert run.returncode == 0, run.stderr
    assert "exactly those that were sent" in run.stdout
    assert "not\nbuilt yet" in run.stdout
    assert (tmp_path / "fedhull-demo" / "hulls.svg").read_text().startswith("<?xml")


def test_demo_json_is_json_and_nothing_else(tmp_path):
    run = fedhull("demo", "--json", "--out", str(tmp_path))
    assert run.stderr == ""
    result = json.loads(run.stdout)
    leakage = result["leakage"]
    assert result["decoded_exactly"] is True
    assert result["hulls_at_server"] == 6
    assert leakage["points_sent"] == sum(row["bins_sent"] for row in result["sites"])
    assert leakage["points_total"] == sum(row["points_held"] for row in result["sites"])
    assert 0 < leakage["ratio"] < 0.2


def test_same_seed_same_demo(tmp_path):
    runs = [fedhull("demo", "--json", "--seed", "5", "--out", str(tmp_path)) for _ in range(2)]
    assert runs[0].stdout == runs[1].stdout


def test_plan_names_the_label_code_and_why():
    run = fedhull("plan", "--clients", "3", "--classes", "2", "--epsilon", "0.1")
    assert "Label code: binary, because the binary code cannot fail" in run.stdout
    many = fedhull("plan", "--clients", "100", "--classes", "4", "--json")
    assert json.loads(many.stdout)["label_code"].startswith("bose-chowla:")
    forced = fedhull("plan", "--clients", "5", "--classes", "4", "--label-code", "bose-chowla:3")
    assert "bose-chowla:3, because it was asked for" in forced.stdout


def test_keygen_writes_a_private_file_once(tmp_path):
    run = fedhull("keygen", "lab-a", "--out", str(tmp_path))
    assert run.returncode == 0, run.stderr
    key = tmp_path / "lab-a.key"
    assert key.stat().st_mode & 0o777 == 0o600
    public = Identity.from_pem(key.read_bytes()).public
    assert f'lab-a = "{public}"' in run.stdout
    assert "PRIVATE" not in run.stdout
    again = fedhull("keygen", "lab-a", "--out", str(tmp_path))
    assert again.returncode == 2
    assert "never overwritten" in again.stderr
    assert Identity.from_pem(key.read_bytes()).public == public


def test_bench_bytes_compares_four_ways():
    rows = json.loads(fedhull("bench", "bytes", "--json").stdout)["bytes_up_per_client"]
    assert [row["clients"] for row in rows] == [3, 10, 100, 1000]
    for row in rows:
        assert row["clear"] < row["least"] < row["power_sums"] < row["dense"]


def test_reproduce_complexity_writes_figure_and_numbers(tmp_path):
    run = fedhull("reproduce", "complexity", "--quick", "--json", "--out", str(tmp_path))
    assert run.returncode == 0, run.stderr
    result = json.loads(run.stdout)
    assert json.loads((tmp_path / "complexity.json").read_text()) == result
    assert (tmp_path / "complexity.png").stat().st_size > 10_000
    assert (tmp_path / "complexity.svg").exists()
    # 413 and 926 corners at 1e4 and 1e5 points: reference figures from another implementation
    corners = dict(zip(result["sizes"], result["hull"], strict=True))
    assert corners[10_000] == pytest.approx(413, rel=0.03)
    assert corners[100_000] == pytest.approx(926, rel=0.03)
    assert [row["c"] for row in result["rates"]] == [0.3, 0.45, 0.55, 0.65, 0.8]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["demo", "--seed", "-1"], "seed must not be negative, got -1"),
        (["demo", "--colour"], "--colour"),
        (["reproduce", "nothing"], "nothing"),
        (["demo", "--out", "/dev/null/here"], "--out must name a folder"),
        (["demo", "--out", "/proc"], "--out must name a folder"),
        (["plan", "--clients", "3", "--classes", "2", "--epsilon", "-1"], "epsilon must be"),
        (["plan", "--clients", "3", "--classes", "2", "--label-code", "x"], "label code must be"),
        (["keygen", "Lab A"], "name must be lower-case"),
        (["keygen", "lab-a", "--out", "/nowhere/at/all"], "No such file"),
    ],
)
def test_a_wrong_flag_is_a_sentence_and_exit_code_2(arguments, words):
    run = fedhull(*arguments)
    assert run.returncode == 2
    assert words in run.stderr
    assert "Traceback" not in run.stderr


def test_version_and_help():
    assert fedhull("--version").stdout.startswith("fedhull 0.")
    assert "reproduce" in fedhull("--help").stdout
