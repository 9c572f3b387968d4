"""The sum of the centres of all classes, onto which every site that was measured differently can
bring its own."""

from collections.abc import Callable
from dataclasses import dataclass

import msgspec
import numpy as np

from fedhull.codes.field import Field, from_elements, to_elements
from fedhull.errors import BadMessage, InvalidInput, UnknownLabelSum
from fedhull.learn.centres import MOST_CELLS, Centres
from fedhull.protocol.keys import Randomness, digest
from fedhull.protocol.summation import Layout, Totals, Vector
from fedhull.study.study import Study

# Sums of fewer than 2²⁸ cells lie between −2⁶⁰ and 2⁶⁰ (learn/centres.py).
CENTRE_FIELD = Field(2**61 - 1)
# A count, and three coordinates on the hyperboloid.
_WIDTH = 4


@dataclass(frozen=True, repr=False)
class CentreTotal:
    """What the server learns, and who is in the sum."""

    centres: Centres
    survivors: list[str]


@dataclass(frozen=True)
class CentreSummation:
    """Count and Σ of hyperboloid coordinates of `n_classes` classes, over all sites. `basis` is
    what was published after the last sum."""

    study: Study
    number: int
    n_classes: int
    basis: bytes = b""

    ordered = False

    @property
    def context(self) -> bytes:
        """Which sum it is, which classes there are, and what went before."""
        parts = (self.number.to_bytes(8, "big"), self.n_classes.to_bytes(8, "big"), self.basis)
        return digest(b"centres", *parts)

    @property
    def most(self) -> tuple[int, ...]:
        """The cells of each class: of one with too few in all, or at one site only, nothing
        leaves."""
        return (MOST_CELLS // len(self.study.clients),) * self.n_classes

    def layout(self, totals: Totals, participants: int) -> Layout:
        """Four numbers for each class."""
        return Layout(((CENTRE_FIELD, _WIDTH * self.n_classes),))

    def open(
        self, vector: Vector, totals: Totals, survivors: list[str], participants: int
    ) -> CentreTotal:
        """The centres, if cells can have them."""
        values = from_elements(vector[0], CENTRE_FIELD)
        centres = Centres.unpacked(values, self.n_classes)
        try:
            if (centres.counts > np.array(totals)).any():
                raise InvalidInput("there are more cells than sites have announced")
            centres.check()
        except InvalidInput as problem:
            raise UnknownLabelSum(
                f"the sum is not one of centres, so some site has sent something else: {problem}"
            ) from None
        return CentreTotal(centres, survivors)


@dataclass(frozen=True)
class CentreContribution:
    """A site's cells by class; `make` finds their centres when the upload is due."""

    summation: CentreSummation
    announced: Totals
    make: Callable[[], Centres]

    def draw(self, place: int, randomness: Randomness) -> None:
        """Totals need no labels."""

    def vector(self, drawn: None, totals: Totals, participants: int) -> Vector:
        """The centres of classes with enough cells over all sites, and cells at others: to a centre
        that is one site's alone nobody could align itself."""
        shared = np.array(totals) > np.array(self.announced)
        enough = shared & (np.array(totals) >= self.summation.study.disclosure.min_cells)
        own = self.make()
        kept = Centres(own.counts * enough, own.sums * enough[:, None])
        return [to_elements(kept.packed(), CENTRE_FIELD)]


class CentreNews(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What is published: the totals, class after class."""

    numbers: list[int]

    @classmethod
    def of(cls, centres: Centres) -> "CentreNews":
        """The news of these centres."""
        return cls(centres.packed().tolist())

    def to_bytes(self) -> bytes:
        """The same for all sites."""
        return msgspec.msgpack.encode(self)

    @classmethod
    def centres_in(cls, published: bytes, n_classes: int) -> Centres:
        """The centres of so many classes, if these are what was published."""
        try:
            news = msgspec.msgpack.decode(published, type=cls)
            centres = Centres.unpacked(np.array(news.numbers, dtype=np.int64), n_classes)
            centres.check()
        except (msgspec.MsgspecError, UnicodeDecodeError, OverflowError, InvalidInput):
            raise BadMessage("what the server published are not the centres of classes") from None
        return centres
