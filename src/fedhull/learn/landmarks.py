"""Where the classes of a model lie: a centre and a spread for each, from which cells can be too far
to be of any of them.

The farness of a cell is its distance to the nearest centre, in units of that class's spread. It
says nothing about which class a cell is of, only whether it is near any: a model is asked to choose
between its classes, and chooses also for a cell that is of none.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from fedhull.disc.maps import pairwise_distance
from fedhull.disc.points import check_curvature
from fedhull.learn.centres import Centres

# No class is taken to be narrower than this, in units of 1/√k.
NARROWEST = 0.05


@dataclass(frozen=True, repr=False)
class Landmarks:
    """centres (J, 2) of the classes in the disc, spreads (J,) as distances."""

    centres: np.ndarray
    spreads: np.ndarray

    def farness(self, points: ArrayLike, curvature: float = 1.0) -> np.ndarray:
        """How far points (n, 2) are from the nearest class, in units of its spread: (n,).

        >>> marks = Landmarks(np.array([[0.0, 0.0], [0.8, 0.0]]), np.array([1.0, 0.5]))
        >>> marks.farness([[0.0, 0.0], [0.5, 0.0], [0.8, 0.0]]).round(2)
        array([0. , 1.1, 0. ])
        """
        away = pairwise_distance(points, self.centres, curvature) / self.spreads
        return away.min(axis=1)

    def to_lists(self) -> list[list[float]]:
        """A row for each class: its centre, its spread."""
        return np.column_stack((self.centres, self.spreads)).tolist()

    @classmethod
    def from_lists(cls, rows: list[list[float]]) -> "Landmarks":
        """The inverse of `to_lists`."""
        table = np.array(rows, dtype=np.float64)
        return cls(table[:, :-1], table[:, -1])


def landmarks_of_centres(centres: Centres, curvature: float = 1.0) -> Landmarks:
    """Of classes whose centres are known; what it says of a class without cells is nothing."""
    root = np.sqrt(check_curvature(curvature))
    spreads = np.maximum(np.sqrt(2.0 * centres.scatter()), NARROWEST) / root
    return Landmarks(centres.points(curvature), spreads)
