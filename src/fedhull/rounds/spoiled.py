"""A contribution with noise on top: nobody can open the sum, or tell because of whom."""

from dataclasses import dataclass
from typing import Any

from fedhull.protocol.keys import Randomness
from fedhull.protocol.summation import Contribution, Summation, Totals, Vector


@dataclass(frozen=True)
class PoisonedContribution:
    """A site's part of a sum that must not be opened; from outside it looks like any other."""

    inner: Contribution

    @property
    def summation(self) -> Summation:
        """The sum that it is a part of."""
        return self.inner.summation

    @property
    def announced(self) -> Totals:
        """The same numbers as if nothing were wrong."""
        return self.inner.announced

    def draw(self, place: int, randomness: Randomness) -> tuple[Any, bytes]:
        """The site's draw, and the key of the noise."""
        return self.inner.draw(place, randomness), randomness.token("noise in the sum")

    def vector(self, drawn: tuple[Any, bytes], totals: Totals, participants: int) -> Vector:
        """The vector and the noise."""
        vector = self.inner.vector(drawn[0], totals, participants)
        return self.summation.layout(totals, participants).add_mask(vector, drawn[1])
