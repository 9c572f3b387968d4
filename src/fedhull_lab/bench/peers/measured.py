"""Methods of the comparison, and the score of one on one trial."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from fedhull_lab.bench.peers.cells import Deal

# Why a method that reads genes has no row where only points are published.
NEEDS_GENES = "needs genes"


@dataclass(frozen=True)
class Measured:
    """The score of a method: percent of the rows `test` that are classified correctly; rounds, in
    which sites and server exchange a model or a sum, and messages that each site sends for them;
    bytes of the site that sends most; seconds of all parties together; the share of cells that
    leaves in clear, where any does."""

    accuracy: float
    test: np.ndarray
    rounds: int = 0
    messages: int = 0
    bytes_up: int = 0
    seconds: float = 0.0
    share_sent: float | None = None


@dataclass(frozen=True)
class Options:
    """Choices of the user: an interpreter that has CellTypist, the rounds of FedAvg, and a listener
    that hears of installations."""

    celltypist: Path | None = None
    rounds: tuple[int, ...] = (20, 100)
    tell: Callable[[str], None] = lambda sentence: None


@dataclass(frozen=True)
class Method:
    """A row of the table: its name, what leaves a site, whether sites may name their classes as
    they like, its distribution, and the command that installs it. With `pooled` it does not matter
    to whom the cells were dealt."""

    name: str
    leaves: str
    names_may_differ: bool
    package: str
    install: str
    run: Callable[[Deal, Options], Measured]
    ours: bool = False
    pooled: bool = False
    needs_genes: bool = False


def share_right(found: np.ndarray, deal: Deal) -> float:
    """The percentage of test cells whose class was found, given a class for each of them."""
    return float(np.mean(found == deal.trial.content.y[deal.trial.test]) * 100.0)
