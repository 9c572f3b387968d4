"""Rows of fedhull: sites alone, all cells pooled, the paper's method, hulls, moments."""

import io
from collections.abc import Mapping
from time import perf_counter
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix, save_npz

from fedhull import LorentzClassifier, NeighbourEmbedder, simulate
from fedhull_lab.bench.peers.cells import FEWEST, Deal, exchanges
from fedhull_lab.bench.peers.measured import Measured, Method, Options, share_right
from fedhull_lab.reproduce.accuracy import PAPER

EPSILON = 0.01
PROMISE = {"dp_epsilon": 4.0, "dp_delta": 1e-5}
# Encoders place no cell farther out; where points are given, the data say how far out they are.
_RADIUS = 0.99


def alone(deal: Deal, options: Options) -> Measured:
    """Score each site's own classifier of cells that its own encoder places; the mean of all."""
    trial, scores = deal.trial, []
    y = trial.content.y
    begin = perf_counter()
    for rows in deal.sites:
        if len(np.unique(y[rows])) == 1 or len(rows) < FEWEST:
            # nothing to learn from: the site says what it has most of
            names, counts = np.unique(y[rows], return_counts=True)
            found = np.full(len(trial.test), names[counts.argmax()])
        else:
            x = trial.content.x
            if trial.cells is not None:
                x = NeighbourEmbedder().fit(trial.cells[rows]).transform(trial.cells)
            found = LorentzClassifier().fit(x[rows], y[rows]).predict(x[trial.test])
        scores.append(share_right(found, deal))
    return Measured(float(np.mean(scores)), trial.test, seconds=perf_counter() - begin)


def pooled(deal: Deal, options: Options) -> Measured:
    """Encoder and classifier of all training cells in one place."""
    trial, placed = deal.trial, deal.trial.pooled
    begin = perf_counter()
    model = LorentzClassifier().fit(placed.points[trial.train], trial.content.y[trial.train])
    found = model.predict(placed.points[trial.test])
    seconds = placed.seconds + perf_counter() - begin
    return Measured(share_right(found, deal), trial.test, 1, 1, carried(deal), seconds)


def carried(deal: Deal) -> int:
    """Bytes of the largest site's cells, compressed: what it sends if cells are pooled."""
    rows = max(deal.sites, key=len)
    cells = deal.trial.cells
    file = io.BytesIO()
    if cells is not None:
        save_npz(file, csr_matrix(cells.x[rows]))
    else:
        np.savez_compressed(file, x=np.asarray(deal.trial.content.x)[rows])
    return file.tell() + len(rows)  # and a byte for each cell's class


def _study(settings: Mapping[str, Any]) -> Any:
    """A study with these settings, every site with an order of its classes of its own."""

    def run(deal: Deal, options: Options) -> Measured:
        trial, placed = deal.trial, deal.sums
        owner = np.zeros(len(trial.content.y), dtype=np.int64)
        owner[trial.train] = deal.owner
        raw = trial.cells is not None
        result = simulate(
            placed.points, trial.content.y, clients=len(deal.sites), epsilon=EPSILON,
            partition=owner, switch_labels=True, seed=trial.seed,
            radius=_RADIUS if raw else None, **settings,
        )  # fmt: skip
        found = result.trials[0]
        rounds, messages = exchanges(found.session)
        return Measured(
            found.accuracy["FL"],
            found.test,
            placed.rounds + rounds,
            placed.messages + messages,
            placed.bytes_up + max(found.bytes_up.values()),
            placed.seconds + sum(found.seconds.values()),
        )

    return run


# not on PyPI yet: what works is an installation from a checkout
_HAVE = ("fedhull", "pip install .")
ALONE = Method("each site alone", "nothing", True, *_HAVE, alone)
POOLED = Method(
    "pooled LorentzClassifier", "all cells", False, *_HAVE, pooled, pooled=True
)  # fmt: skip
PAPER_ROW = Method(
    "the paper", "sums; corners of hulls are cells", True, *_HAVE, _study(PAPER)
)  # fmt: skip
HULLS = Method("hulls", "sums; corners are means of ≥ 5 cells", True, *_HAVE, _study({}), ours=True)
MOMENTS = Method(
    "moments",
    "sums over all sites; of each class, unnamed, a count and up to 13 numbers",
    True,
    *_HAVE,
    _study({"summary": "moments"}),
    ours=True,
)
PRIVATE = Method(
    "moments, ε = 4", "sums over all sites, with noise", True, *_HAVE,
    _study({"summary": "moments", **PROMISE}), ours=True,
)  # fmt: skip
