"""The third sum: anchors, means of groups of cells, from which the server reads all of them and not
whose they are. Every anchor stands in a slot of its own, whose name is drawn at random.

How many cells each stands for is not said: all groups of a site are about equally large, so that
their sizes would tell which anchors are one site's. Only the number of all sites' cells is."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from fedhull.codes.power_sums import SlotCoding, signed, unsigned
from fedhull.errors import UnknownLabelSum
from fedhull.learn.moments import MOST_CELLS
from fedhull.protocol.keys import Randomness, digest
from fedhull.protocol.summation import Layout, Totals, Vector
from fedhull.study.encoder_study import NeighbourStudy

# Among so many names two anchors hardly ever draw the same.
_NAMES = 2**59
_UNIT = 2.0**-24
# No feature of a standardised cell is as large.
_LARGEST = 2.0**20
_ROUNDED_TO = 8


@dataclass(frozen=True, repr=False)
class AnchorTotal:
    """What the server learns: anchors (m, c), in an order that says nothing, how many cells stand
    behind all of them, and who is in the sum."""

    anchors: np.ndarray
    cells: int
    survivors: list[str]


@dataclass(frozen=True)
class AnchorSummation:
    """Anchors along `n_components` axes; `basis` is what was published after the second sum."""

    study: NeighbourStudy
    n_components: int
    basis: bytes
    number: int = 3

    ordered = False

    @property
    def context(self) -> bytes:
        """Which sum it is, and along which axes."""
        return digest(b"anchors", self.n_components.to_bytes(8, "big"), self.basis)

    @property
    def coding(self) -> SlotCoding:
        """What cells have on each axis."""
        return SlotCoding(_NAMES, self.n_components)

    @property
    def most(self) -> tuple[int, ...]:
        """How many anchors a site has."""
        return (rounded_up(self.study.encoder.max_anchors),)

    def layout(self, totals: Totals, participants: int) -> Layout:
        """As many numbers as determine, and check, all anchors together, and that of the cells."""
        coding = self.coding
        return Layout(((coding.field, coding.length(totals[0])), (coding.field, 1)))

    def open(
        self, vector: Vector, totals: Totals, survivors: list[str], participants: int
    ) -> AnchorTotal:
        """The anchors, if groups of cells can have them."""
        numbers, (cells,) = self.layout(totals, participants).to_ints(vector)
        found = self.coding.decode(numbers, totals[0]).values()
        slots = sorted(tuple(signed(slot)) for slot in found)
        if not slots:
            raise UnknownLabelSum("the sum has no anchors")
        anchors = np.array(slots, dtype=np.int64) * _UNIT
        smallest = self.study.disclosure.group_size
        enough = smallest * len(anchors) <= cells <= MOST_CELLS
        if not enough or (abs(anchors) > _LARGEST).any():
            raise UnknownLabelSum(
                f"the sum has anchors that no groups of {smallest} or more cells can have, so "
                f"some site has sent something else"
            )
        return AnchorTotal(anchors, cells, survivors)


@dataclass(frozen=True)
class AnchorContribution:
    """A site's anchors (m, c) and how many cells they stand for; `make` gives them, once."""

    summation: AnchorSummation
    make: Callable[[], tuple[np.ndarray, int]]

    @property
    def announced(self) -> Totals:
        """How many anchors there are, rounded up."""
        return (rounded_up(len(self.make()[0])),)

    def draw(self, place: int, randomness: Randomness) -> list[int]:
        """A name for each anchor, in no order: that of a site's groups would tell which anchors
        are one site's."""
        below, names = randomness.below("names of anchors"), dict[int, None]()
        while len(names) < len(self.make()[0]):
            names[below(_NAMES)] = None
        return list(names)

    def vector(self, drawn: list[int], totals: Totals, participants: int) -> Vector:
        """Every anchor in its slot, and the number of cells."""
        anchors, cells = self.make()
        # whether a site takes part must not depend on its cells, whatever the axes are said to be
        fixed = np.rint(np.clip(anchors, -_LARGEST, _LARGEST) / _UNIT).astype(np.int64)
        slots = {name: unsigned(row) for name, row in zip(drawn, fixed.tolist(), strict=True)}
        coding = self.summation.coding
        layout = self.summation.layout(totals, participants)
        return layout.vector([coding.encode(slots, totals[0]), [cells]])


def rounded_up(anchors: int) -> int:
    """What a site adds to the total that all sites learn."""
    return math.ceil(anchors / _ROUNDED_TO) * _ROUNDED_TO
