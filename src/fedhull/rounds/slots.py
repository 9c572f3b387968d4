"""Slots: what every site says of its classes, one by one and unnamed. There is a slot for each
place, and one for each label.

Of a class a site says how many cells it has, and their sketch. Sites that may have been measured
differently also say where the cells lie, in numbers that can be moved."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from fedhull.codes.field import Field
from fedhull.codes.power_sums import SlotCoding, signed, unsigned
from fedhull.errors import InvalidInput, UnknownLabelSum
from fedhull.learn.places import LENGTH as PLACE_LENGTH
from fedhull.learn.places import class_place, slot_places
from fedhull.learn.sketch import LENGTH as SKETCH_LENGTH
from fedhull.learn.sketch import slot_means, slot_sketch
from fedhull.rounds.pseudonym import SLOT_WIDTH, Pseudonym, Said, checked_secret
from fedhull.study.study import Study

Bins = Mapping[int, Sequence[int]]
# Place and sketch are thirteen numbers, and of n cells 2n − 2 may be known: with fewer cells than
# this the place is all that is said.
BOTH_FROM = 8


class DecodedSlots(NamedTuple):
    """Of n classes: counts (n,), mean sketches (n, 8), which where none was sent are those that the
    places suggest, and places (n, 5), if they were sent."""

    counts: np.ndarray
    means: np.ndarray
    places: np.ndarray | None


@dataclass(frozen=True, repr=False)
class SlotTotal:
    """The decoded slots: for each place the secret shared with its owner, and for each label its
    site's description of the class: a row of numbers."""

    secrets: dict[int, tuple[int, ...]] = field(default_factory=dict)
    rows: dict[int, list[int]] = field(default_factory=dict)


@dataclass(frozen=True)
class SlotSums:
    """The way slots travel: two vectors, one over places and one over labels. With `placed`, sites
    also say where cells lie."""

    study: Study
    placed: bool = False

    @property
    def length(self) -> int:
        """The numbers that are said of a class, besides the count of its cells."""
        return PLACE_LENGTH + SKETCH_LENGTH if self.placed else SKETCH_LENGTH

    @property
    def of_places(self) -> SlotCoding:
        """Secrets and tags."""
        return SlotCoding(self.study.places, SLOT_WIDTH)

    @property
    def of_labels(self) -> SlotCoding:
        """Rows: counts and sketches, with places if cells are placed."""
        return SlotCoding(self.study.places * self.study.labels.classes, 1 + self.length)

    def layout(self, participants: int) -> tuple[tuple[Field, int], ...]:
        """The field and the length of either vector."""
        return (
            (self.of_places.field, self.of_places.length(participants)),
            (self.of_labels.field, self.of_labels.length(self._labels(participants))),
        )

    def describe(self, cells: np.ndarray) -> list[int]:
        """The row of a class with these cells (n, 2)."""
        n, k, seed = len(cells), self.study.geometry.curvature, self.study.learning.seed
        if not self.placed:
            return [n, *slot_sketch(cells, k, seed).tolist()]
        sketch = slot_sketch(cells, k, seed).tolist() if n >= BOTH_FROM else [0] * SKETCH_LENGTH
        return [n, *class_place(cells, k).tolist(), *sketch]

    def interpret(self, rows: Sequence[Sequence[int]]) -> DecodedSlots:
        """The meaning of rows; InvalidInput if no cells can make them."""
        table = np.array(rows).reshape(-1, 1 + self.length)
        counts, seed = table[:, 0], self.study.learning.seed
        if (counts < 1).any():
            raise InvalidInput(f"counts must be at least 1, got {counts.min()}")
        if not self.placed:
            return DecodedSlots(counts, slot_means(table[:, 1:], counts), None)
        places, sums = table[:, 1 : 1 + PLACE_LENGTH], table[:, 1 + PLACE_LENGTH :]
        both = counts >= BOTH_FROM
        if sums[~both].any():
            raise InvalidInput(f"classes of fewer than {BOTH_FROM} cells must not have a sketch")
        means = slot_places(places).sketches(seed)
        if both.any():
            means[both] = slot_means(sums[both], counts[both])
        return DecodedSlots(counts, means, places)

    def check(self, rows: Sequence[Sequence[int]]) -> None:
        """Raise InvalidInput unless cells can make these rows."""
        if rows:
            self.interpret(rows)

    def clear(self, rows: Mapping[int, Sequence[int]]) -> list[int]:
        """The labels of which something is said, in an order that does not depend on labels, which
        are drawn from the system's randomness."""
        return sorted(rows, key=lambda label: (rows[label], label))

    @property
    def nothing(self) -> str:
        """The sentence about a sum in which nothing is said of any label."""
        return (
            f"there is nothing to learn from: no class has {self.study.disclosure.min_cells} cells "
            f"at a site, and smaller ones are withheld; use more data, fewer sites or a smaller "
            f"min_cells"
        )

    def encode(
        self,
        drawn: Pseudonym,
        rows: Mapping[int, Sequence[int]],
        participants: int,
        hulls: Bins | None = None,
    ) -> list[list[int]]:
        """Both vectors of a site that says this of its labels, and beside it has sent `hulls`."""
        slot = drawn.slot(_said(rows, hulls))
        numbers = {label: unsigned(row) for label, row in rows.items()}
        return [
            self.of_places.encode({drawn.place: slot}, participants),
            self.of_labels.encode(numbers, self._labels(participants)),
        ]

    def decode(
        self,
        vectors: Sequence[Sequence[int]],
        survivors: int,
        participants: int,
        hulls: Bins | None = None,
    ) -> SlotTotal:
        """Decode the sites' slots, if each has used labels of one place, its own."""
        of_places, of_labels = vectors
        slots = self.of_places.decode(of_places, participants)
        decoded = self.of_labels.decode(of_labels, self._labels(participants))
        rows = {label: signed(numbers) for label, numbers in decoded.items()}
        self._check_places(rows, slots, survivors, participants)
        if hulls is not None and hulls.keys() != rows.keys():
            raise UnknownLabelSum("the sum has hulls without counts, or counts without hulls")
        try:
            self.check(list(rows.values()))
        except InvalidInput as problem:
            raise UnknownLabelSum(f"the sum has a sketch of no cells: {problem}") from None
        secrets: dict[int, tuple[int, ...]] = {}
        for place, slot in slots.items():
            mine = self.study.labels_of(place)
            of_place = {label: rows[label] for label in mine if label in rows}
            secret = checked_secret(slot, place, _said(of_place, hulls))
            if secret is None:
                raise UnknownLabelSum(
                    "what the sum says of one place is not what its site has sent: another site "
                    "has added to it; nobody can tell which"
                )
            secrets[place] = secret
        return SlotTotal(secrets, rows)

    def _labels(self, participants: int) -> int:
        return participants * self.study.labels.classes

    def _check_places(
        self,
        labels: Mapping[int, Sequence[int]],
        slots: Mapping[int, Sequence[int]],
        survivors: int,
        participants: int,
    ) -> None:
        """There are as many places as sites, and nothing is said outside them."""
        if len(slots) != survivors:
            raise UnknownLabelSum(
                f"{len(slots)} places are in use, but {survivors} sites uploaded; some site has "
                f"used more than one, or one that is not its own"
            )
        strays = set(map(self.study.place_of, labels)) - slots.keys()
        ordered = not self.study.draws_places
        if strays or (ordered and max(slots, default=0) >= participants):
            raise UnknownLabelSum("the sum has a label of a place that no site has")


def _said(rows: Mapping[int, Sequence[int]], hulls: Bins | None) -> dict[int, Said]:
    """The content that a site's tag covers, by label."""
    bins = {} if hulls is None else hulls
    return {label: (bins.get(label, ()), row) for label, row in rows.items()}
