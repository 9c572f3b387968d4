"""What is summed in a session. The rest of the protocol does not care.

A `Summation` is public: how long uploads are and what the server makes of their sum. A
`Contribution` is one client's part.
"""

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from fedhull.codes.field import Field
from fedhull.protocol.keys import Randomness


class Summation(Protocol):
    """What all participants know about the vectors of a session."""

    @property
    def field(self) -> Field:
        """Where elements are added and masked."""

    @property
    def number(self) -> int:
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

    def open(self, total: np.ndarray, survivors: list[str], participants: int) -> Any:
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
