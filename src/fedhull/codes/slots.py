"""A few numbers in each of a few slots, out of very many: sparse vectors with several planes.

A slot is named by a number below `space`; in it stand `width` numbers. Which slots are in use is a
set (see `sets`), found first; then n sums of each plane give the numbers of n known slots (see
`power_sums`). All of it is linear, so that slots of different sites can be added up without anybody
knowing whose is whose; where two sites use the same slot, the set notices.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from fedhull.codes.field import Field, smallest_field
from fedhull.codes.power_sums import power_sums, values_at
from fedhull.codes.sets import checks_for, decode_set, encode_set, set_length
from fedhull.errors import SyndromeUndecodable

# Numbers in slots may have any value below 2^60.
SLOT_FIELD = smallest_field(2**60)


def unsigned(numbers: Sequence[int]) -> list[int]:
    """Numbers between −2^59 and 2^59 as elements of the field."""
    return [number % SLOT_FIELD.q for number in numbers]


def signed(elements: Sequence[int]) -> list[int]:
    """The inverse of `unsigned`.

    >>> signed(unsigned([-3, 4]))
    [-3, 4]
    """
    q = SLOT_FIELD.q
    return [element - q if element > q // 2 else element for element in elements]


@dataclass(frozen=True)
class SlotCoding:
    """The coding of slots of `width` numbers, named by numbers below `space`."""

    space: int
    width: int

    @property
    def field(self) -> Field:
        """Where the numbers are added."""
        return SLOT_FIELD

    def length(self, most: int) -> int:
        """How many sums carry at most so many slots."""
        return sum(self._counts(most))

    def encode(self, slots: Mapping[int, Sequence[int]], most: int) -> list[int]:
        """The sums of {slot: its numbers}.

        >>> coding = SlotCoding(space=1000, width=2)
        >>> coding.decode(coding.encode({7: [1, 2], 900: [3, 4]}, most=5), most=5)
        {7: (1, 2), 900: (3, 4)}
        """
        first, *others = self._counts(most)
        names = [slot + 1 for slot in slots]
        planes = list(zip(*slots.values(), strict=True)) or [()] * self.width
        sums = [encode_set(names, first, self.field)]
        sums += power_sums(names, planes, others, self.field)
        return [value for plane in sums for value in plane]

    def decode(self, sums: Sequence[int], most: int) -> dict[int, tuple[int, ...]]:
        """{slot: its numbers}, ascending; DecodingError if the sums belong to no slots."""
        planes, begin = [], 0
        for count in self._counts(most):
            planes.append(sums[begin : begin + count])
            begin += count
        if begin != len(sums):
            raise SyndromeUndecodable(f"{len(sums)} sums are not those of {most} slots")
        names = decode_set(planes[0], most, self.field)
        if names and names[-1] > self.space:
            raise SyndromeUndecodable(f"the sums name a slot beyond the {self.space} there are")
        values = values_at(planes[1:], names, self.field)
        return {
            name - 1: numbers
            for name, numbers in zip(names, zip(*values, strict=True), strict=True)
        }

    def _counts(self, most: int) -> list[int]:
        """How many sums the set and each plane have."""
        checks = checks_for(self.field)
        return [set_length(most, checks)] + [most + checks] * self.width
