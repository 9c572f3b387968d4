"""Sites that are measured differently: every site's cells are moved by an isometry of its own."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from fedhull.disc.isometry import Isometry, random_isometry
from fedhull.study.draft import site_name


@dataclass(frozen=True, repr=False)
class Shifts:
    """What moves the cells of each site; nothing does if there are none."""

    isometries: tuple[Isometry, ...] = ()

    @classmethod
    def draw(
        cls, sites: int, length: float, curvature: float, rng: np.random.Generator
    ) -> "Shifts":
        """Isometries of this length for so many sites."""
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
        found = points.copy()
        for site, isometry in enumerate(self.isometries):
            if (owner == site).any():
                found[owner == site] = isometry.apply(points[owner == site])
        return found


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
        found = self.measured.copy()
        for site in np.unique(self.owner).tolist():
            isometry = sites[site_name(site)].isometry
            if isometry is not None:
                mine = self.owner == site
                found[mine] = isometry.apply(found[mine])
        return found


def owners_of_tests(
    y: np.ndarray, owner: np.ndarray, test_y: np.ndarray, rng: np.random.Generator
) -> np.ndarray:
    """Sites (m,) of test cells with classes (m,), dealt out as training cells (n,) of the same
    class are."""
    found = np.empty(len(test_y), dtype=np.int64)
    for name in np.unique(test_y):
        mine = test_y == name
        among = owner[y == name]
        found[mine] = rng.choice(among if len(among) else owner, int(mine.sum()))
    return found
