"""Data sets, and how their cells are dealt out to sites that differ."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from fedhull.data.datasets import load_dataset, load_raw
from fedhull.data.generated import make_tree
from fedhull.embed.cells import Cells
from fedhull.embed.neighbours import NeighbourEmbedder
from fedhull.errors import InvalidInput, MissingExtra
from fedhull.simulation.experiment import Experiment
from fedhull.simulation.sites import partition

BY_DONOR = "donors"
DONORS = 20
_LARGE, _QUICK_POINTS = 10_000, 2_000


class Split(NamedTuple):
    """`shares` are those of a partition, or "donors:A": cells of donors whose mixtures are
    Dirichlet(A), each donor at one of the `sites`."""

    shares: str
    sites: int

    @property
    def words(self) -> str:
        """What the shares are called in tables."""
        kind, _, alpha = self.shares.partition(":")
        return {"iid": "equal", BY_DONOR: f"by donor, {alpha}"}.get(kind, f"Dirichlet {alpha}")


# One thing is varied at a time, from Dirichlet(0.5) and ten sites.
USUAL = Split("dirichlet:0.5", 10)
SPLITS = (
    Split("dirichlet:0.1", 10), USUAL, Split("dirichlet:5", 10), Split("iid", 10),
    Split("dirichlet:0.5", 5), Split("dirichlet:0.5", 20),
)  # fmt: skip
DONOR_SPLITS = (
    Split("donors:0.1", 10), Split("donors:0.5", 10), Split("donors:5", 10),
    Split("donors:0.5", 5), Split("donors:0.5", 20),
)  # fmt: skip


class Dealt(NamedTuple):
    """Points x (n, 2), labels y (n,), and the site (n,) of each, 0..sites−1."""

    x: np.ndarray
    y: np.ndarray
    owner: np.ndarray
    sites: int


@dataclass(frozen=True)
class DataSet:
    """Its name, how it is loaded, and the splits it is measured with."""

    name: str
    load: Callable[[], tuple[np.ndarray | Cells, np.ndarray]]
    splits: tuple[Split, ...] = SPLITS

    def deal(self, x: np.ndarray | Cells, y: np.ndarray, split: Split, seed: int) -> Dealt:
        """The points, or new ones for splits by donor, and the site of each."""
        kind, _, alpha = split.shares.partition(":")
        if kind != BY_DONOR:
            return deal(x, y, split, seed)
        # the same few donors in every trial would make the intervals too narrow
        tree = make_tree(len(x), donors=DONORS, batches=DONORS, mixing=float(alpha), seed=seed)
        return Dealt(tree.x, tree.y, tree.donor % split.sites, split.sites)


class Trials(NamedTuple):
    """How many of a data set, of a large one, and of anything if there is little time."""

    usual: int
    if_large: int
    quick: int


class Loaded(NamedTuple):
    """A data set, its points and labels, and how many trials are made of it."""

    data: DataSet
    x: np.ndarray | Cells
    y: np.ndarray
    trials: int


def load_each(
    chosen: Iterable[DataSet], trials: Trials, quick: bool, seed: int, missing: list[str]
) -> Iterator[Loaded]:
    """The data sets one after the other, if there is little time a part of each. One that is not on
    this machine does not stop the others: a sentence about it is added to `missing`."""
    for data in chosen:
        try:
            x, y = data.load()
        except (InvalidInput, MissingExtra) as problem:
            missing.append(f"Without {data.name}: {problem}.")
            continue
        if quick:
            some = np.random.default_rng(seed).permutation(len(x))[:_QUICK_POINTS]
            yield Loaded(data, x[some], y[some], trials.quick)
        else:
            yield Loaded(data, x, y, trials.if_large if len(x) > _LARGE else trials.usual)


def deal(x: np.ndarray | Cells, y: np.ndarray, split: Split, seed: int) -> Dealt:
    """The points as `simulate` deals them out, except that sites which get none take no part:
    with very unequal shares there are such sites, and no study would ask them. Raw cells are placed
    by an encoder that has seen the training cells of this split only."""
    train = _training_rows(len(y), seed)
    owner = np.zeros(len(y), dtype=np.int64)  # whose the test points are does not matter
    present, owner[train] = np.unique(
        partition(y[train], split.sites, split.shares, seed), return_inverse=True
    )
    points = _placed(x, seed) if isinstance(x, Cells) else x
    return Dealt(points, y, owner, len(present))


@lru_cache(maxsize=32)
def _placed(cells: Cells, seed: int) -> np.ndarray:
    """Points of all cells, from an encoder that is fitted to the training cells of one split."""
    return NeighbourEmbedder().fit(cells[_training_rows(len(cells), seed)]).transform(cells)


def _training_rows(n: int, seed: int) -> np.ndarray:
    # scikit-learn takes longer to import than all the rest
    from sklearn.model_selection import train_test_split

    train, _ = train_test_split(np.arange(n), test_size=Experiment.test_size, random_state=seed)
    return np.asarray(train)


def _built_in(name: str) -> Callable[[], tuple[np.ndarray | Cells, np.ndarray]]:
    return lambda: load_raw(name, "label") or load_dataset(name)


DATA = (
    DataSet("Paul", _built_in("paul")),
    DataSet("Olsson", _built_in("olsson")),
    DataSet("Lung-Human", _built_in("lung-all")),
    DataSet("PBMC", _built_in("pbmc68k")),
    DataSet("Fashion-MNIST", _built_in("fashion-mnist")),
    DataSet("tree", _built_in("tree")),
    DataSet("synthetic", _built_in("synthetic")),
    DataSet("tree with donors", _built_in("tree"), DONOR_SPLITS),
)
