"""Benefit of the ballot: accuracy and calibration with it and without, where sites differ."""

from typing import Any

import numpy as np

from fedhull import Cells, simulate
from fedhull.extend import Report, summarize
from fedhull_lab.reproduce.dealing import DATA, USUAL, DataSet, Trials, load_each
from fedhull_lab.reproduce.finding import Finding, Table, counted, score

EPSILON = 0.01
TRIALS = Trials(usual=10, if_large=3, quick=2)
QUICK_DATA = ("Paul", "tree")
# Nobody holds cells out; or all do, and nobody asks; or all do, and the ballot asks.
_RUNS: dict[str, dict[str, Any]] = {
    "without": {"ballot": False, "holdout": 0.0},
    "held": {"ballot": False, "holdout": 0.15},
    "with": {"ballot": True},
}
REMARKS = [
    f"Ten sites, Dirichlet(0.5), labels switched, ε = {EPSILON:g}; all columns of a row have the "
    "same splits. *Without*: no ballot, and all training cells are trained on. *Held out*: no "
    "ballot either, but as many cells are held out as for one, and used for nothing. *With*: the "
    "ballot. The expected calibration error is over 15 levels, on test cells, in points.",
    "*Judged* is on how many cells, on average, and *other* in how many trials a candidate other "
    "than the default was chosen. A site that cannot hold out 20 cells holds out none, so that "
    "small data are neither judged nor missed.",
    "With few test cells an expected calibration error is never near zero: with 400 cells, as Paul "
    "has, a model whose probabilities are exactly right would show three to four points.",
]


def ballot(quick: bool, seed: int, report: Report) -> Finding:
    """A row for each data set and summary."""
    chosen = [
        data for data in DATA if USUAL in data.splits and (data.name in QUICK_DATA or not quick)
    ]
    step = counted(report, 2 * len(chosen))
    rows: list[dict[str, Any]] = []
    missing: list[str] = []
    for data, x, y, trials in load_each(chosen, TRIALS, quick, seed, missing):
        for summary in ("hulls", "moments"):
            step(f"{data.name}, {summary}")
            rows.append(measure(data, x, y, summary, trials, seed))
    return Finding("With and without a ballot", _tables(rows), {"rows": rows}, None,
                   [*REMARKS, *missing])  # fmt: skip


def measure(
    data: DataSet, x: np.ndarray | Cells, y: np.ndarray, summary: str, trials: int, seed: int
) -> dict[str, Any]:
    """Accuracies and calibration errors over the trials, with and without a ballot."""
    accuracy: dict[str, list[float]] = {name: [] for name in _RUNS}
    error: dict[str, list[float]] = {name: [] for name in _RUNS}
    judged, other = [], 0
    for trial in range(trials):
        dealt = data.deal(x, y, USUAL, seed + trial)
        for name, settings in _RUNS.items():
            result = simulate(
                dealt.x, dealt.y, clients=dealt.sites, epsilon=EPSILON, partition=dealt.owner,
                switch_labels=True, seed=seed + trial, summary=summary, **settings,
            )  # fmt: skip
            told = result.to_json()
            accuracy[name].append(told["accuracy"]["FL"]["mean"])
            error[name].append(100.0 * told["calibration_error"])
        judged.append(told["ballot"].get("cells", 0))
        other += told["ballot"].get("chosen", 0) != 0
    return {
        "data": data.name,
        "summary": summary,
        "trials": trials,
        "accuracy": {name: summarize(found) for name, found in accuracy.items()},
        "calibration_error": {name: summarize(found) for name, found in error.items()},
        "judged": float(np.mean(judged)),
        "other": other,
    }


def _tables(rows: list[dict[str, Any]]) -> list[Table]:
    means = {
        name: f"{np.mean([row['accuracy'][name]['mean'] for row in rows]):.2f}" for name in _RUNS
    }
    of_data = ["data", "summary", "trials"]
    return [
        Table(
            "Accuracy, percent",
            [*of_data, "without", "held out", "with", "judged", "other"],
            [
                [
                    row["data"], row["summary"], str(row["trials"]),
                    *(score(row["accuracy"][name]) for name in _RUNS),
                    f"{row['judged']:,.0f}", str(row["other"]),
                ]
                for row in rows
            ] + [["mean", "", "", *means.values(), "", ""]],
        ),
        Table(
            "Expected calibration error on test cells, points",
            [*of_data, "without", "held out", "with"],
            [
                [
                    row["data"], row["summary"], str(row["trials"]),
                    *(score(row["calibration_error"][name]) for name in _RUNS),
                ]
                for row in rows
            ],
        ),
    ]  # fmt: skip
