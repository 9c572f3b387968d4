"""Accuracy against the share of points that leave, for guards and bins, on all real data sets."""

from typing import Any

import numpy as np

from fedhull import simulate
from fedhull.extend import PALETTE, Report, draft_study, load_dataset, new_figure
from fedhull_lab.reproduce.finding import Finding, Table, counted, score

DATA = ["olsson", "paul", "fashion-mnist", "polbooks"]
USUAL: str = draft_study(3, 2, epsilon=0.1, radius=0.9).learning.guard
GUARDS = ["none", "edit", "trim:0.02", "trim:0.1", "edit+trim:0.02", "edit+trim:0.1", USUAL]
EPSILONS = [0.01, 0.1, 0.5]
_QUICK_POINTS = 3_000


def leakage(quick: bool, seed: int, report: Report) -> Finding:
    """Accuracy and share of points sent, for each guard and width of bins."""
    guards = ["none", "edit", USUAL] if quick else GUARDS
    epsilons = [0.01, 0.5] if quick else EPSILONS
    step = counted(report, len(DATA) * len(guards) * len(epsilons))
    rows = []
    for name in DATA:
        x, y = load_dataset(name)
        if quick and len(x) > _QUICK_POINTS:
            chosen = np.random.default_rng(seed).choice(len(x), _QUICK_POINTS, replace=False)
            x, y = x[chosen], y[chosen]
        trials = 1 if quick or name == "fashion-mnist" else 10
        for guard in guards:
            for epsilon in epsilons:
                step(f"{name}, guard {guard}, ε = {epsilon:g}")
                # only what is put into groups is a mean of several cells
                least: dict[str, Any] = {} if "group" in guard else {"min_cells": 1}
                result = simulate(
                    x, y, clients=3, epsilon=epsilon, guard=guard, trials=trials, seed=seed, **least
                )
                rows.append(
                    {
                        "data": name,
                        "guard": guard,
                        "epsilon": epsilon,
                        "accuracy": result.accuracy["FL"],
                        "ratio": result.leakage["ratio"],
                    }
                )
    table = Table(
        "Accuracy and points sent, 3 sites, our default classifier",
        ("data", "guard", "ε", "accuracy, %", "points sent, %"),
        [
            (
                row["data"],
                row["guard"],
                f"{row['epsilon']:g}",
                score(row["accuracy"]),
                f"{100 * row['ratio']:.1f}",
            )
            for row in rows
        ],
    )
    return Finding("Accuracy against leakage", [table], {"rows": rows}, _draw(rows))


def _draw(rows: list[dict[str, Any]]) -> Any:
    figure = new_figure(13.0, 3.9)
    guards = list(dict.fromkeys(row["guard"] for row in rows))
    for axes, name in zip(figure.subplots(1, len(DATA)), DATA, strict=True):
        for color, guard in zip(PALETTE, guards, strict=False):
            mine = [r for r in rows if r["data"] == name and r["guard"] == guard]
            sent = [100 * r["ratio"] for r in mine]
            axes.plot(sent, [r["accuracy"]["mean"] for r in mine], "o-", color=color, label=guard)
        axes.set(title=name, xlabel="points sent, %", ylabel="accuracy, %")
        axes.grid(visible=True, alpha=0.3)
    axes.legend(frameon=False, fontsize=7)
    return figure
