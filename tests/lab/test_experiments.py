"""Experiments run small, show the paper's numbers where there are some, and make a page."""

import json

import pytest

from fedhull.data.generated import make_tree
from fedhull.progress import Progress
from fedhull_lab.reproduce import communication, labels, quantization, synthetic
from fedhull_lab.reproduce.accuracy import OLSSON, compare
from fedhull_lab.reproduce.catalogue import EXPERIMENTS, experiment
from fedhull_lab.reproduce.finding import Finding, Table, counted, score
from fedhull_lab.reproduce.page import to_json, write_page


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_every_name_leads_to_an_experiment(name):
    assert callable(experiment(name))


@pytest.mark.slow
def test_a_comparison_has_the_papers_numbers_beside_ours():
    data = make_tree(300, lineages=3, seed=0)
    told = []
    table, numbers = compare(OLSSON, data.x, data.y, True, 0, told.append, "a tree")
    rows = {row[0].split(":")[0]: row for row in table.rows}
    assert rows["FLP"][1] == "86.04 ± 1.41"
    assert rows["FLP"][2] == score(numbers["as_in_the_paper"]["FLP"])
    assert rows["FL"][3] == score(numbers["our_defaults"]["FL"])
    assert rows["always the largest class"][2:] != ("", "")
    assert numbers["decoded_exactly"] == [True, True]
    assert len(told) == 2


def test_synthetic_measures_each_trial_on_new_data():
    told = []
    found = synthetic._measure(600, {"gamma": 0.1}, 2, 0, told.append)
    assert set(found) == set(synthetic.METHODS)
    assert all(len(summary["trials"]) == 2 for summary in found.values())
    assert found["CP"]["mean"] > found["CE"]["mean"] - 1
    assert len(told) == 2


def test_communication_measures_what_simulate_measures():
    row = communication._measure({"clients": 3, "epsilon": 0.1}, 500, 0)
    assert row["bytes"] > row["order"] > 0


def test_finer_bins_move_hulls_less():
    data = make_tree(300, lineages=2, seed=0)
    moved = [quantization._distortion(data.x, epsilon) for epsilon in (0.001, 0.5, 2.0)]
    assert moved[0] < moved[1] < moved[2]


def test_believed_labels_are_right_until_somebody_switches_them():
    data = make_tree(800, lineages=4, seed=0)
    accuracies = []
    for share in (0.0, 1.0):
        result = labels.simulate(
            data.x, data.y, clients=4, epsilon=0.05, switch_labels=share, seed=1
        )
        accuracies.append(labels._believed(result, result.trials[0], data.x, data.y))
    assert accuracies[0] > 90 > 70 > accuracies[1]


def test_progress_is_counted():
    heard = []
    step = counted(heard.append, 2)
    step("one")
    step("two")
    assert heard == [Progress("one", 0, 2), Progress("two", 1, 2)]


def test_the_page_names_commit_versions_and_seed(tmp_path):
    finding = Finding("A title", [Table("T", ("a", "b"), [("1", "2")])], {}, remarks=["So it is."])
    (tmp_path / "olsson.json").write_text(json.dumps(to_json(finding, quick=True, seed=7)))
    write_page(tmp_path / "results.md", tmp_path)
    page = (tmp_path / "results.md").read_text()
    for words in (
        "--seed 7",
        "numpy",
        "commit ",
        "| 1 | 2 |",
        "So it is.",
        "fedhull reproduce olsson",
    ):
        assert words in page


@pytest.mark.slow
def test_the_olsson_experiment_has_tables_and_a_picture(data_dir):
    finding = experiment("olsson")(True, 0, lambda *_: None)
    assert len(finding.tables) == 2
    assert len(finding.figure.axes) == 2
