"""Sites measured differently: every site's cells are moved against the others', and sites that
align themselves are compared with sites that do not, through the whole protocol."""

from typing import Any

import numpy as np

from fedhull import Cells, simulate
from fedhull.extend import Report, summarize
from fedhull_lab.reproduce.dealing import DATA, USUAL, DataSet, Trials, load_each
from fedhull_lab.reproduce.finding import Finding, Table, counted, score

EPSILON = 0.01
SHIFTS = (0.0, 0.2, 0.5)
DATA_SETS = ("Paul", "Olsson", "Lung-Human", "Fashion-MNIST", "tree")
TRIALS = Trials(usual=5, if_large=3, quick=1)
QUICK_DATA, QUICK_SHIFTS = ("Paul",), (0.0, 0.5)
# Runs to compare: the summary, how often sites align themselves, and the heading of each of the
# simulation's scores that is shown.
_RUNS = (
    ("hulls", 0, {"alone": "alone", "FL": "hulls"}),
    ("hulls", 2, {"FL": "hulls, aligned"}),
    ("moments", 0, {"FL": "moments"}),
    ("moments", 2, {"FL": "moments, aligned", "C": "pooled as measured"}),
)
_COLUMNS = [heading for _, _, shown in _RUNS for heading in shown.values()]
REMARKS = [
    f"Ten sites, Dirichlet(0.5), labels switched, ε = {EPSILON:g}. Every site's cells, those for "
    "testing as well, are moved by an isometry of its own, of length S. A test cell belongs to a "
    "site with the probability with which a training cell of its class does. *Aligned*: sites "
    "move their cells onto the centres of all classes twice before they send the summary, which "
    "is the default with moments; with hulls it is not, for they then take more than one sum. "
    "*Pooled as measured* is our classifier on all training cells, as moved as they are.",
    "All columns of a row have the same splits and the same isometries.",
]


def alignment(quick: bool, seed: int, report: Report) -> Finding:
    """A row for each data set and shift."""
    chosen = [data for data in DATA if data.name in (QUICK_DATA if quick else DATA_SETS)]
    shifts = QUICK_SHIFTS if quick else SHIFTS
    step = counted(report, len(chosen) * len(shifts))
    rows: list[dict[str, Any]] = []
    missing: list[str] = []
    for data, x, y, trials in load_each(chosen, TRIALS, quick, seed, missing):
        for shift in shifts:
            step(f"{data.name}, S = {shift:g}")
            rows.append(measure(data, x, y, shift, trials, seed))
    return Finding(
        "Sites measured differently", [_table(rows)], {"rows": rows}, None, [*REMARKS, *missing]
    )


def measure(
    data: DataSet, x: np.ndarray | Cells, y: np.ndarray, shift: float, trials: int, seed: int
) -> dict[str, Any]:
    """Accuracies over trials in which each site is moved by this distance."""
    accuracy: dict[str, list[float]] = {name: [] for name in _COLUMNS}
    for trial in range(trials):
        dealt = data.deal(x, y, USUAL, seed + trial)
        for summary, align, shown in _RUNS:
            found = simulate(
                dealt.x, dealt.y, clients=dealt.sites, epsilon=EPSILON, partition=dealt.owner,
                switch_labels=True, seed=seed + trial, site_shift=shift, summary=summary,
                align=align, baselines=tuple(shown.keys() - {"FL"}),
            ).trials[0].accuracy  # fmt: skip
            for name, heading in shown.items():
                accuracy[heading].append(found[name])
    return {
        "data": data.name,
        "shift": shift,
        "trials": trials,
        "accuracy": {name: summarize(found) for name, found in accuracy.items()},
    }


def _table(rows: list[dict[str, Any]]) -> Table:
    return Table(
        "Accuracy, percent",
        ["data", "S", "trials", *_COLUMNS],
        [
            [
                row["data"], f"{row['shift']:g}", str(row["trials"]),
                *(score(row["accuracy"][name]) for name in _COLUMNS),
            ]
            for row in rows
        ],
    )  # fmt: skip
