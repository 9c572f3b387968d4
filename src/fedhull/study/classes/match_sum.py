"""The sum in which every site says, unnamed, what its classes are like, so that the server can tell
which of them are the same."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import msgspec

from fedhull.errors import BadMessage
from fedhull.protocol.keys import Randomness, digest
from fedhull.protocol.summation import Layout, Totals, Vector
from fedhull.study.classes.pseudonym import Pseudonym
from fedhull.study.classes.slots import SlotSums, SlotTotal
from fedhull.study.study import Study


@dataclass(frozen=True, repr=False)
class MatchTotal:
    """What the server learns, who is in the sum, and how many numbers each of them has sent."""

    slots: SlotTotal
    survivors: list[str]
    size: int = 0


@dataclass(frozen=True)
class MatchSummation:
    """Slots of places and labels, and nothing else. Sites that may have been measured differently
    say of each class where it lies, in numbers that can be moved, instead of a sketch."""

    study: Study
    number: int = 1

    @property
    def context(self) -> bytes:
        """Which of the sums it is."""
        return digest(b"match")

    @property
    def ordered(self) -> bool:
        """If there are too few places to draw one at random."""
        return not self.study.draws_places

    @property
    def most(self) -> tuple[int, ...]:
        """There is nothing to announce: everybody's vector is of one length."""
        return ()

    @property
    def slots(self) -> SlotSums:
        """How secrets, counts and sketches or places travel."""
        return SlotSums(self.study, placed=self.study.alignments > 0)

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
    """A site's classes in its own order: the count of the cells of each, and their sketch or where
    they lie."""

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


class MatchNews(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What is published: how many classes there are and, sealed for each place,
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
