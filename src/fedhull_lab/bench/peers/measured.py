"""What a method is scored with: one trial, one way to deal cells out."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from fedhull_lab.bench.peers.cells import Deal

# Why a method that reads genes has no row where only points are published.
NEEDS_GENES = "needs genes"


@dataclass(frozen=True)
class Measured:
    """The percentage of the rows `test` that are classified correctly; how often sites and server
    exchange a model or a sum, and how many messages each site sends for it; the most bytes that a
    site sends; seconds of all parties together; which share of the cells leaves as it is, if any
    does."""

    accuracy: float
    test: np.ndarray
    rounds: int = 0
    messages: int = 0
    bytes_up: int = 0
    seconds: float = 0.0
    share_sent: float | None = None


@dataclass(frozen=True)
class Options:
    """What the user chooses: an interpreter that has CellTypist, how many rounds FedAvg takes, and
    who hears what is installed."""

    celltypist: Path | None = None
    rounds: tuple[int, ...] = (20, 100)
    tell: Callable[[str], None] = lambda sentence: None


@dataclass(frozen=True)
class Method:
    """A row of the table: what it is called, what leaves a site, whether sites may call their
    classes what they like, the distribution that it is in, and what a user types to have it. With
    `pooled` it does not matter to whom the cells were dealt."""

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
