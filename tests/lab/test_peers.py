"""The comparison with peers is fair, runs their own code, and prints what comes out."""

import json
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from commands import fedhull
from sklearn.svm import SVC

from fedhull.data.generated import make_tree
from fedhull.embed.cells import Cells
from fedhull.errors import InvalidInput, MissingExtra
from fedhull.simulation.result import summarize
from fedhull.simulation.simulate import simulate
from fedhull_lab.bench.peers.cells import DATA, SHARES, Content, DataSet, Deal, Trial
from fedhull_lab.bench.peers.compare import chosen_data, compare_one, methods
from fedhull_lab.bench.peers.fed_avg import average
from fedhull_lab.bench.peers.flare_svm import assemble, message_of, support_vectors
from fedhull_lab.bench.peers.logistic import Local, scores, steps_from
from fedhull_lab.bench.peers.measured import NEEDS_GENES, Measured, Options
from fedhull_lab.bench.peers.ours import PRIVATE
from fedhull_lab.bench.peers.page import page, to_json
from fedhull_lab.bench.peers.pooled_celltypist import pooled_celltypist
from fedhull_lab.bench.peers.table import accuracy_words, table
from fedhull_lab.bench.peers.verdict import difference, sentences, verdicts

NO_CELLTYPIST = Path(sys.executable)
OPTIONS = Options(NO_CELLTYPIST, rounds=(2,))
LOCAL = Local(penalty=1e-3, steps=3)


class Tree(DataSet):
    def load(self):
        tree = make_tree(1500, lineages=3, seed=0)
        return Content(tree.x, tree.y)


TREE = Tree("tree", "Tree", "tree", trials=2)


@pytest.fixture(scope="module")
def compared():
    return compare_one(TREE, quick=False, seed=0, options=OPTIONS, step=lambda what: None)


@pytest.fixture(scope="module")
def deal():
    return Deal(Trial(TREE.load(), 0), SHARES["equal"])


def three_sites(rng):
    x = rng.normal(size=(90, 4))
    y = np.digitize(x[:, 0] + 0.3 * rng.normal(size=90), [-0.5, 0.5])
    return [(x[rows], y[rows]) for rows in np.split(np.arange(90), [20, 50])]


def test_the_split_is_that_of_simulate(deal):
    content = deal.trial.content
    result = simulate(content.x, content.y, clients=10, epsilon=0.1, seed=0)
    assert np.array_equal(result.trials[0].test, deal.trial.test)
    assert not set(deal.trial.test) & set(np.concatenate(deal.sites))


@pytest.mark.slow
def test_all_rows_are_scored_on_the_same_test_cells(deal):
    for method in methods(OPTIONS):
        if method.needs_genes:
            continue
        try:
            measured = method.run(deal, OPTIONS)
        except InvalidInput:
            # noise is drawn by the sites, and may leave nothing of so few cells
            assert method is PRIVATE, method.name
            continue
        assert np.array_equal(measured.test, deal.trial.test), method.name


def test_a_row_that_was_scored_on_other_cells_is_refused(monkeypatch):
    wrong = replace(
        methods(OPTIONS)[0], run=lambda deal, options: Measured(100.0, deal.trial.test[1:])
    )
    monkeypatch.setattr("fedhull_lab.bench.peers.compare.methods", lambda options: [wrong])
    with pytest.raises(AssertionError, match="alone"):
        compare_one(TREE, quick=False, seed=0, options=OPTIONS, step=lambda what: None)


def test_a_peer_that_is_not_installed_is_called_that_and_why_is_said_once(monkeypatch):
    def absent(deal, options):
        raise MissingExtra("this row needs a package")

    def refuse(deal, options):
        raise InvalidInput("too few cells")

    missing = replace(methods(OPTIONS)[0], run=absent)
    failing = replace(missing, name="failing", run=refuse)
    monkeypatch.setattr(
        "fedhull_lab.bench.peers.compare.methods", lambda options: [missing, failing]
    )
    content = compare_one(TREE, quick=True, seed=0, options=OPTIONS, step=lambda what: None)
    assert [row[1:3] for row in table(content).rows] == [("not installed",) * 2, ("no model",) * 2]
    said = [sentence for sentence in sentences(content) if "needs a package" in sentence]
    assert said == [
        f"{missing.name}, equal sites and Dirichlet 0.5 sites: this row needs a package."
    ]


def test_encoders_and_scaling_see_training_cells_only():
    rng = np.random.default_rng(0)
    y = np.repeat(["a", "b"], 60)
    counts = rng.poisson(1 + 3 * (y == "b")[:, None] * (np.arange(30) < 10), (120, 30))
    genes = [f"gene {i}" for i in range(30)]
    trial = Trial(Content(Cells(counts, genes), y), 0)
    other = counts.copy()
    other[trial.test] = rng.poisson(9, (len(trial.test), 30))
    changed = Trial(Content(Cells(other, genes), y), 0)
    for found in ("linear", "flat"):
        assert np.array_equal(
            getattr(trial, found)[trial.train], getattr(changed, found)[trial.train]
        )
    assert np.array_equal(trial.pooled.points[trial.train], changed.pooled.points[trial.train])
    deals = [Deal(each, SHARES["equal"]).sums.points[trial.train] for each in (trial, changed)]
    assert np.array_equal(*deals)


def test_flares_assembler_gives_the_svm_of_all_support_vectors():
    held = three_sites(np.random.default_rng(0))
    sent = [support_vectors(*each) for each in held]
    x, y = (np.concatenate(parts) for parts in zip(*sent, strict=True))
    over_all = SVC(kernel="rbf").fit(x, y)
    expected = SVC(kernel="rbf").fit(x[over_all.support_], y[over_all.support_])
    model = assemble([message_of(*each) for each in sent])
    new = np.random.default_rng(1).normal(size=(50, 4))
    assert np.allclose(model.decision_function(new), expected.decision_function(new))
    assert len(model.classes_) == 3


def test_support_vectors_are_cells_in_clear():
    x, y = three_sites(np.random.default_rng(0))[0]
    vectors, _ = support_vectors(x, y)
    assert {tuple(row) for row in vectors} <= {tuple(row) for row in x}
    assert vectors.tobytes() in message_of(vectors, y[: len(vectors)])


def test_a_site_of_one_class_has_no_support_vectors():
    assert support_vectors(np.eye(3), np.zeros(3)) is None
    with pytest.raises(InvalidInput, match="no support vectors"):
        assemble([])


def test_a_round_of_fed_avg_is_the_mean_weighted_by_cells():
    held = three_sites(np.random.default_rng(0))
    first = np.zeros((5, 3))
    once = np.average(
        [steps_from(first, *each, LOCAL) for each in held],
        axis=0,
        weights=[len(y) for _, y in held],
    )
    weights, sent = average(held, 3, 1, LOCAL)
    assert np.allclose(weights, once)
    twice = np.average(
        [steps_from(once, *each, LOCAL) for each in held], axis=0, weights=[len(y) for _, y in held]
    )
    again, sent_twice = average(held, 3, 2, LOCAL)
    assert np.allclose(again, twice)
    assert once.nbytes < sent < sent_twice


def test_local_steps_lead_to_the_regression_of_scikit_learn():
    from sklearn.linear_model import LogisticRegression

    x, y = (np.concatenate(p) for p in zip(*three_sites(np.random.default_rng(0)), strict=True))
    found = steps_from(np.zeros((5, 3)), x, y, Local(0.01, 1000))
    peer = LogisticRegression(C=1 / (0.01 * len(y)), tol=1e-8, max_iter=1000).fit(x, y)
    ours = scores(found, x)
    theirs = peer.decision_function(x)
    assert np.allclose(ours - ours[:, :1], theirs - theirs[:, :1], atol=1e-2)


def test_a_missing_celltypist_is_a_sentence(deal):
    rng = np.random.default_rng(0)
    cells = Cells(rng.poisson(2, (40, 12)), [f"gene {i}" for i in range(12)])
    raw = Deal(Trial(Content(cells, np.repeat(["a", "b"], 20)), 0), SHARES["equal"])
    with pytest.raises(MissingExtra, match="is no Python with CellTypist; without --celltypist"):
        pooled_celltypist(raw, OPTIONS)


@pytest.mark.slow
def test_rows_without_genes_say_so_and_the_others_go_on(compared):
    rows = {row["method"]: row for row in compared["rows"]}
    celltypist = rows["pooled CellTypist"]
    assert celltypist["accuracy"] == dict.fromkeys(SHARES)
    assert celltypist["problems"]["equal"] == [NEEDS_GENES]
    assert celltypist["installed"] is None
    for name in ("each site alone", "NVIDIA FLARE, one-shot SVM", "Flower, FedAvg, 2 rounds"):
        assert len(rows[name]["accuracy"]["equal"]["trials"]) == 2
    alone, svm, moments = (
        rows[name] for name in ("each site alone", "NVIDIA FLARE, one-shot SVM", "moments")
    )
    assert (alone["rounds"], alone["messages"], alone["bytes_up"]) == (0, 0, 0.0)
    assert (svm["rounds"], svm["messages"]) == (1, 1)
    assert 0 < svm["share_sent"] < 1
    assert moments["messages"] > moments["rounds"] > 1
    assert moments["names_may_differ"]
    assert not svm["names_may_differ"]


@pytest.mark.slow
def test_pooled_rows_are_the_same_however_cells_are_dealt_out(compared):
    (row,) = (row for row in compared["rows"] if row["method"] == "pooled LorentzClassifier")
    assert row["accuracy"]["equal"] == row["accuracy"]["Dirichlet 0.5"]


def rows_of(**accuracies):
    return [
        {
            "method": name, "ours": name == "moments", "failed": {},
            "accuracy": {"equal": {"mean": float(np.mean(v)), "ci95": 0.0, "trials": v}},
        }
        for name, v in accuracies.items()
    ]  # fmt: skip


def test_who_is_better_follows_from_differences_over_the_same_splits():
    found = rows_of(
        better=[92.0, 82.1, 72.0], same=[89.0, 82.0, 70.0], worse=[80.0, 70.0, 60.2],
        moments=[90.0, 80.0, 70.0],
    )  # fmt: skip
    (sentence,) = verdicts({"rows": found})
    assert "the best of ours is moments with 80.0" in sentence
    assert "better than it: better (+2.0" in sentence
    assert "no clear difference: same" in sentence
    assert "worse: worse (-9.9" in sentence
    found[0]["failed"] = {"equal": 1}
    assert difference(found[0], found[3], "equal") is None
    assert "for lack of a model in every trial: better" in verdicts({"rows": found})[0]


def test_a_single_trial_is_shown_without_an_interval():
    row = {"accuracy": {"equal": summarize([70.7])}, "failed": {"equal": 4}}
    assert accuracy_words(row, "equal") == "70.7 (4 of 5 without a model)"
    row = {"accuracy": {"equal": summarize([70.0, 72.0])}, "failed": {}}
    assert accuracy_words(row, "equal").startswith("71.0 ± ")


@pytest.mark.slow
def test_the_page_has_a_table_and_a_verdict_for_each_data_set(compared):
    written = page(json.loads(json.dumps(to_json([compared], quick=True, seed=0))))
    assert "## Tree" in written
    assert "| Flower, FedAvg, 2 rounds |" in written
    assert NEEDS_GENES in written
    assert written.count("the best of ours is") == len(SHARES)
    assert "`fedhull bench peers --quick --seed 0 --out docs`" in written


def test_data_that_are_not_there_are_a_sentence_and_json_is_all_that_is_printed(
    monkeypatch, tmp_path
):
    monkeypatch.setenv("FEDHULL_DATA_DIR", str(tmp_path))
    done = fedhull("bench", "peers", "--data", "paul", "--json", "--out", tmp_path / "docs")
    (data,) = json.loads(done.stdout)["data"]
    assert "set FEDHULL_DATA_DIR" in data["problem"]
    assert json.loads((tmp_path / "docs" / "results" / "peers.json").read_text())["data"] == [data]
    assert "set FEDHULL_DATA_DIR" in (tmp_path / "docs" / "peers.md").read_text()


def test_an_unknown_data_set_is_refused():
    with pytest.raises(InvalidInput, match="--data must be one of lung, lung-all, paul"):
        chosen_data(["mouse"], quick=True)
    assert [data.name for data in chosen_data((), quick=True)] == ["lung", "paul"]
    assert chosen_data((), quick=False) == list(DATA)


@pytest.mark.slow
def test_quick_prints_one_json_object_with_a_row_for_each_method():
    done = fedhull("bench", "peers", "--quick", "--json", "--celltypist", NO_CELLTYPIST)
    assert done.returncode == 0, done.stderr
    for data in json.loads(done.stdout)["data"]:
        if "problem" not in data:
            assert [row["method"] for row in data["rows"]][:2] == [
                "each site alone",
                "pooled CellTypist",
            ]
            assert all(row["accuracy"]["equal"] for row in data["rows"][2:9])


def test_the_table_of_the_readme_is_that_of_the_last_full_run():
    root = Path(__file__).parents[2]
    found = json.loads((root / "docs" / "results" / "peers.json").read_text())
    scores = {
        (data["name"], row["method"]): (row["accuracy"].get("Dirichlet 0.5") or {}).get("mean")
        for data in found["data"]
        for row in data["rows"]
    }
    lines = [line for line in (root / "README.md").read_text().splitlines() if line[:2] == "| "]
    begin = next(i for i, line in enumerate(lines) if "Lung-Human, 13 types, from" in line)
    shown = 0
    for line in lines[begin + 1 : begin + 10]:
        method, *cells = (cell.strip(" *") for cell in line.strip("|").split("|"))
        for data, cell in zip(("lung-all", "paul", "fashion-mnist"), cells, strict=False):
            score = scores[data, method.removeprefix("fedhull, ")]
            assert cell == ("needs genes" if score is None else f"{score:.1f}"), (method, data)
            shown += 1
    assert shown == 27
