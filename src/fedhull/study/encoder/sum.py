"""Sums of weighted numbers, from which the server reads their mean."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from fedhull.codes.field import Field
from fedhull.codes.mean import (
    MEAN_FIELD,
    WeightedSum,
    decode_weighted,
    encode_weighted,
    to_fixed,
)
from fedhull.errors import InvalidInput
from fedhull.protocol.keys import Randomness, digest


@dataclass(frozen=True)
class WeightedTotal:
    """What the server learns: the sum of the survivors' weighted numbers."""

    total: WeightedSum
    survivors: list[str]


@dataclass(frozen=True)
class MeanSummation:
    """Weighted means of `size` numbers, in one of several rounds; `basis` is what all clients start
    the round from, so that a session in which they do not is never unmasked."""

    size: int
    number: int
    basis: bytes

    @property
    def field(self) -> Field:
        """Wide enough for any sum."""
        return MEAN_FIELD

    @cached_property
    def context(self) -> bytes:
        """The round, and what it starts from."""
        return digest(b"mean", self.number.to_bytes(8, "big"), self.basis)

    @property
    def lengths(self) -> tuple[int, int]:
        """The numbers and their weight."""
        return self.size + 1, self.size + 1

    def accepts(self, announced: int) -> bool:
        """Everybody's vector is of one length."""
        return announced == self.size + 1

    def length(self, announced: Sequence[int]) -> int:
        """That length."""
        return self.size + 1

    def open(self, total: np.ndarray, survivors: list[str], participants: int) -> WeightedTotal:
        """The sum in integers."""
        return WeightedTotal(decode_weighted(total, len(survivors)), survivors)


@dataclass(frozen=True)
class MeanContribution:
    """A client's numbers and their weight; `make` gives them when the upload is due."""

    summation: MeanSummation
    make: Callable[[], tuple[np.ndarray, int]]

    @property
    def announced(self) -> int:
        """The length, which everybody knows."""
        return self.summation.size + 1

    def labels(self, place: int, randomness: Randomness) -> list[int]:
        """None: a sum of vectors needs no labels."""
        return []

    def vector(self, labels: list[int], length: int) -> np.ndarray:
        """n·w and n, in fixed point."""
        numbers, weight = self.make()
        if numbers.shape != (length - 1,):
            raise InvalidInput(f"numbers must have shape ({length - 1},), got {numbers.shape}")
        return encode_weighted(to_fixed(numbers), weight)
