"""What is summed in a session. The rest of the protocol does not care.

A `Summation` is public: how vectors are laid out and what the server makes of their sum. A
`Contribution` is one client's part.
"""

from typing import Any, Protocol

from fedhull.protocol.keys import Randomness
from fedhull.protocol.layout import Layout, Vector

# What all participants have announced together, number by number.
Totals = tuple[int, ...]


class Summation(Protocol):
    """What all participants know about the vectors of a session."""

    @property
    def number(self) -> int:
        """Which session of the study this is, from 1."""

    @property
    def context(self) -> bytes:
        """What else all keys of the session are bound to, and what every client confirms."""

    @property
    def most(self) -> tuple[int, ...]:
        """Of each of the numbers that clients announce, the most that one may; there may be
        none."""

    @property
    def ordered(self) -> bool:
        """Whether clients go by an order of theirs that the server does not know."""

    def layout(self, totals: Totals, participants: int) -> Layout:
        """How vectors are laid out if so many participants have announced so much together."""

    def open(self, vector: Vector, totals: Totals, survivors: list[str], participants: int) -> Any:
        """What the unmasked sum says; DecodingError if it says nothing."""


class Contribution(Protocol):
    """One client's part of the sum."""

    @property
    def summation(self) -> Summation:
        """What it is a part of."""

    @property
    def announced(self) -> Totals:
        """What the client says of its vector beforehand, how long it must be, for instance; nobody
        learns more than the totals over all clients, and every client works them out itself."""

    def draw(self, place: int, randomness: Randomness) -> Any:
        """What the client goes by in this sum, given its place in the order that only clients know,
        or 0 if there is none: labels, for instance."""

    def vector(self, drawn: Any, totals: Totals, participants: int) -> Vector:
        """The unmasked vector."""
