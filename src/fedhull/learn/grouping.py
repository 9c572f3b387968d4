"""Groupings: hulls of different clients sorted into classes (Sec. 5.6, App. H).

The server has hulls and knows which come from the same, unnamed, client. A grouping sorts them into
J global classes: `matching`, ours, or the paper's `kernighan-lin` and `spectral`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from inspect import signature
from typing import Any, NamedTuple, Protocol

import numpy as np

from fedhull.errors import InvalidInput
from fedhull.registry import Registry, name_of

# A match that is less certain than this is marked.
DOUBTFUL_BELOW = 0.9


class Slots(NamedTuple):
    """Cells behind hulls: their counts (n,), and the means of their sketches (n, 8)."""

    counts: np.ndarray
    means: np.ndarray


@dataclass(frozen=True)
class Matched:
    """The class, 0, 1, …, of each hull or slot, in order of appearance, and how certain that is.

    groups, certainty : (n,). A certainty is an estimate of the probability that a match is right,
    given the other sites' matches; None if the grouping does not say.
    """

    groups: np.ndarray
    certainty: np.ndarray | None = None

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return int(self.groups.max()) + 1

    @property
    def doubtful(self) -> np.ndarray:
        """Mask (n,) of matches that a person should look at: those less certain than 0.9."""
        if self.certainty is None:
            return np.zeros(len(self.groups), dtype=bool)
        return self.certainty < DOUBTFUL_BELOW


class Grouping(Protocol):
    """A rule that sorts hulls into classes. One that has a parameter `slots` is also given counts
    and sketches of the cells behind the hulls."""

    def __call__(
        self,
        hulls: Sequence[np.ndarray],
        owners: np.ndarray,
        n_groups: int,
        *,
        curvature: float,
        seed: int,
    ) -> np.ndarray | Matched:
        """The group, 0..n_groups−1, of each hull (m, d) of owners (n,): (n,), or `Matched`."""


GROUPINGS: Registry[Grouping] = Registry("grouping", "fedhull.groupings")


def match_hulls(
    hulls: Sequence[np.ndarray] | None,
    clients: Sequence[int],
    n_groups: int,
    method: str | Grouping = "matching",
    curvature: float = 1.0,
    seed: int = 0,
    slots: Slots | None = None,
) -> Matched:
    """Sort hulls into `n_groups` classes, numbered as they appear; clients[i] is hull i's client.

    `method` is a grouping or the name of one. With 0 groups, their number is found, and without
    hulls the method must go by slots, if it can do that.

    >>> a, b = np.array([[0.8, 0.0]]), np.array([[-0.8, 0.0]])
    >>> match_hulls([a, b, b, a], clients=[0, 0, 1, 1], n_groups=2).groups.tolist()
    [0, 1, 1, 0]
    """
    grouping: Any = GROUPINGS.resolve(method)
    by_slots = "slots" in signature(grouping).parameters
    if hulls is None and not by_slots:
        raise InvalidInput(
            f"grouping {name_of(method)!r} sorts hulls, and here there are none; use 'matching', "
            f"which goes by the sketches of cells"
        )
    given = {"slots": slots} if by_slots else {}
    answer = grouping(hulls, np.asarray(clients), n_groups, curvature=curvature, seed=seed, **given)
    matched = answer if isinstance(answer, Matched) else Matched(np.asarray(answer))
    _check(matched.groups, len(clients), n_groups, name_of(method))
    return Matched(numbered_by_appearance(matched.groups), matched.certainty)


def _check(groups: np.ndarray, n: int, n_groups: int, method: str) -> None:
    """Hold a grouping to its contract; groupings may come from anywhere."""
    if groups.shape != (n,) or groups.dtype.kind not in "iu":
        raise InvalidInput(
            f"grouping must return a whole number for each of the {n} hulls, but {method} returned "
            f"an array of shape {groups.shape} and type {groups.dtype}"
        )
    if len(np.unique(groups)) > (n_groups or n):
        raise InvalidInput(
            f"grouping must sort the hulls into at most {n_groups} groups, but {method} made "
            f"{len(np.unique(groups))}"
        )


def share_matched(groups: np.ndarray, truth: list[Any]) -> float:
    """The share of hulls in the right group, groups and classes paired as well as possible."""
    # slow to import, and not needed where a grouping is only named
    from scipy.optimize import linear_sum_assignment

    _, classes = np.unique(truth, return_inverse=True)
    table = np.zeros((groups.max() + 1, classes.max() + 1))
    np.add.at(table, (groups, classes), 1)
    rows, columns = linear_sum_assignment(-table)
    return float(table[rows, columns].sum() / len(truth))


def numbered_by_appearance(groups: np.ndarray) -> np.ndarray:
    """The same partition, numbered in the order in which its groups appear."""
    numbers: dict[int, int] = {}
    return np.array([numbers.setdefault(int(g), len(numbers)) for g in groups])
