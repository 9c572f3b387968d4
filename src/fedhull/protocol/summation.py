"""What is summed in a session: hulls or plain vectors. The rest of the protocol does not care.

A `Summation` is public: how long uploads are and what the server makes of their sum. A
`Contribution` is one client's part.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from fedhull.codes.field import Field
from fedhull.codes.mean import WeightedSum
from fedhull.protocol.keys import Randomness


@dataclass(frozen=True)
class Aggregate:
    """What the server learns: the sum of the survivors' label vectors, and the hulls in it."""

    vector: dict[int, int]
    hulls: dict[int, list[int]]
    survivors: list[str]
    n_sums: int


@dataclass(frozen=True)
class WeightedTotal:
    """What the server learns: the sum of the survivors' weighted numbers."""

    total: WeightedSum
    survivors: list[str]


class Summation(Protocol):
    """What all participants know about the vectors of a session."""

    @property
    def field(self) -> Field:
        """Where elements are added and masked."""

    @property
    def turn(self) -> int:
        """Which session of the study this is, from 1."""

    @property
    def context(self) -> bytes:
        """What else all keys of the session are bound to, and what every client confirms."""

    @property
    def lengths(self) -> tuple[int, int]:
        """The fewest and the most elements of an upload."""

    def accepts(self, announced: int) -> bool:
        """Whether a client may announce this number to its peers."""

    def length(self, announced: Sequence[int]) -> int:
        """How many elements the clients agree on, from what they have announced."""

    def open(
        self, total: np.ndarray, survivors: list[str], participants: int
    ) -> Aggregate | WeightedTotal:
        """What the unmasked sum says; DecodingError if it says nothing."""


class Contribution(Protocol):
    """One client's part of the sum."""

    @property
    def summation(self) -> Summation:
        """What it is a part of."""

    @property
    def announced(self) -> int:
        """What peers are told, sealed."""

    def labels(self, place: int, randomness: Randomness) -> list[int]:
        """Under which label each class goes out, given the client's place in the order."""

    def vector(self, labels: list[int], length: int) -> np.ndarray:
        """The unmasked vector."""


def largest_upload(summation: Summation) -> int:
    """How many bytes the packed vector of an upload takes at most."""
    return summation.field.packed_size(summation.lengths[1])
