"""The vectors of a session: their layout, the rule of their sum, and one client's part.

A vector has parts over different fields; it travels as one upload under one mask with each peer. A
`Summation` is public, a `Contribution` is one client's. The rest of the protocol knows no more.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from fedhull.codes.field import Field
from fedhull.errors import InvalidInput
from fedhull.protocol.keys import Randomness, keystream

Vector = list[np.ndarray]


@dataclass(frozen=True)
class Layout:
    """The field and the length of each part."""

    parts: tuple[tuple[Field, int], ...]

    def zeros(self) -> Vector:
        """A vector of zeros."""
        return [field.zeros(n) for field, n in self.parts]

    def vector(self, values: Sequence[Sequence[int]]) -> Vector:
        """A vector of these integers, a list for each part."""
        return [field.vector(part) for (field, _), part in zip(self.parts, values, strict=True)]

    def to_ints(self, vector: Vector) -> list[list[int]]:
        """The inverse of `vector`."""
        return [field.to_ints(part) for (field, _), part in zip(self.parts, vector, strict=True)]

    def add(self, a: Vector, b: Vector) -> Vector:
        """a + b."""
        return [field.add(x, y) for (field, _), x, y in zip(self.parts, a, b, strict=True)]

    def subtract(self, a: Vector, b: Vector) -> Vector:
        """a − b."""
        return [field.subtract(x, y) for (field, _), x, y in zip(self.parts, a, b, strict=True)]

    def add_mask(self, vector: Vector, key: bytes) -> Vector:
        """The vector plus elements that look uniform to whoever lacks the key."""
        masked = [part.copy() for part in vector]
        self.mask_in_place(masked, key)
        return masked

    def mask_in_place(self, vector: Vector, key: bytes, negative: bool = False) -> None:
        """Add such elements to the vector, or subtract them from it."""
        stream = keystream(key)
        for (field, _), part in zip(self.parts, vector, strict=True):
            field.mask_in_place(part, stream, negative)

    @property
    def packed_size(self) -> int:
        """Bytes of a packed vector."""
        return sum(field.packed_size(n) for field, n in self.parts)

    def pack(self, vector: Vector) -> bytes:
        """The vector in as many bits as its elements need, each part on whole bytes."""
        return b"".join(
            field.pack(part) for (field, _), part in zip(self.parts, vector, strict=True)
        )

    def unpack(self, packed: bytes) -> Vector:
        """The inverse of `pack`; InvalidInput unless it is a vector of this layout."""
        if len(packed) != self.packed_size:
            raise InvalidInput(
                f"a vector of this study takes {self.packed_size} bytes, got {len(packed)}"
            )
        vector, begin = [], 0
        for field, n in self.parts:
            end = begin + field.packed_size(n)
            vector.append(field.unpack(packed[begin:end], n))
            begin = end
        return vector


# What all participants have announced together, number by number.
Totals = tuple[int, ...]


class Summation(Protocol):
    """Public knowledge about the vectors of a session."""

    @property
    def number(self) -> int:
        """The position of this session in the study, from 1."""

    @property
    def context(self) -> bytes:
        """Context that keys are bound to and every client confirms, beside the session."""

    @property
    def most(self) -> tuple[int, ...]:
        """Upper bound on each announced number; there may be none."""

    @property
    def ordered(self) -> bool:
        """True if clients go by an order of theirs that the server does not know."""

    def layout(self, totals: Totals, participants: int) -> Layout:
        """The layout of vectors if this many participants have announced these totals."""

    def open(self, vector: Vector, totals: Totals, survivors: list[str], participants: int) -> Any:
        """The meaning of the unmasked sum; DecodingError if it has none."""


class Contribution(Protocol):
    """One client's part of the sum."""

    @property
    def summation(self) -> Summation:
        """The sum that it belongs to."""

    @property
    def announced(self) -> Totals:
        """Numbers about the vector that are needed beforehand, such as its length. Only the totals
        over all clients become known, and every client works them out itself."""

    def draw(self, place: int, randomness: Randomness) -> Any:
        """The client's choices for this sum, such as labels, given its secret place or 0."""

    def vector(self, drawn: Any, totals: Totals, participants: int) -> Vector:
        """The unmasked vector."""
