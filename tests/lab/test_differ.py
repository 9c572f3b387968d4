"""Where sites differ: cells are dealt out as promised, each column is what it says, and a study
that comes to nothing is reported in words."""

import numpy as np
import pytest

from fedhull.data.datasets import find_published
from fedhull.data.generated import make_tree, make_two_class
from fedhull.simulation.experiment import Experiment
from fedhull.simulation.simulate import simulate
from fedhull_lab.reproduce import differ
from fedhull_lab.reproduce.accuracy import PAPER
from fedhull_lab.reproduce.catalogue import EXPERIMENTS
from fedhull_lab.reproduce.dealing import DATA, DONOR_SPLITS, TEST_SIZE, USUAL, DataSet, Split, deal

TREE = make_tree(800, lineages=3, seed=0)
SMALL = DataSet("small", lambda: (TREE.x, TREE.y), (USUAL,))
MOMENTS = {"summary": "moments"}
COMMON = {"epsilon": differ.EPSILON, "switch_labels": True}


def test_as_many_cells_are_kept_for_testing_as_simulate_keeps():
    assert Experiment.test_size == TEST_SIZE


def test_the_case_that_federations_are_for_comes_first():
    assert next(iter(EXPERIMENTS)) == "differ"


@pytest.mark.parametrize("split", [Split("iid", 5), Split("dirichlet:0.5", 4)])
def test_cells_are_dealt_out_as_simulate_does_it(split):
    dealt = deal(TREE.x, TREE.y, split, seed=3)
    assert dealt.sites == split.sites
    ours, own = (
        simulate(TREE.x, TREE.y, clients=split.sites, partition=partition, seed=3, **COMMON)
        for partition in (dealt.owner, split.shares)
    )
    assert ours.accuracy == own.accuracy
    assert ours.leakage == own.leakage


def test_sites_that_get_no_points_take_no_part():
    data = make_two_class(500, seed=0)
    dealt = deal(data.x, data.y, Split("dirichlet:0.05", 20), seed=0)
    assert 2 <= dealt.sites < 20
    result = simulate(
        data.x, data.y, clients=dealt.sites, partition=dealt.owner, guard="none", min_cells=1,
        **COMMON,
    )  # fmt: skip
    assert len(result.trials[0].survivors) == dealt.sites


@pytest.mark.parametrize("split", DONOR_SPLITS)
def test_by_donor_every_trial_has_new_donors_and_sites_as_unlike_as_they(split):
    first, second = (DATA[-1].deal(TREE.x, TREE.y, split, seed) for seed in (0, 1))
    assert len(set(first.owner.tolist())) == first.sites == split.sites
    assert len(first.x) == len(TREE.x)
    assert not np.array_equal(first.x, second.x)
    assert DATA[-1].splits == DONOR_SPLITS


def test_sites_of_unlike_donors_hold_less_alike_mixtures():
    def spread(split):
        dealt = DATA[-1].deal(TREE.x, TREE.y, split, seed=0)
        stem = [np.mean(dealt.y[dealt.owner == i] == "stem") for i in range(dealt.sites)]
        return np.std(stem)

    assert spread(Split("donors:0.1", 10)) > 2 * spread(Split("donors:50", 10))


@pytest.mark.slow
def test_each_column_is_the_score_that_simulate_gives_with_its_settings():
    row = differ.measure(SMALL, TREE.x, TREE.y, USUAL, trials=2, seed=5)
    dealt = deal(TREE.x, TREE.y, USUAL, seed=6)
    second = {
        name: simulate(
            TREE.x, TREE.y, clients=dealt.sites, partition=dealt.owner, seed=6,
            baselines=("alone", "C"), **COMMON, **settings,
        ).accuracy
        for name, settings in (("ours", {}), ("paper", PAPER), ("moments", MOMENTS))
    }  # fmt: skip
    assert {name: found["trials"][1] for name, found in row["accuracy"].items()} == {
        "alone": second["ours"]["alone"]["mean"],
        "the paper's": second["paper"]["FL"]["mean"],
        "hulls": second["ours"]["FL"]["mean"],
        "moments": second["moments"]["FL"]["mean"],
        "pooled": second["ours"]["C"]["mean"],
    }
    assert row["left"]["cells_exposed"] == 0
    assert row["left"]["smallest_group"] >= 5


def test_columns_with_the_same_settings_share_a_simulation():
    for n_classes in (2, 10):
        runs = differ._runs(n_classes)
        headings = [[column.heading for column in columns] for _, columns in runs]
        assert headings == [["alone", "hulls", "pooled"], ["the paper's"], ["moments"]]
        assert (runs[1][0]["grouping"] == "kernighan-lin") == (n_classes == 2)


def test_where_everything_is_withheld_words_say_so_and_the_other_columns_stand():
    few = make_tree(60, lineages=3, seed=0)
    row = differ.measure(SMALL, few.x, few.y, Split("iid", 10), trials=2, seed=0)
    assert "hulls" not in row["accuracy"]
    assert set(row["accuracy"]) == {"alone", "the paper's", "pooled"}
    assert len(row["problems"]) == 4  # hulls and moments, two trials each
    assert "smaller ones are withheld" in row["problems"][0]
    line = differ._accuracies(SMALL, few.x, few.y, 2, [row]).rows[0]
    assert line[4] == differ.NO_MODEL
    assert differ.NO_MODEL not in line[:4]
    assert differ._what_left([row]).rows[0][-1] == "all, or all but one"


def test_a_mean_over_some_trials_only_says_over_how_many():
    summary = {"mean": 81.25, "ci95": 3.0, "trials": [80.0, 82.5]}
    row = {"trials": 5, "accuracy": {"hulls": summary}}
    assert differ._accuracy(row, differ.HULLS) == "81.2 ± 3.0 (2 of 5)"
    assert differ._accuracy(row | {"trials": 2}, differ.HULLS) == "81.2 ± 3.0"


@pytest.mark.slow
def test_a_data_set_that_is_not_here_is_named_and_does_not_stop_the_others(monkeypatch):
    monkeypatch.delenv("FEDHULL_DATA_DIR", raising=False)
    absent = DataSet("absent", lambda: find_published("absent.npz"))
    monkeypatch.setattr(differ, "DATA", (absent, SMALL))
    monkeypatch.setattr(differ, "QUICK_DATA", ("absent", "small"))
    heard = []
    finding = differ.differ(True, 0, heard.append)
    assert [table.title.split(":")[0] for table in finding.tables] == [
        "small",
        "What left with our defaults",
    ]
    assert finding.remarks[-1].startswith("Without absent: absent.npz is not on this machine")
    assert [label.get_text() for label in finding.figure.axes[0].get_yticklabels()] == ["small"]
    assert differ.IF_NO_MODEL not in finding.remarks
    assert len(heard) == 1
