"""The commands as a user meets them: their output, their exit codes."""

import json

import pytest
from commands import fedhull, process

from fedhull import load_model, make_tree
from fedhull.protocol.keys import Identity


def test_demo_runs_a_whole_study(tmp_path):
    run = fedhull("demo", cwd=tmp_path)
    assert run.returncode == 0, run.stderr
    assert "1 dropped out" in run.stdout
    assert "Sums at the coordinator equal the sites': yes" in run.stdout
    picture = (tmp_path / "fedhull-demo" / "hulls.svg").read_text()
    assert picture.startswith("<?xml")
    assert "<image" not in picture
    assert (tmp_path / "fedhull-demo" / "report.html").read_text().startswith("<!doctype html>")
    model = load_model(tmp_path / "fedhull-demo" / "model.json")
    assert "stem" in model.predict([[0.0, 0.0]])[0]


@pytest.mark.slow
def test_demo_json_is_json_and_nothing_else(tmp_path):
    runs = [run("demo", "--json", "--seed", "5", "--out", tmp_path) for run in (process, fedhull)]
    assert [run.stderr for run in runs] == ["", ""]
    results = [json.loads(run.stdout) for run in runs]
    assert results[0]["decoded_exactly"] is True
    assert results[0]["accuracy"]["FL"]["mean"] > 90
    for same in ("accuracy", "leakage", "bytes_up_per_client"):
        assert results[0][same] == results[1][same]


def test_simulate_prints_what_the_specification_names(tmp_path):
    arguments = ["--dataset", "tree", "--clients", "4", "--epsilon", "0.1", "--baselines"]
    model = tmp_path / "model.json"
    run = fedhull("simulate", *arguments, "--json", "--drop", "1@upload", "--model", str(model))
    assert run.returncode == 0, run.stderr
    assert run.stderr == ""
    result = json.loads(run.stdout)
    assert {"mean", "ci95", "trials"} == set(result["accuracy"]["FL"])
    assert {"points_sent", "points_total", "ratio", "max_hull"} <= set(result["leakage"])
    named = {"bytes_up_per_client", "bins", "field_bits", "label_code", "grouping_correct"}
    assert named | {"decoded_exactly", "dropped", "seconds", "versions"} <= set(result)
    assert result["dropped"] == 1


def test_simulate_deals_out_by_a_column_and_predict_reads_the_model(tmp_path):
    data = make_tree(600, lineages=3, batches=3, seed=0)
    rows = [
        f"{a},{b},{lineage},hospital-{batch}"
        for (a, b), lineage, batch in zip(data.x, data.y, data.batch, strict=True)
    ]
    cells, model = tmp_path / "cells.csv", tmp_path / "model.json"
    cells.write_text("\n".join(["x,y,kind,donor", *rows]) + "\n")
    run = fedhull(
        "simulate", "--dataset", str(cells), "--label", "kind", "--clients", "3",
        "--epsilon", "0.1", "--partition", "column:donor", "--model", str(model), cwd=tmp_path,
    )  # fmt: skip
    assert run.returncode == 0, run.stderr
    written = {path.name for path in (tmp_path / "fedhull-simulation").iterdir()}
    assert written == {"model.json", "report.html", "result.json"}
    points = tmp_path / "new.csv"
    points.write_text("x,y\n0.0,0.0\n")
    assert fedhull("predict", str(model), str(points)).stdout == "stem\n"
    as_json = fedhull("predict", str(model), str(points), "--json")
    told = json.loads(as_json.stdout)
    assert told["classes"] == ["stem"]
    assert 0.5 < told["probabilities"][0] <= 1.0
    assert told["far_from_all"] == [False]


def test_report_makes_a_page_of_what_simulate_printed(tmp_path):
    arguments = ["--dataset", "tree", "--clients", "3", "--epsilon", "0.1", "--json"]
    result = tmp_path / "printed.json"
    result.write_text(fedhull("simulate", *arguments, cwd=tmp_path).stdout)
    assert not (tmp_path / "fedhull-simulation").exists()
    run = fedhull("report", str(result))
    assert run.returncode == 0, run.stderr
    assert "tree, 3 sites" in (tmp_path / "report.html").read_text()


@pytest.mark.parametrize("names", [[], ["--agreed-names"]])
def test_simulate_says_what_left_in_a_study_of_moments(tmp_path, names):
    arguments = ["--dataset", "tree", "--clients", "4", "--features", "32", *names]
    run = fedhull("simulate", *arguments, "--summary", "moments", cwd=tmp_path)
    assert run.returncode == 0, run.stderr
    told = " ".join(run.stdout.split())
    assert "Leakage: no points left." in told
    assert "sums of at most 32 functions of where cells lie (features)" in told
    assert "Sums at the coordinator equal the sites': yes" in told
    assert ("its number of cells and its place, five numbers" in told) == (not names)
    assert "classes matched rightly: 100.0%" in told
    assert not any(word in told for word in ("corner", "hull ", " bin", "guard", "None"))
    page = tmp_path / "fedhull-simulation" / "report.html"
    assert '"page":"simulation"' in page.read_text()


def test_plan_reads_a_sites_own_points():
    run = fedhull("plan", "--clients", "3", "--data", "tree", "--radius", "0.99", "--json")
    assert run.returncode == 0, run.stderr
    result = json.loads(run.stdout)
    assert result["classes"] == 6
    # some of the 4,000 are kept for testing
    assert 0 < result["points_sent"] < result["points_held"] < 4000
    assert result["points_held"] == pytest.approx(0.85 * 4000, rel=0.01)


def test_plan_names_the_label_code_and_why():
    run = fedhull("plan", "--clients", "3", "--classes", "2", "--epsilon", "0.1")
    assert "Label code: pairs, because it cannot fail" in run.stdout
    assert "Up to 6 labels may meet in one bin" in run.stdout
    many = json.loads(fedhull("plan", "--clients", "100", "--classes", "4", "--json").stdout)
    assert (many["label_code"], many["labels_that_may_meet"]) == ("pairs", 400)
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
    assert [row["labels"] for row in rows] == [6, 20, 200, 2000, 100, 240, 1000]
    for row in rows:
        assert row["clear"] < row["least"] < row["power_sums"] < row["dense"]


@pytest.mark.slow
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
    assert 0 < result["hull_exponent"]["fitted"] < 1
    assert [row["c"] for row in result["rates"]] == [0.3, 0.45, 0.55, 0.65, 0.8]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["demo", "--seed", "-1"], "seed must not be negative, got -1"),
        (["demo", "--colour"], "--colour"),
        (["reproduce", "nothing"], "nothing"),
        (["demo", "--out", "/dev/null/here"], "--out must name a writable folder"),
        (["demo", "--out", "/proc"], "--out must name a writable folder"),
        (["plan", "--clients", "3", "--classes", "2", "--epsilon", "-1"], "epsilon must be"),
        (["plan", "--clients", "3", "--classes", "2", "--label-code", "x"], "label code must be"),
        (["plan", "--clients", "3"], "--classes must be given"),
        (["simulate", "--dataset", "x", "--clients", "3", "--epsilon", "1"], "dataset must be"),
        (["simulate", "--dataset", "tree", "--clients", "3", "--epsilon", "0"], "epsilon must be"),
        (["predict", "none.json", "none.csv"], "none.json cannot be read as a model"),
        (["report", "none.json"], "cannot be read"),
        (["keygen", "Lab A"], "name must be lower-case"),
        (["keygen", "lab-a", "--out", "/nowhere/at/all"], "No such file"),
    ],
)
def test_a_wrong_flag_is_a_sentence_and_exit_code_2(arguments, words):
    run = fedhull(*arguments)
    assert run.returncode == 2
    assert run.stdout == ""
    assert words in run.stderr
    assert "Traceback" not in run.stderr


@pytest.mark.parametrize("arguments", [["demo", "--colour"], ["keygen", "Lab A"]])
def test_a_process_exits_and_complains_as_the_function_does(arguments):
    there, here = process(*arguments), fedhull(*arguments)
    assert (there.returncode, there.stdout, there.stderr) == (2, "", here.stderr)


def test_version_and_help():
    assert process("--version").stdout.startswith("fedhull 0.")
    assert "reproduce" in process("--help").stdout
