"""The two sums of a study of moments: what classes are like, and the moments of all cells.

In the first, *match*, every site says, unnamed, how many cells its classes have and where they lie
(`classes/slots.py`). In the second, *learn*, all know which classes are the same, so that their
moments are added up inside the masks: the server opens totals over all sites and nothing else.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated

import msgspec

from fedhull.codes.field import Field
from fedhull.codes.signed import from_elements, to_elements
from fedhull.errors import BadMessage, InvalidInput, UnknownLabelSum
from fedhull.learn.moments import Moments
from fedhull.protocol.keys import Randomness, digest
from fedhull.protocol.layout import Layout, Vector
from fedhull.study.classes.pseudonym import Pseudonym
from fedhull.study.classes.slots import SlotSums, SlotTotal
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
    def most(self) -> int:
        """There is nothing to announce: everybody's vector is of one length."""
        return 0

    @property
    def slots(self) -> SlotSums:
        """How secrets, counts and sketches travel."""
        return SlotSums(self.study)

    def size(self, participants: int) -> int:
        """How many numbers the slots of all participants take."""
        return sum(length for _, length in self.slots.layout(participants))

    def layout(self, total: int, participants: int) -> Layout:
        """Slots for all participants."""
        return Layout(self.slots.layout(participants))

    def open(
        self, vector: Vector, total: int, survivors: list[str], participants: int
    ) -> MatchTotal:
        """What is said of each label, if every site has used labels of one place, its own."""
        slots = self.layout(total, participants).to_ints(vector)
        found = self.slots.decode(slots, len(survivors), participants)
        return MatchTotal(found, survivors, self.size(participants))


@dataclass(frozen=True)
class MatchContribution:
    """A site's classes in its own order: the count and sketch of the cells of each."""

    summation: MatchSummation
    sketches: Sequence[Sequence[int]]
    announced = 0

    def draw(self, place: int, randomness: Randomness) -> Pseudonym:
        """A place and labels, at random."""
        study = self.summation.study
        return Pseudonym.draw(study, place, range(len(self.sketches)), randomness)

    def vector(self, drawn: Pseudonym, total: int, participants: int) -> Vector:
        """The site's slots."""
        sketches = dict(zip(drawn.labels, self.sketches, strict=True))
        slots = self.summation.slots.encode(drawn, sketches, participants)
        return self.summation.layout(total, participants).vector(slots)


@dataclass(frozen=True, repr=False)
class MomentTotal:
    """What the server learns from the second sum, and who is in it."""

    moments: Moments
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
    def most(self) -> int:
        """There is nothing to announce: everybody's vector is of one length."""
        return 0

    @property
    def size(self) -> int:
        """How many numbers the moments are."""
        n_features = self.study.learning.features
        return n_features * (n_features + 1) // 2 + self.n_classes * (n_features + 1)

    def layout(self, total: int, participants: int) -> Layout:
        """The moments, in a field wide enough for any sum."""
        return Layout(((MOMENT_FIELD, self.size),))

    def open(
        self, vector: Vector, total: int, survivors: list[str], participants: int
    ) -> MomentTotal:
        """The totals, if cells can have them."""
        values = from_elements(vector[0], MOMENT_FIELD)
        moments = Moments.unpacked(values, self.study.learning.features, self.n_classes)
        try:
            moments.check()
        except InvalidInput as problem:
            raise UnknownLabelSum(
                f"the sum is not one of moments, so some site has sent something else: {problem}"
            ) from None
        return MomentTotal(moments, survivors)


@dataclass(frozen=True)
class MomentContribution:
    """A site's moments; `make` adds them up when the upload is due."""

    summation: MomentSummation
    make: Callable[[], Moments]
    announced = 0

    def draw(self, place: int, randomness: Randomness) -> None:
        """Totals need no labels."""

    def vector(self, drawn: None, total: int, participants: int) -> Vector:
        """The moments as elements of the field."""
        return [to_elements(self.make().packed(), MOMENT_FIELD)]


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
