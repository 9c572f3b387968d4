"""How hulls become a list of sums and how they are read from it again, and why so."""

import re
from collections.abc import Mapping, Sequence
from typing import Protocol

from fedhull.codes.field import MOST_BITS, Field, smallest_field
from fedhull.codes.pairs import PairCoding
from fedhull.codes.planes import binary_coding, bose_chowla_coding
from fedhull.errors import InvalidInput
from fedhull.text import shortened


class Coding(Protocol):
    """What a study asks of a coding. `most` is how many corners all sites have at most."""

    @property
    def name(self) -> str:
        """As it is asked for: pairs, binary, bose-chowla:H."""

    @property
    def reason(self) -> str:
        """Why this one, in words."""

    @property
    def field(self) -> Field:
        """Where sums are added and masked."""

    @property
    def planes(self) -> int:
        """How many lists of sums there are."""

    @property
    def most_labels(self) -> int:
        """How many labels may meet in one bin."""

    @property
    def space(self) -> int:
        """How many labels there are to choose from."""

    def code(self, label: int, j: int) -> int:
        """The number that stands for a label's corner in bin j."""

    def length(self, most: int, spare: int = 0) -> int:
        """How many sums determine, and check, all hulls; at least `spare` of them are checks."""

    def encode(self, hulls: Mapping[int, Sequence[int]], most: int, spare: int = 0) -> list[int]:
        """The sums of {label: bins of its hull}: linear, so that sites' sums can be added."""

    def decode(self, sums: Sequence[int], most: int, spare: int = 0) -> dict[int, list[int]]:
        """{label: its bins, ascending}; DecodingError if the sums belong to no hulls."""


def choose_coding(
    n_labels: int, n_bins: int, wish: str = "auto", spread: tuple[int, int] = (1, 1)
) -> Coding:
    """The coding for a study with this many labels and bins.

    ``auto`` takes pairs, which cannot fail and send least, unless there are so many bins that they
    and the labels cannot be numbered in one machine word; then the binary code, which cannot fail
    either. With pairs, labels are drawn from a space so many times as large as their number:
    at least and, if there is room, at most `spread`.

    >>> choose_coding(6, 181226).name
    'pairs'
    """
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
    """How many times so many labels there can be to choose from, if bins and labels are numbered
    together in one machine word."""
    return ((1 << (MOST_BITS - 1)) - 1) // (n_labels * n_bins)


def check_code_name(wish: str) -> None:
    """Refuse what names no label code."""
    if not re.fullmatch(r"auto|pairs|binary|bose-chowla:[1-9][0-9]{0,2}", wish):
        raise InvalidInput(
            f"label code must be 'auto', 'pairs', 'binary' or 'bose-chowla:H' with H ≥ 1, "
            f"got {shortened(wish)}"
        )
