"""Sums of hulls, from which the server reads all hulls and not whose they are."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec
import numpy as np

from fedhull.codes.slots import SlotCoding, signed, unsigned
from fedhull.errors import InvalidInput, UnknownLabelSum
from fedhull.learn.sketch import LENGTH as SKETCH_LENGTH
from fedhull.learn.sketch import slot_means
from fedhull.protocol.keys import Randomness, digest
from fedhull.protocol.layout import Layout, Vector
from fedhull.study.hulls.pseudonym import SLOT_WIDTH, Pseudonym, checked_secret
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
    """Sums from which hulls are read, by the study's coding, and a slot of each site's own."""

    study: Study
    number: int = 1

    @property
    def context(self) -> bytes:
        """How hulls are coded: sites whose software does it in another way never get to upload."""
        coding = self.study.coding
        return digest(b"hulls", coding.name.encode(), str(coding.field.q).encode())

    @property
    def slots(self) -> SlotCoding:
        """How the sites' secrets and tags travel: a slot for each place."""
        return SlotCoding(self.study.places, SLOT_WIDTH)

    @property
    def sketch_slots(self) -> SlotCoding:
        """How counts and sketches travel: a slot for each label."""
        return SlotCoding(self.study.coding.space, 1 + SKETCH_LENGTH)

    @property
    def most(self) -> int:
        """As many corners as the study allows a site."""
        return announced_corners(self.study.protocol.most_bins)

    def layout(self, total: int, participants: int) -> Layout:
        """As many sums as determine, and check, all corners together, and a slot for each site and
        for each label."""
        labels = participants * self.study.labels.classes
        return Layout(
            (
                (self.study.coding.field, self.study.sums_for(total)),
                (self.slots.field, self.slots.length(participants)),
                (self.sketch_slots.field, self.sketch_slots.length(labels)),
            )
        )

    def open(
        self, vector: Vector, total: int, survivors: list[str], participants: int
    ) -> HullTotal:
        """The hulls in the sum, if every site has used labels of one place, its own."""
        sums, slots, told = self.layout(total, participants).to_ints(vector)
        hulls = self.study.coding.decode(sums, total, self.study.protocol.spare_sums)
        slot_of = self.slots.decode(slots, participants)
        self._check_places(hulls, slot_of, len(survivors), participants)
        labels = participants * self.study.labels.classes
        sketches = {
            label: signed(numbers)
            for label, numbers in self.sketch_slots.decode(told, labels).items()
        }
        self._check_sketches(hulls, sketches)
        secrets: dict[int, tuple[int, ...]] = {}
        for place, slot in slot_of.items():
            of_place = {
                label: (hulls[label], sketches[label])
                for label in self.study.labels_of(place)
                if label in hulls
            }
            secret = checked_secret(slot, place, of_place)
            if secret is None:
                raise UnknownLabelSum(
                    "the hulls of one place are not those that its site has sent: another site "
                    "has added to them; nobody can tell which"
                )
            secrets[place] = secret
        return HullTotal(hulls, survivors, len(sums), secrets, sketches)

    def _check_sketches(
        self, hulls: Mapping[int, list[int]], sketches: Mapping[int, list[int]]
    ) -> None:
        """Every hull has its count and sketch, which cells can make."""
        if hulls.keys() != sketches.keys():
            raise UnknownLabelSum("the sum has hulls without counts, or counts without hulls")
        try:
            told = np.array([sketches[label] for label in hulls]).reshape(-1, 1 + SKETCH_LENGTH)
            slot_means(told[:, 1:], told[:, 0]) if len(told) else None
        except InvalidInput as problem:
            raise UnknownLabelSum(f"the sum has a sketch of no cells: {problem}") from None

    def _check_places(
        self,
        hulls: Mapping[int, list[int]],
        slots: Mapping[int, Sequence[int]],
        survivors: int,
        participants: int,
    ) -> None:
        """There are as many places as sites, and no hull is outside them."""
        if len(slots) != survivors:
            raise UnknownLabelSum(
                f"{len(slots)} places are in use, but {survivors} sites uploaded; some site has "
                f"used more than one, or one that is not its own"
            )
        strays = set(map(self.study.place_of, hulls)) - slots.keys()
        ordered = not self.study.draws_places
        if strays or (ordered and max(slots, default=0) >= participants):
            raise UnknownLabelSum("a hull has a label of a place that no site has")


class HullContribution:
    """The hulls of a client: for each of its classes in its own order, the bins, and the count and
    sketch of its cells; `classes` are their names, if the study has agreed on names."""

    def __init__(
        self,
        study: Study,
        hulls: Sequence[Sequence[int]],
        sketches: Sequence[Sequence[int]],
        classes: Sequence[Any] | None = None,
    ):
        self.summation = HullSummation(study)
        self._study = study
        self._hulls = _checked_hulls(study, hulls)
        self._sketches = [list(sketch) for sketch in sketches]
        self._classes = range(len(self._hulls)) if classes is None else classes

    @property
    def announced(self) -> int:
        """How many corners the client's hulls have, rounded up."""
        return announced_corners(sum(map(len, self._hulls)))

    def draw(self, place: int, randomness: Randomness) -> Pseudonym:
        """A place and labels, at random as far as the label code allows."""
        return Pseudonym.draw(self._study, place, self._classes, randomness)

    def vector(self, drawn: Pseudonym, total: int, participants: int) -> Vector:
        """The sums of the hulls, and of the client's slot."""
        study, summation = self._study, self.summation
        hulls = dict(zip(drawn.labels, self._hulls, strict=True))
        sketches = dict(zip(drawn.labels, self._sketches, strict=True))
        sums = study.coding.encode(hulls, total, study.protocol.spare_sums)
        tagged = {label: (hulls[label], sketches[label]) for label in hulls}
        slots = summation.slots.encode({drawn.place: drawn.slot(tagged)}, participants)
        labels = participants * study.labels.classes
        told = summation.sketch_slots.encode(
            {label: unsigned(numbers) for label, numbers in sketches.items()}, labels
        )
        return summation.layout(total, participants).vector([sums, slots, told])


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
