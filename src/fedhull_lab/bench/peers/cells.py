"""The data sets of the comparison, and the splits of each trial."""

from dataclasses import dataclass
from functools import cached_property
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

from fedhull import Cells, NeighbourEmbedder, poincare_to_hyperboloid
from fedhull.extend import (
    Products,
    choose_genes,
    load_dataset,
    load_raw,
    partition,
    rehearse_neighbours,
)
from fedhull_lab.reproduce.dealing import TEST_SIZE

SITES = 10
SHARES = {"equal": "iid", "Dirichlet 0.5": "dirichlet:0.5"}
# An encoder is made of no fewer cells, by a site alone or with others.
FEWEST = 10
_AXES = 50


class Content(NamedTuple):
    """Raw cells, or points (n, 2) of the disc, and their labels (n,)."""

    x: Cells | np.ndarray
    y: np.ndarray


@dataclass(frozen=True)
class DataSet:
    """A data set: its name on the command line, its title, its number of trials."""

    name: str
    title: str
    built_in: str
    trials: int = 5

    def load(self) -> Content:
        """The cells with a label: nobody, encoders included, is shown any other."""
        raw = load_raw(self.built_in, "label")
        if raw is None:
            return Content(*load_dataset(self.built_in))
        cells, y = raw
        kept = np.flatnonzero(y != "")
        return Content(cells[kept], y[kept])


DATA = (
    DataSet("lung", "Lung-Human, 5 types", "lung"),
    DataSet("lung-all", "Lung-Human, 13 types", "lung-all"),
    DataSet("paul", "Paul", "paul"),
    DataSet("fashion-mnist", "Fashion-MNIST", "fashion-mnist", trials=3),
)
QUICK_DATA, QUICK_TRIALS = ("lung", "paul"), 2


class Placed(NamedTuple):
    """Points (n, 2) of all cells, and the cost of placing them: seconds, bytes of the site that
    sent most, rounds, and messages from each site."""

    points: np.ndarray
    seconds: float = 0.0
    bytes_up: int = 0
    rounds: int = 0
    messages: int = 0


@dataclass(frozen=True, eq=False)
class Trial:
    """One split into training and test cells, as `simulate` makes it. Whatever is fitted here is
    fitted to training cells."""

    content: Content
    seed: int

    @cached_property
    def _rows(self) -> list[np.ndarray]:
        # scikit-learn takes longer to import than all the rest
        from sklearn.model_selection import train_test_split

        rows = np.arange(len(self.content.y))
        found: list[np.ndarray] = train_test_split(
            rows, test_size=TEST_SIZE, random_state=self.seed
        )
        return found

    @property
    def train(self) -> np.ndarray:
        """The rows of training cells."""
        return self._rows[0]

    @property
    def test(self) -> np.ndarray:
        """The rows that every method is scored on."""
        return self._rows[1]

    @property
    def cells(self) -> Cells | None:
        """Raw cells, if there are counts."""
        return self.content.x if isinstance(self.content.x, Cells) else None

    @cached_property
    def pooled(self) -> Placed:
        """Points of all cells from an encoder of all training cells in one place."""
        if not isinstance(self.content.x, Cells):
            return Placed(self.content.x)
        begin = perf_counter()
        encoder = NeighbourEmbedder().fit(self.content.x[self.train])
        points = encoder.transform(self.content.x)
        return Placed(points, perf_counter() - begin)

    @cached_property
    def linear(self) -> np.ndarray:
        """Input of a linear peer: principal axes of the genes, or standardised coordinates on
        the hyperboloid, in which our own classifier is linear too."""
        if self.cells is not None:
            return self.flat
        x = poincare_to_hyperboloid(np.asarray(self.content.x))
        return (x - x[self.train].mean(axis=0)) / x[self.train].std(axis=0)

    @cached_property
    def flat(self) -> np.ndarray:
        """Input of a peer with a kernel: principal axes of the genes, or the tangent plane at
        the origin, where distances from the origin are right."""
        if self.cells is not None:
            standard = choose_genes(self.cells[self.train])
            products = Products.of(standard.preparation, self.cells[self.train])
            return products.scaled(standard).axes(_AXES).features(standard, self.cells)
        x = np.asarray(self.content.x)
        radius = np.hypot(*x.T)
        return x * (2.0 * np.arctanh(radius) / np.maximum(radius, 1e-12))[:, None]


@dataclass(frozen=True, eq=False)
class Deal:
    """The training cells of a trial, dealt out to sites."""

    trial: Trial
    shares: str

    @cached_property
    def owner(self) -> np.ndarray:
        """The site, 0…, of each training cell. A site that gets no cells takes no part."""
        y = self.trial.content.y[self.trial.train]
        dealt = partition(y, SITES, self.shares, self.trial.seed)
        return np.unique(dealt, return_inverse=True)[1]

    @property
    def sites(self) -> list[np.ndarray]:
        """The rows of each site."""
        return [self.trial.train[self.owner == i] for i in range(self.owner.max() + 1)]

    @cached_property
    def sums(self) -> Placed:
        """Points of all cells from an encoder that the sites make from masked sums."""
        cells = self.trial.cells
        if cells is None:
            return Placed(np.asarray(self.trial.content.x))
        begin = perf_counter()
        held = [cells[rows] for rows in self.sites if len(rows) >= FEWEST]
        rehearsed = rehearse_neighbours(held)
        points = rehearsed.outcome.encoder.transform(cells)
        seconds = perf_counter() - begin
        rounds, messages = exchanges(rehearsed)
        most = max(rehearsed.outcome.record.bytes_up.values())
        return Placed(points, seconds, most, rounds, messages)


def exchanges(rehearsed: Any) -> tuple[int, int]:
    """Rounds of a study, and messages that each site sent in all of them."""
    rounds = max(len(site.rounds) for site in rehearsed.sites.values())
    steps = set(rehearsed.outcome.record.seconds)
    # proposed is once at most, every other step is one of every round
    return rounds, rounds * len(steps - {"propose"}) + ("propose" in steps)
