"""Sites that differ: each site alone, the paper's method, ours, and pooled data, for sites that
hold different mixtures of the classes under names of their own.

This is the case that a federation is for. Where all sites hold the same mixture, a site alone does
as well.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from fedhull import Cells, simulate
from fedhull.errors import InvalidInput
from fedhull.extend import PALETTE, Report, Simulation, new_figure, summarize
from fedhull_lab.reproduce.accuracy import PAPER
from fedhull_lab.reproduce.dealing import (
    DATA,
    DONOR_SPLITS,
    DONORS,
    USUAL,
    DataSet,
    Dealt,
    Split,
    Trials,
    load_each,
)  # fmt: skip
from fedhull_lab.reproduce.finding import Finding, Table, counted
from fedhull_lab.reproduce.synthetic import STRENGTH

EPSILON = 0.01
TRIALS = Trials(usual=5, if_large=3, quick=2)
QUICK_DATA = ("Paul", "tree with donors")
SHOWN = (USUAL, DONOR_SPLITS[1])  # in the figure, and in quick runs
NO_MODEL = "no model"


@dataclass(frozen=True)
class Column:
    """A column of accuracies: one of a simulation's scores, with these settings, some of which are
    others for two classes."""

    heading: str
    score: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    two_classes: Mapping[str, Any] = field(default_factory=dict)

    def settings_for(self, n_classes: int) -> dict[str, Any]:
        """The settings for data with this number of classes."""
        return {**self.settings, **(self.two_classes if n_classes == 2 else {})}


HULLS = Column("hulls", "FL")
COLUMNS = (
    Column("alone", "alone"),
    Column("the paper's", "FL", PAPER, {"grouping": "kernighan-lin", "strength": STRENGTH}),
    HULLS,
    Column("moments", "FL", {"summary": "moments"}),
    Column("pooled", "C"),
)
# Lets baselines be scored where too much would be withheld for a study.
_ALL_LEAVES = {"guard": "none", "min_cells": 1}

REMARKS = [
    f"Labels switched, ε = {EPSILON:g}. *Alone* is the mean over the sites of each site's own "
    "classifier, on the common test points. *The paper's* is its SVM and its grouping, without a "
    "guard: the corners that leave are cells. *Hulls* are our defaults, *moments* our other "
    "summary, *pooled* is our classifier on all training points. *Grouped right* is the share of "
    "our hulls that are put into the right class. A site that gets no points takes no part.",
    "Classes are withheld where a site has fewer than five cells of them, and every point that "
    "leaves is the mean of a group of cells: *cells exposed* counts those whose own position left "
    "in any trial, *smallest group* is over all trials, the other two are means.",
    "No real data set here says whose each cell is: Lung-Human and PBMC are cells of one person "
    "each, and the files of Paul and Olsson do not name the animals. The rows by donor are "
    f"therefore generated: trees of {DONORS} donors, each with a Dirichlet mixture of lineages and "
    "a small shift of its own, drawn anew for each trial; all cells of a donor are at one site. "
    "Training and test cells come from the same donors.",
    "The networks (34 to 115 nodes) are left out: dealt out to five or more sites, hardly any "
    "class has five nodes at a site.",
]

IF_NO_MODEL = (
    f"*{NO_MODEL.capitalize()}*: nothing came of the study, most often because all classes, or all "
    "but one, were withheld; the reasons are in the JSON. Where this happened in some trials only, "
    "the mean is over the others, and their number is given."
)


def differ(quick: bool, seed: int, report: Report) -> Finding:
    """A table of accuracies for each data set, a row for each split, and one of what left."""
    chosen = [data for data in DATA if data.name in QUICK_DATA or not quick]
    step = counted(report, sum(len(_splits(data, quick)) for data in chosen))
    tables: list[Table] = []
    rows: list[dict[str, Any]] = []
    missing: list[str] = []
    for data, x, y, trials in load_each(chosen, TRIALS, quick, seed, missing):
        found = []
        for split in _splits(data, quick):
            step(f"{data.name}, {split.words}, {split.sites} sites")
            found.append(measure(data, x, y, split, trials, seed))
        tables.append(_accuracies(data, x, y, trials, found))
        rows += found
    no_model = [IF_NO_MODEL] if any(row["problems"] for row in rows) else []
    return Finding(
        "Where sites differ",
        [*tables, _what_left(rows)],
        {"rows": rows},
        _draw(rows),
        [*REMARKS, *no_model, *missing],
    )


def _splits(data: DataSet, quick: bool) -> Sequence[Split]:
    return [split for split in data.splits if split in SHOWN] if quick else data.splits


def measure(
    data: DataSet, x: np.ndarray | Cells, y: np.ndarray, split: Split, trials: int, seed: int
) -> dict[str, Any]:
    """Fill all columns for one split: accuracies over the trials, and leakage with our defaults."""
    scores: dict[str, list[float]] = {column.heading: [] for column in COLUMNS}
    ours: list[Simulation] = []
    sites, problems = [], []
    for trial in range(trials):
        dealt = data.deal(x, y, split, seed + trial)
        sites.append(dealt.sites)
        for settings, columns in _runs(len(np.unique(y))):
            result, accuracy, problem = _score(dealt, seed + trial, settings, columns)
            for column in columns:
                if column.score in accuracy:
                    scores[column.heading].append(accuracy[column.score])
            if result is not None and HULLS in columns:
                ours.append(result)
            problems += [problem] if problem else []
    return {
        "data": data.name,
        "shares": split.shares,
        "sites": split.sites,
        "sites_taking_part": sites,
        "trials": trials,
        "accuracy": {name: summarize(found) for name, found in scores.items() if found},
        "left": _leakage(ours),
        "problems": problems,
    }


def _runs(n_classes: int) -> list[tuple[dict[str, Any], list[Column]]]:
    """Group the columns that one simulation can fill: those with the same settings."""
    runs: list[tuple[dict[str, Any], list[Column]]] = []
    for column in COLUMNS:
        settings = column.settings_for(n_classes)
        for known, columns in runs:
            if known == settings:
                columns.append(column)
                break
        else:
            runs.append((settings, [column]))
    return runs


def _score(
    dealt: Dealt, seed: int, settings: dict[str, Any], columns: list[Column]
) -> tuple[Simulation | None, dict[str, float], str]:
    """One trial: the simulation, its scores and no problem; or, if there is no study because too
    much is withheld, only the baselines and why."""
    baselines = tuple(column.score for column in columns if column.score != "FL")

    def run(changed: Mapping[str, Any]) -> Simulation:
        return simulate(
            dealt.x, dealt.y, clients=dealt.sites, epsilon=EPSILON, partition=dealt.owner,
            switch_labels=True, seed=seed, baselines=baselines, **{**settings, **changed},
        )  # fmt: skip

    try:
        result = run({})
        return result, result.trials[0].accuracy, ""
    except InvalidInput as problem:
        why = str(problem)
    try:
        accuracy = run(_ALL_LEAVES).trials[0].accuracy if baselines else {}
    except InvalidInput:
        accuracy = {}
    return None, {name: accuracy[name] for name in baselines if name in accuracy}, why


def _leakage(runs: list[Simulation]) -> dict[str, Any] | None:
    """Leakage over all trials that came to an end, and the share of hulls grouped right."""
    if not runs:
        return None
    together = replace(runs[0], trials=[run.trials[0] for run in runs])
    correct = float(np.mean([trial.grouping_correct for trial in together.trials]))
    return together.leakage | {"grouping_correct": correct}


def _accuracies(
    data: DataSet, x: np.ndarray | Cells, y: np.ndarray, trials: int, rows: list[dict[str, Any]]
) -> Table:
    return Table(
        f"{data.name}: {len(x):,} points, {len(np.unique(y))} classes, {trials} trials, percent",
        ("shares", "sites", *(column.heading for column in COLUMNS), "grouped right"),
        [
            (
                *_split_words(row),
                *(_accuracy(row, column) for column in COLUMNS),
                f"{100 * row['left']['grouping_correct']:.1f}" if row["left"] else "",
            )
            for row in rows
        ],
    )


def _what_left(rows: list[dict[str, Any]]) -> Table:
    return Table(
        "What left with our defaults",
        (
            "data",
            "shares",
            "sites",
            "points sent, %",
            "smallest group",
            "cells exposed",
            "classes withheld",
        ),
        [(row["data"], *_split_words(row), *_left(row["left"])) for row in rows],
    )


def _split_words(row: dict[str, Any]) -> tuple[str, str]:
    sites, taking_part = row["sites"], float(np.mean(row["sites_taking_part"]))
    return (
        Split(row["shares"], sites).words,
        str(sites) if taking_part == sites else f"{taking_part:g} of {sites}",
    )


def _accuracy(row: dict[str, Any], column: Column) -> str:
    summary = row["accuracy"].get(column.heading)
    if summary is None:
        return NO_MODEL
    done = len(summary["trials"])
    words = f"{summary['mean']:.1f}" + (f" ± {summary['ci95']:.1f}" if done > 1 else "")
    return words if done == row["trials"] else f"{words} ({done} of {row['trials']})"


def _left(left: dict[str, Any] | None) -> tuple[str, ...]:
    if left is None:
        return ("0", "nothing left", "0", "all, or all but one")
    return (
        f"{100 * left['ratio']:.1f}",
        str(left["smallest_group"]),
        str(left["cells_exposed"]),
        f"{left['classes_withheld']:.1f}",
    )


def _draw(rows: list[dict[str, Any]]) -> Any:
    """One line for each data set, ten sites, Dirichlet(0.5): from alone to pooled."""
    shown = [row for row in rows if Split(row["shares"], row["sites"]) in SHOWN]
    figure = new_figure(8.0, 1.2 + 0.5 * len(shown))
    axes = figure.subplots()
    for place, row in enumerate(shown):
        means = [summary["mean"] for summary in row["accuracy"].values()]
        axes.plot([min(means), max(means)], [place, place], color="0.8", zorder=0)
    # each a little lower than the one before: intervals overlap
    lower = np.linspace(-0.2, 0.2, len(COLUMNS))
    for column, below, color, marker in zip(COLUMNS, lower, PALETTE, "osD^v", strict=False):
        found = [
            (place, row["accuracy"][column.heading])
            for place, row in enumerate(shown)
            if column.heading in row["accuracy"]
        ]
        axes.errorbar(
            [summary["mean"] for _, summary in found],
            [place + below for place, _ in found],
            xerr=[summary["ci95"] for _, summary in found],
            fmt=marker, color=color, label=column.heading, elinewidth=0.8, capsize=2,
        )  # fmt: skip
    axes.set_yticks(range(len(shown)), [row["data"] for row in shown])
    axes.set_ylim(len(shown) - 0.5, -0.5)
    axes.set_xlim(right=101)
    axes.set_xlabel("accuracy, %, ten sites, Dirichlet(0.5) shares, labels switched")
    axes.grid(visible=True, axis="x", alpha=0.3)
    axes.legend(frameon=False, ncols=len(COLUMNS), loc="lower center", bbox_to_anchor=(0.5, 1.0))
    return figure
