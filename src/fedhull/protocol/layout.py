"""How a vector that is masked and summed is laid out: parts, each over a field of its own.

Sums of hulls and numbers in slots live in different fields. They travel as one vector all the same:
one upload, one mask with each peer.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fedhull.codes.field import Field
from fedhull.errors import InvalidInput
from fedhull.protocol.keys import keystream

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
        """How many bytes a vector takes."""
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
