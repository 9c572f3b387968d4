"""Who holds which points: equal shares, Dirichlet shares, or by a column of the data."""

from collections.abc import Sequence
from itertools import chain, count
from typing import Any

import numpy as np

from fedhull.errors import InvalidInput
from fedhull.text import printable

_LONGEST_NAME = 60


def partition(y: np.ndarray, n_clients: int, how: str = "iid", seed: int = 0) -> np.ndarray:
    """The client, 0..n_clients−1, of each point.

    ``iid`` deals every class out in equal shares, as in the paper; ``dirichlet:A`` in shares drawn
    from a Dirichlet distribution: the smaller A, the more unequal, and classes may be missing.
    """
    rng = np.random.default_rng(seed)
    kind, _, parameter = how.partition(":")
    if kind == "iid" and not parameter:
        return _in_shares(y, rng, lambda: np.full(n_clients, 1.0 / n_clients))
    try:
        alpha = float(parameter)
    except ValueError:
        alpha = 0.0
    if kind != "dirichlet" or not 0.0 < alpha < float("inf"):
        raise InvalidInput(
            f"partition must be 'iid', 'dirichlet:A' with A > 0, or 'column:NAME', got {how!r}"
        )
    return _in_shares(y, rng, lambda: rng.dirichlet(np.full(n_clients, alpha)))


def names_of_owners(owners: Sequence[Any]) -> list[str]:
    """What the owners that a column names are called where people read it: in visible characters,
    none too long, no two alike.

    >>> names_of_owners(["donor 1", "donor\\x1b 2", "", "x" * 90])[:3]
    ['donor 1', 'donor\\\\x1b 2', 'site 3']
    """
    names: list[str] = []
    for i, owner in enumerate(owners, start=1):
        name = " ".join(printable(owner).split())[:_LONGEST_NAME] or f"site {i}"
        numbered = (f"{name} ({n})" for n in count(2))
        names.append(next(each for each in chain([name], numbered) if each not in names))
    return names


def _in_shares(y: np.ndarray, rng: np.random.Generator, draw) -> np.ndarray:  # type: ignore[no-untyped-def]
    owner = np.empty(len(y), dtype=np.int64)
    for label in np.unique(y):
        members = rng.permutation(np.flatnonzero(y == label))
        edges = np.round(np.cumsum(draw()) * len(members)).astype(int)
        owner[members] = np.searchsorted(edges, np.arange(len(members)), side="right")
    return np.minimum(owner, owner.max())
