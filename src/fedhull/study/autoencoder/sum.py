"""Sums of weighted numbers, from which the server reads their mean."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from fedhull.codes.mean import (
    MEAN_FIELD,
    WeightedSum,
    decode_weighted,
    encode_weighted,
    to_fixed,
)
from fedhull.errors import InvalidInput
from fedhull.protocol.keys import Randomness, digest
from fedhull.protocol.layout import Layout, Vector
from fedhull.protocol.summation import Totals


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

    @cached_property
    def context(self) -> bytes:
        """The round, and what it starts from."""
        return digest(b"mean", self.number.to_bytes(8, "big"), self.basis)

    ordered = False

    @property
    def most(self) -> tuple[int, ...]:
        """There is nothing to announce: everybody's vector is of one length."""
        return ()

    def layout(self, totals: Totals, participants: int) -> Layout:
        """The numbers and their weight, in a field wide enough for any sum."""
        return Layout(((MEAN_FIELD, self.size + 1),))

    def open(
        self, vector: Vector, totals: Totals, survivors: list[str], participants: int
    ) -> WeightedTotal:
        """The sum in integers."""
        return WeightedTotal(decode_weighted(vector[0], len(survivors)), survivors)


@dataclass(frozen=True)
class MeanContribution:
    """A client's numbers and their weight; `make` gives them when the upload is due."""

    summation: MeanSummation
    make: Callable[[], tuple[np.ndarray, int]]

    @property
    def announced(self) -> Totals:
        """Nothing."""
        return ()

    def draw(self, place: int, randomness: Randomness) -> None:
        """A sum of numbers needs no labels."""

    def vector(self, drawn: None, totals: Totals, participants: int) -> Vector:
        """n·w and n, in fixed point."""
        numbers, weight = self.make()
        if numbers.shape != (self.summation.size,):
            raise InvalidInput(
                f"numbers must have shape ({self.summation.size},), got {numbers.shape}"
            )
        return [encode_weighted(to_fixed(numbers), weight)]
