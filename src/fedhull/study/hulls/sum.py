"""Sums of hulls, from which the server reads all hulls and not whose they are."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec

from fedhull.errors import InvalidInput
from fedhull.protocol.keys import Randomness, digest
from fedhull.protocol.summation import Layout, Totals, Vector
from fedhull.study.classes.pseudonym import Pseudonym
from fedhull.study.classes.slots import SlotSums
from fedhull.study.study import Study, announced_corners


@dataclass(frozen=True, repr=False)
class HullTotal:
    """What the server learns: the hulls of all survivors by their labels, how many cells stand
    behind each and their sketch, and for each place the secret that it shares with whoever has
    it."""

    hulls: dict[int, list[int]]
    survivors: list[str]
    n_sums: int = 0
    secrets: dict[int, tuple[int, ...]] = field(default_factory=dict)
    sketches: dict[int, list[int]] = field(default_factory=dict)

    def __repr__(self) -> str:
        return f"HullTotal({len(self.hulls)} hulls of {len(self.survivors)} sites)"

    def to_bytes(self) -> bytes:
        """For a private file."""
        return msgspec.msgpack.encode(
            (self.hulls, self.survivors, self.n_sums, self.secrets, self.sketches)
        )

    @classmethod
    def from_bytes(cls, raw: bytes) -> "HullTotal":
        """The inverse of `to_bytes`."""
        parts = tuple[
            dict[int, list[int]],
            list[str],
            int,
            dict[int, tuple[int, ...]],
            dict[int, list[int]],
        ]
        try:
            return cls(*msgspec.msgpack.decode(raw, type=parts))
        except (msgspec.MsgspecError, UnicodeDecodeError):
            raise InvalidInput("what was kept of the sum is damaged") from None


@dataclass(frozen=True)
class HullSummation:
    """Sums from which hulls are read, by the study's coding, and slots of places and labels."""

    study: Study
    number: int = 1
    basis: bytes = b""

    @property
    def context(self) -> bytes:
        """How hulls are coded: sites whose software does it in another way never get to upload. And
        what was published after the last sum, if this is not the first."""
        coding = self.study.coding
        parts = coding.name.encode(), str(coding.field.q).encode()
        return digest(b"hulls", *parts, *([self.basis] if self.basis else []))

    @property
    def slots(self) -> SlotSums:
        """How secrets, counts and sketches travel."""
        return SlotSums(self.study)

    @property
    def ordered(self) -> bool:
        """If there are too few places to draw one at random."""
        return not self.study.draws_places

    @property
    def most(self) -> tuple[int, ...]:
        """As many corners as the study allows a site."""
        return (announced_corners(self.study.protocol.most_bins),)

    def layout(self, totals: Totals, participants: int) -> Layout:
        """As many sums as determine, and check, all corners together, and slots."""
        (total,) = totals
        sums = self.study.coding.field, self.study.sums_for(total)
        return Layout((sums, *self.slots.layout(participants)))

    def open(
        self, vector: Vector, totals: Totals, survivors: list[str], participants: int
    ) -> HullTotal:
        """The hulls in the sum, if every site has used labels of one place, its own."""
        (total,) = totals
        sums, *slots = self.layout(totals, participants).to_ints(vector)
        hulls = self.study.coding.decode(sums, total, self.study.protocol.spare_sums)
        told = self.slots.decode(slots, len(survivors), participants, hulls)
        return HullTotal(hulls, survivors, len(sums), told.secrets, told.sketches)


class HullContribution:
    """The hulls of a client: for each of its classes in its own order, the bins, and the count and
    sketch of its cells; `classes` are their names, if the study has agreed on names."""

    def __init__(
        self,
        study: Study,
        hulls: Sequence[Sequence[int]],
        sketches: Sequence[Sequence[int]],
        classes: Sequence[Any] | None = None,
        number: int = 1,
        basis: bytes = b"",
    ):
        self.summation = HullSummation(study, number, basis)
        self._study = study
        self._hulls = _checked_hulls(study, hulls)
        self._sketches = [list(sketch) for sketch in sketches]
        self._classes = range(len(self._hulls)) if classes is None else classes

    @property
    def announced(self) -> Totals:
        """How many corners the client's hulls have, rounded up."""
        return (announced_corners(sum(map(len, self._hulls))),)

    def draw(self, place: int, randomness: Randomness) -> Pseudonym:
        """A place and labels, at random as far as the label code allows."""
        return Pseudonym.draw(self._study, place, self._classes, randomness)

    def vector(self, drawn: Pseudonym, totals: Totals, participants: int) -> Vector:
        """The sums of the hulls, and the client's slots."""
        study, summation = self._study, self.summation
        hulls = dict(zip(drawn.labels, self._hulls, strict=True))
        sketches = dict(zip(drawn.labels, self._sketches, strict=True))
        sums = study.coding.encode(hulls, totals[0], study.protocol.spare_sums)
        slots = summation.slots.encode(drawn, sketches, participants, hulls)
        return summation.layout(totals, participants).vector([sums, *slots])


def _checked_hulls(study: Study, hulls: Sequence[Sequence[int]]) -> list[list[int]]:
    if len(hulls) > study.labels.classes:
        raise InvalidInput(
            f"a site may have {study.labels.classes} classes in this study, got {len(hulls)}"
        )
    checked = [[int(j) for j in bins] for bins in hulls]
    for number, bins in enumerate(checked, 1):
        if not bins or len(set(bins)) != len(bins):
            raise InvalidInput(f"hull {number} must hold different bins, at least one")
        if min(bins) < 1 or max(bins) > study.quantizer.n_bins:
            raise InvalidInput(
                f"hull {number} must hold bins between 1 and {study.quantizer.n_bins}"
            )
    n_corners = sum(map(len, checked))
    if n_corners > study.protocol.most_bins:
        raise InvalidInput(
            f"the hulls have {n_corners} corners, but the study allows {study.protocol.most_bins}; "
            f"use a larger epsilon or agree on a larger most_bins"
        )
    return checked
