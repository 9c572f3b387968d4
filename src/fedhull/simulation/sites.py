"""The sites of a simulation: who holds which points, and how each site is measured differently."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, count
from typing import Any

import numpy as np

from fedhull.disc.isometry import Isometry, random_isometry
from fedhull.errors import InvalidInput
from fedhull.rounds.centres import isometry_of
from fedhull.study.draft import site_name
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
    """Visible, short and different names for the owners in a column.

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


@dataclass(frozen=True, repr=False)
class Shifts:
    """Isometries that move the cells of each site; none if there are none."""

    isometries: tuple[Isometry, ...] = ()

    @classmethod
    def draw(
        cls, sites: int, length: float, curvature: float, rng: np.random.Generator
    ) -> "Shifts":
        """One isometry of this length for each site."""
        if length == 0.0:
            return cls()
        return cls(tuple(random_isometry(length, rng, curvature) for _ in range(sites)))

    def at_site(self, points: np.ndarray, site: int) -> np.ndarray:
        """Points (n, 2) as a site would measure them."""
        return self.isometries[site].apply(points) if self.isometries else points

    def measured(self, points: np.ndarray, owner: np.ndarray) -> np.ndarray:
        """Points (n, 2), each as the site that owns it (n,) measures it."""
        if not self.isometries:
            return points
        moved = points.copy()
        for site, isometry in enumerate(self.isometries):
            if (owner == site).any():
                moved[owner == site] = isometry.apply(points[owner == site])
        return moved


@dataclass(frozen=True, repr=False)
class Tests:
    """Test cells (n, 2) with classes (n,), and the sites (n,) that they belong to."""

    x: np.ndarray
    y: np.ndarray
    owner: np.ndarray
    shifts: Shifts

    @property
    def measured(self) -> np.ndarray:
        """The cells as their sites measure them."""
        return self.shifts.measured(self.x, self.owner)

    def moved_back(self, sites: Mapping[str, Any]) -> np.ndarray:
        """The cells as their sites move them by what they have learned."""
        moved = self.measured.copy()
        for site in np.unique(self.owner).tolist():
            isometry = isometry_of(sites[site_name(site)].own)
            if isometry is not None:
                mine = self.owner == site
                moved[mine] = isometry.apply(moved[mine])
        return moved


def owners_of_tests(
    y: np.ndarray, owner: np.ndarray, test_y: np.ndarray, rng: np.random.Generator
) -> np.ndarray:
    """Sites (m,) of test cells (m,), drawn from the training cells (n,) of the same class."""
    owners = np.empty(len(test_y), dtype=np.int64)
    for name in np.unique(test_y):
        mine = test_y == name
        among = owner[y == name]
        owners[mine] = rng.choice(among if len(among) else owner, int(mine.sum()))
    return owners
