"""The benefit of label codes: accuracy when some sites number their classes in another order, with
our codes and grouping, and with a coordinator that takes one site's class 1 for another's."""

from typing import Any

import numpy as np

from fedhull import LorentzClassifier, simulate
from fedhull.extend import PALETTE, Report, Simulation, load_dataset, new_figure, summarize
from fedhull_lab.reproduce.finding import Finding, Table, counted, score

SHARES = [0.0, 0.25, 0.5, 0.75, 1.0]
DATA = ["olsson", "paul", "tree"]
CLIENTS = 4


def labels(quick: bool, seed: int, report: Report) -> Finding:
    """Accuracy against the share of sites whose labels are switched."""
    step = counted(report, len(DATA) * len(SHARES))
    rows = []
    for name in DATA:
        x, y = load_dataset(name)
        for share in SHARES:
            step(f"{name}, {share:.0%} switched")
            result = simulate(
                x, y, clients=CLIENTS, epsilon=0.01, switch_labels=share,
                trials=2 if quick else 10, seed=seed,
            )  # fmt: skip
            rows.append(
                {
                    "data": name,
                    "switched": share,
                    "with": result.accuracy["FL"],
                    "without": summarize([_believed(result, t, x, y) for t in result.trials]),
                    "grouping_correct": result.to_json()["grouping_correct"],
                }
            )
    table = Table(
        f"Accuracy, {CLIENTS} sites, percent",
        ("data", "sites switched", "with label codes", "labels believed", "hulls grouped right"),
        [
            (
                row["data"],
                f"{row['switched']:.0%}",
                score(row["with"]),
                score(row["without"]),
                f"{row['grouping_correct']:.1%}",
            )
            for row in rows
        ],
    )  # fmt: skip
    return Finding(
        "Switched labels",
        [table],
        {"rows": rows},
        _draw(rows),
        [
            "'Labels believed' is the same classifier on the same hulls, each under the number "
            "that its site gave it; the number's name is what most sites mean by it.",
        ],
    )


def _believed(result: Simulation, trial: Any, x: np.ndarray, y: np.ndarray) -> float:
    """Accuracy of a coordinator that takes every site's class number for the same class."""
    quantizer = result.geometry.quantizer
    points, numbers, names = [], [], []
    for site in trial.session.sites.values():
        for place, (name, hull) in enumerate(
            zip(site.holdings.classes, site.holdings.prepared.hulls, strict=True)
        ):
            points.append(quantizer.decode(np.array(hull)))
            numbers.append(np.full(len(hull), place))
            names.append((place, name))
    model = LorentzClassifier(curvature=result.geometry.curvature)
    model.fit(np.concatenate(points), np.concatenate(numbers))
    meant = np.array([_most_common(names, place) for place in range(max(p for p, _ in names) + 1)])
    return float(np.mean(meant[model.predict(x[trial.test])] == y[trial.test]) * 100.0)


def _most_common(names: list[tuple[int, Any]], place: int) -> Any:
    called = [name for p, name in names if p == place]
    return max(called, key=called.count)


def _draw(rows: list[dict[str, Any]]) -> Any:
    figure = new_figure(12.0, 3.8)
    for axes, name in zip(figure.subplots(1, len(DATA), sharey=True), DATA, strict=True):
        mine = [r for r in rows if r["data"] == name]
        for color, key, words in (
            (PALETTE[0], "with", "label codes and grouping"),
            (PALETTE[1], "without", "labels believed"),
        ):
            axes.errorbar(
                [100 * r["switched"] for r in mine],
                [r[key]["mean"] for r in mine],
                yerr=[r[key]["ci95"] for r in mine],
                color=color, label=words, marker="o", capsize=2,
            )  # fmt: skip
        axes.set(title=name, xlabel="sites with switched labels, %", ylabel="accuracy, %")
        axes.grid(visible=True, alpha=0.3)
        axes.legend(frameon=False, fontsize=8)
    return figure
