"""Codings: hulls as a list of sums, and back; and the choice of a coding.

The default numbers bins and labels together. With B bins and m labels to choose from, the corner of
label l in bin j is the number x = (j − 1)·m + l + 1, 1 ≤ x ≤ B·m, and all hulls together are a set,
whichever labels meet in whichever bin. A set of n numbers travels as n + 1 power sums of log2(B·m)
bits, where a sparse vector of label codes takes 2n sums of as many bits as its codes have, and it
can never fail. Labels cost only their logarithm, so there can be many more than are used, and a
site draws its own at random: nobody, not even another site, knows whose they are.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from fedhull.codes.field import MOST_BITS, Field, smallest_field
from fedhull.codes.power_sums import CAUSES, checks_for, decode_set, encode_set, set_length
from fedhull.errors import InvalidInput, SyndromeUndecodable
from fedhull.text import shortened

if TYPE_CHECKING:
    from fedhull.codes.planes import PlaneCoding


@dataclass(frozen=True)
class PairCoding:
    """The coding for `n_bins` bins and `most_labels` labels below `space`; all may share a bin."""

    n_bins: int
    most_labels: int
    space: int
    field: Field
    reason: str
    name = "pairs"

    @property
    def planes(self) -> int:
        """Number of lists of sums: one."""
        return 1

    def code(self, label: int, j: int) -> int:
        """The number of a label's corner in bin j."""
        return (j - 1) * self.space + label + 1

    @property
    def checks(self) -> int:
        """Number of sums that check the others."""
        return checks_for(self.field)

    def length(self, most: int, spare: int = 0) -> int:
        """Number of power sums that determine, and check, hulls with at most `most` corners."""
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


# A study's coding. `most` is the maximum number of corners over all sites.
Coding: TypeAlias = "PairCoding | PlaneCoding"


def choose_coding(
    n_labels: int, n_bins: int, wish: str = "auto", spread: tuple[int, int] = (1, 1)
) -> Coding:
    """The coding for a study with this many labels and bins.

    ``auto`` takes pairs, which cannot fail and send least, unless bins and labels together cannot
    be numbered in one machine word; then the binary code, which cannot fail either. With pairs, the
    space that labels are drawn from exceeds their number by at least the first and, if there is
    room, by the second factor of `spread`.

    >>> choose_coding(6, 181226).name
    'pairs'
    """
    # the paper's codes are for hulls only, and few ask for them
    from fedhull.codes.planes import binary_coding, bose_chowla_coding

    check_code_name(wish)
    if wish == "binary":
        return binary_coding(n_labels, n_bins, "it was asked for, and it cannot fail")
    if wish.startswith("bose-chowla"):
        return bose_chowla_coding(n_labels, n_bins, int(wish.partition(":")[2]), "it was asked for")
    least, wanted = spread
    room = pair_room(n_labels, n_bins)
    if room >= least:
        why = "it cannot fail, however many labels meet, and sends least"
        space = n_labels * min(room, wanted)
        return PairCoding(n_bins, n_labels, space, smallest_field(space * n_bins), why)
    if wish == "pairs":
        raise InvalidInput(
            f"{n_bins:,} bins and {n_labels:,} labels are too many for the label code 'pairs'; use "
            f"'binary', or a larger epsilon"
        )
    why = "it cannot fail, and there are too many bins to number bins and labels together"
    return binary_coding(n_labels, n_bins, why)


def pair_room(n_labels: int, n_bins: int) -> int:
    """Largest possible `space` / `n_labels`: bins and labels are numbered in one machine word."""
    return ((1 << (MOST_BITS - 1)) - 1) // (n_labels * n_bins)


def check_code_name(wish: str) -> None:
    """Refuse what names no label code."""
    if not re.fullmatch(r"auto|pairs|binary|bose-chowla:[1-9][0-9]{0,2}", wish):
        raise InvalidInput(
            f"label code must be auto, pairs, binary or bose-chowla:H, H ≥ 1, got {shortened(wish)}"
        )
