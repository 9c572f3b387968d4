"""Sums of plain whole numbers, for tests of sessions that do not care what is summed."""

from collections.abc import Callable
from dataclasses import dataclass

from fedhull.codes.field import Field
from fedhull.protocol.keys import digest
from fedhull.protocol.summation import Layout

FIELD = Field(2**61 - 1)


@dataclass(frozen=True)
class PlainTotal:
    numbers: list[int]
    survivors: list[str]


@dataclass(frozen=True)
class PlainSummation:
    """`size` numbers in the sum `number` of a study; `basis` is what all sites have been shown."""

    size: int
    number: int
    basis: bytes

    ordered = False
    most = ()

    @property
    def context(self) -> bytes:
        return digest(b"plain", self.number.to_bytes(8, "big"), self.basis)

    def layout(self, totals, participants: int) -> Layout:
        return Layout(((FIELD, self.size),))

    def open(self, vector, totals, survivors, participants) -> PlainTotal:
        half = FIELD.q // 2
        numbers = [(n + half) % FIELD.q - half for n in FIELD.to_ints(vector[0])]
        return PlainTotal(numbers, survivors)


@dataclass(frozen=True)
class PlainContribution:
    """A site's numbers; `make` gives them when the upload is due."""

    summation: PlainSummation
    make: Callable[[], list[int]]

    announced = ()

    def draw(self, place, randomness) -> None:
        """Sums of numbers need no labels."""

    def vector(self, drawn, totals, participants):
        return [FIELD.vector([n % FIELD.q for n in self.make()])]
