"""The two sums of a study of moments: what classes are like, and the moments of all cells.

In the first, *match*, every site says, unnamed, how many cells its classes have and where they lie
(`classes/slots.py`). In the second, *learn*, all know which classes are the same, so that their
moments are added up inside the masks: the server opens totals over all sites and nothing else.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated

import msgspec
import numpy as np

from fedhull.codes.field import Field
from fedhull.codes.signed import from_elements, to_elements
from fedhull.errors import BadMessage, InvalidInput, UnknownLabelSum
from fedhull.learn.extent import Extent
from fedhull.learn.moments import MOST_CELLS, Moments
from fedhull.protocol.keys import Randomness, digest
from fedhull.protocol.layout import Layout, Vector
from fedhull.protocol.summation import Totals
from fedhull.study.classes.pseudonym import Pseudonym
from fedhull.study.classes.slots import SlotSums, SlotTotal
from fedhull.study.moments.holdings import extent_of
from fedhull.study.study import Study

# Moments of fewer than 2²⁸ cells lie between −2⁶⁰ and 2⁶⁰ (learn/moments.py).
MOMENT_FIELD = Field(2**61 - 1)


@dataclass(frozen=True, repr=False)
class MatchTotal:
    """What the server learns from the first sum, who is in it, and how many numbers each of them
    has sent."""

    slots: SlotTotal
    survivors: list[str]
    size: int = 0


@dataclass(frozen=True)
class MatchSummation:
    """Slots of places and labels, and nothing else."""

    study: Study
    number: int = 1

    @property
    def context(self) -> bytes:
        """Which of the sums it is."""
        return digest(b"match")

    @property
    def most(self) -> tuple[int, ...]:
        """There is nothing to announce: everybody's vector is of one length."""
        return ()

    @property
    def slots(self) -> SlotSums:
        """How secrets, counts and sketches travel."""
        return SlotSums(self.study)

    def size(self, participants: int) -> int:
        """How many numbers the slots of all participants take."""
        return sum(length for _, length in self.slots.layout(participants))

    def layout(self, totals: Totals, participants: int) -> Layout:
        """Slots for all participants."""
        return Layout(self.slots.layout(participants))

    def open(
        self, vector: Vector, totals: Totals, survivors: list[str], participants: int
    ) -> MatchTotal:
        """What is said of each label, if every site has used labels of one place, its own."""
        slots = self.layout(totals, participants).to_ints(vector)
        found = self.slots.decode(slots, len(survivors), participants)
        return MatchTotal(found, survivors, self.size(participants))


@dataclass(frozen=True)
class MatchContribution:
    """A site's classes in its own order: the count and sketch of the cells of each."""

    summation: MatchSummation
    sketches: Sequence[Sequence[int]]
    announced: Totals = ()

    def draw(self, place: int, randomness: Randomness) -> Pseudonym:
        """A place and labels, at random."""
        study = self.summation.study
        return Pseudonym.draw(study, place, range(len(self.sketches)), randomness)

    def vector(self, drawn: Pseudonym, totals: Totals, participants: int) -> Vector:
        """The site's slots."""
        sketches = dict(zip(drawn.labels, self.sketches, strict=True))
        slots = self.summation.slots.encode(drawn, sketches, participants)
        return self.summation.layout(totals, participants).vector(slots)


@dataclass(frozen=True, repr=False)
class MomentTotal:
    """What the server learns from the second sum, how far that goes, and who is in it."""

    moments: Moments
    extent: Extent
    survivors: list[str]


@dataclass(frozen=True)
class MomentSummation:
    """Moments of `n_classes` classes. `basis` is what was published after the first sum: a session
    in which sites were shown different things is never unmasked."""

    study: Study
    number: int
    n_classes: int
    basis: bytes = b""

    @property
    def context(self) -> bytes:
        """Which classes there are, and by what they were matched."""
        return digest(b"moments", self.n_classes.to_bytes(8, "big"), self.basis)

    @property
    def most(self) -> tuple[int, ...]:
        """The cells of each class: what of it may leave depends on how many there are in all."""
        return (MOST_CELLS // len(self.study.clients),) * self.n_classes

    def layout(self, totals: Totals, participants: int) -> Layout:
        """As many numbers as may be known of so many cells, in a field wide enough for any sum."""
        return Layout(((MOMENT_FIELD, extent_of(self.study, totals).size),))

    def open(
        self, vector: Vector, totals: Totals, survivors: list[str], participants: int
    ) -> MomentTotal:
        """The totals, if cells can have them."""
        extent = extent_of(self.study, totals)
        moments = Moments.unpacked(from_elements(vector[0], MOMENT_FIELD), extent)
        try:
            if (moments.counts > np.array(totals)).any():
                raise InvalidInput("there are more cells than sites have announced")
            moments.check(extent)
        except InvalidInput as problem:
            raise UnknownLabelSum(
                f"the sum is not one of moments, so some site has sent something else: {problem}"
            ) from None
        return MomentTotal(moments, extent, survivors)


@dataclass(frozen=True)
class MomentContribution:
    """A site's cells by class; `make` adds up their moments when the upload is due, given the
    totals of all sites. With noise on top, the sum is `spoiled`."""

    summation: MomentSummation
    announced: Totals
    make: Callable[[Totals], Moments]
    spoiled: bool = False

    def draw(self, place: int, randomness: Randomness) -> bytes | None:
        """Totals need no labels; the key of the noise, if there is to be some."""
        return randomness.token("noise in the sum") if self.spoiled else None

    def vector(self, drawn: bytes | None, totals: Totals, participants: int) -> Vector:
        """The moments as elements of the field."""
        extent = extent_of(self.summation.study, totals)
        vector = [to_elements(self.make(totals).packed(extent), MOMENT_FIELD)]
        if drawn is None:
            return vector
        return self.summation.layout(totals, participants).add_mask(vector, drawn)


class MatchNews(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What is published after the first sum: how many classes there are and, sealed for each place,
    which of them its labels are."""

    n_classes: Annotated[int, msgspec.Meta(ge=2, le=2**32)]
    entries: dict[int, bytes]

    def to_bytes(self) -> bytes:
        """The same for all sites."""
        return msgspec.msgpack.encode(self)

    @property
    def bound_to(self) -> bytes:
        """What the entries are sealed for."""
        return digest(b"match", self.n_classes.to_bytes(8, "big"))

    @classmethod
    def from_bytes(cls, published: bytes) -> "MatchNews":
        """The inverse of `to_bytes`."""
        try:
            return msgspec.msgpack.decode(published, type=cls)
        except (msgspec.MsgspecError, UnicodeDecodeError):
            raise BadMessage(
                "what the server published does not say which class is which"
            ) from None
