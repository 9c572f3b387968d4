"""Hulls as sets of numbers, each of which names a bin and a label: no codes, no collisions.

With B bins and m labels to choose from, the corner of label l in bin j is the number

    x = (j − 1)·m + l + 1,      1 ≤ x ≤ B·m,

and all hulls together are a set of such numbers, whichever labels meet in whichever bin; the sets
of two sites have no number in common because every site has labels of its own. A set of n numbers
travels as n + 1 power sums of log2(B·m) bits (see `sets`), where a sparse vector of label codes
takes 2n sums of as many bits as its codes have, and it can never fail.

Labels cost only their logarithm. So there can be many more to choose from than are used, and a site
can draw its own at random: nobody, not even another site, knows whose they are.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from fedhull.codes.field import Field
from fedhull.codes.power_sums import CAUSES
from fedhull.codes.sets import checks_for, decode_set, encode_set, set_length
from fedhull.errors import SyndromeUndecodable


@dataclass(frozen=True)
class PairCoding:
    """The coding for so many bins, and labels numbered below `space`, of which `most_labels` are
    used; any number of them may meet in a bin."""

    n_bins: int
    most_labels: int
    space: int
    field: Field
    reason: str
    name = "pairs"

    @property
    def planes(self) -> int:
        """How many lists of sums there are: one."""
        return 1

    def code(self, label: int, j: int) -> int:
        """The number of a label's corner in bin j."""
        return (j - 1) * self.space + label + 1

    @property
    def checks(self) -> int:
        """How many sums are there to check the others."""
        return checks_for(self.field)

    def length(self, most: int, spare: int = 0) -> int:
        """How many power sums determine, and check, hulls with at most `most` corners."""
        return set_length(most, max(spare, self.checks))

    def encode(self, hulls: Mapping[int, Sequence[int]], most: int, spare: int = 0) -> list[int]:
        """The power sums of {label: bins of its hull}."""
        numbers = [self.code(label, int(j)) for label, bins in hulls.items() for j in bins]
        return encode_set(numbers, self.length(most, spare), self.field)

    def decode(self, sums: Sequence[int], most: int, spare: int = 0) -> dict[int, list[int]]:
        """{label: its bins, ascending} behind the sum of all sites' power sums."""
        if len(sums) != self.length(most, spare):
            raise SyndromeUndecodable(f"{len(sums)} sums are not those of {most} corners")
        numbers = decode_set(sums, most, self.field)
        if numbers and not 1 <= numbers[0] <= numbers[-1] <= self.n_bins * self.space:
            raise SyndromeUndecodable(
                f"the sums point to places outside the {self.n_bins} bins: {CAUSES}"
            )
        hulls: dict[int, list[int]] = {}
        for x in numbers:
            j, label = divmod(x - 1, self.space)
            hulls.setdefault(label, []).append(j + 1)
        return dict(sorted(hulls.items()))
