"""Where the encoder comes from: all training cells in one place, sums of what sites send, or the
largest site; and what a correction for how sites measure is good for."""

from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_matrix

from fedhull.data.datasets import load_raw
from fedhull.embed.cells import Cells
from fedhull.embed.features import FEWEST_TO_CORRECT, NO_CORRECTION, Correction
from fedhull.errors import InvalidInput
from fedhull.progress import Report
from fedhull.reproduce.dealing import Split
from fedhull.reproduce.finding import Finding, Table, counted, score
from fedhull.simulation.experiment import FRAMES, Experiment
from fedhull.simulation.result import summarize
from fedhull.simulation.simulate import simulate
from fedhull.simulation.sites import partition
from fedhull.study.federated import rehearse_neighbours

EPSILON = 0.01
DATA = {"lung-all": "Lung-Human, 13 types", "lung": "Lung-Human, five types"}
SPLITS = (Split("iid", 3), Split("dirichlet:0.5", 10))
TRIALS, QUICK_TRIALS = 5, 1
# How sites measure: factors of genes are e to a normal variate of this deviation.
EFFECTS = (0.0, 1.0)
CORRECTED_SPLITS = (Split("iid", 5), Split("dirichlet:0.5", 5))
CORRECTIONS: tuple[Correction, ...] = ("none", "centre", "scale")
CORRECTED_TRIALS = 3
REMARKS = [
    "Encoder and classifier are fitted to training cells only; test cells are placed like new "
    "ones. *Pooled*: the default embedder, fitted to all training cells in one place. *Sums*: the "
    "sites make it together, of three masked sums, with the defaults of a study; 10 % of each "
    "site's cells are held out to judge it. *Reference*: fitted to the cells of the largest site. "
    "Cells of types other than the five are at the sites as well, and are seen by the encoder "
    "only. Moments, labels switched; percent of test cells, 95 % intervals over splits.",
    "The second table has generated differences in how sites measure: a site's counts of each gene "
    "are multiplied by a factor of its own, and rounded at random. A correction moves each site's "
    "cells along the principal axes to the mean of all sites' cells (*centre*), or stretches them "
    "to their variance as well (*scale*). It helps where sites measure differently, and costs "
    "accuracy where they measure alike and have different types: what is taken for the way a site "
    "measures is then which types it has. *Aligned* is with sites that align themselves by "
    "their classes afterwards (the default of moments), *not aligned* without.",
]


class Measured(NamedTuple):
    """Cells as their sites measure them, labels, and whose they are."""

    cells: Cells
    y: np.ndarray
    owner: np.ndarray


def frame(quick: bool, seed: int, report: Report) -> Finding:
    """Accuracies by frame, and by correction."""
    trials = QUICK_TRIALS if quick else TRIALS
    corrected_trials = QUICK_TRIALS if quick else CORRECTED_TRIALS
    n_corrected = len(CORRECTED_SPLITS) * len(EFFECTS) * len(CORRECTIONS)
    step = counted(report, len(DATA) * len(SPLITS) * len(FRAMES) + n_corrected)
    rows = []
    for name, words in DATA.items():
        cells, y = _raw(name)
        for split in SPLITS:
            row: dict[str, Any] = {"data": words, "shares": split.words, "sites": split.sites}
            for which in FRAMES:
                step(f"{words}, {split.words}, {which}")
                row[which] = simulate(
                    cells, y, clients=split.sites, epsilon=EPSILON, partition=split.shares,
                    summary="moments", switch_labels=True, trials=trials, seed=seed, frame=which,
                ).accuracy["FL"]  # fmt: skip
            rows.append(row)
    corrections = [
        _corrected_row(split, effect, corrected_trials, seed, step)
        for split in CORRECTED_SPLITS
        for effect in EFFECTS
    ]
    return Finding(
        "Where the encoder comes from",
        [_frames(rows), _corrections(corrections)],
        {"frames": rows, "corrections": corrections},
        remarks=REMARKS,
    )


def _raw(name: str) -> tuple[Cells, np.ndarray]:
    found = load_raw(name, "label")
    assert found is not None
    return found


def _corrected_row(
    split: Split, effect: float, trials: int, seed: int, step: Any
) -> dict[str, Any]:
    """Accuracies with each correction, aligned and not."""
    cells, y = _raw("lung-all")
    row: dict[str, Any] = {"shares": split.words, "sites": split.sites, "effect": effect}
    for correction in CORRECTIONS:
        step(f"{split.words}, effect {effect:g}, {correction}")
        found: dict[int, list[float]] = {0: [], 2: []}
        for trial in range(seed, seed + trials):
            measured = measure(cells, y, split, effect, trial)
            x = place(measured, correction, trial)
            for align, scores in found.items():
                result = simulate(
                    x, y, clients=split.sites, epsilon=EPSILON, partition=measured.owner,
                    summary="moments", switch_labels=True, seed=trial, align=align,
                )  # fmt: skip
                scores.append(result.accuracy["FL"]["mean"])
        row[correction] = {"not aligned": summarize(found[0]), "aligned": summarize(found[2])}
    return row


def measure(cells: Cells, y: np.ndarray, split: Split, effect: float, seed: int) -> Measured:
    """Cells, dealt out to sites each of which measures every gene with a factor of its own."""
    owner = partition(y, split.sites, split.shares, seed)
    rng = np.random.default_rng(seed)
    x = csr_matrix(cells.x, dtype=np.float64, copy=True)
    factors = np.exp(rng.normal(0.0, effect, (split.sites, x.shape[1])))
    site = np.repeat(owner, np.diff(x.indptr))
    x.data = np.floor(x.data * factors[site, x.indices] + rng.random(x.nnz))
    x.eliminate_zeros()
    return Measured(Cells(x, cells.genes), y, owner)


def place(measured: Measured, correction: Correction, seed: int) -> np.ndarray:
    """Points of all cells, from an encoder that sites make of their training cells; cells of sites
    that are too small to be corrected are placed as they are."""
    # scikit-learn takes longer to import than all the rest
    from sklearn.model_selection import train_test_split

    cells, _, owner = measured
    train, _ = train_test_split(
        np.arange(len(cells)), test_size=Experiment.test_size, random_state=seed
    )
    sites = [np.flatnonzero(owner == site) for site in np.unique(owner)]
    training = [np.intersect1d(rows, train) for rows in sites]
    large = [len(rows) >= 2 * FEWEST_TO_CORRECT for rows in training]
    held = [cells[rows] for rows, enough in zip(training, large, strict=True) if enough]
    if len(held) < 2:
        raise InvalidInput("there must be two sites that are large enough to be corrected")
    encoder: Any = rehearse_neighbours(held, correction=correction).outcome.encoder
    x = np.empty((len(cells), 2))
    for rows, enough in zip(sites, large, strict=True):
        encoder.correction = correction if enough else NO_CORRECTION
        x[rows] = encoder.transform(cells[rows])
    return x


def _frames(rows: list[dict[str, Any]]) -> Table:
    return Table(
        "Accuracy by frame",
        ["data", "shares", "sites", *FRAMES],
        [
            [row["data"], row["shares"], str(row["sites"]), *(score(row[f]) for f in FRAMES)]
            for row in rows
        ],
    )


def _corrections(rows: list[dict[str, Any]]) -> Table:
    columns = [f"{how}, {which}" for how in ("not aligned", "aligned") for which in CORRECTIONS]
    return Table(
        "Accuracy by correction, Lung-Human, 13 types",
        ["shares", "sites", "effect", *columns],
        [
            [
                row["shares"],
                str(row["sites"]),
                f"{row['effect']:g}",
                *(
                    score(row[which][how])
                    for how in ("not aligned", "aligned")
                    for which in CORRECTIONS
                ),
            ]
            for row in rows
        ],
    )
