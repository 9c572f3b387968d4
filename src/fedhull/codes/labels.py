"""Label codes: integers whose sums tell which labels went into them (Sec. 5.4).

A client's class has at most one corner in a bin, so the labels that meet there form a *set*. Any
code with distinct subset sums can tell them apart: powers of two always; a B_h code, in fewer bits,
as long as at most h labels meet.
"""

from typing import Protocol

from fedhull.disc.points import check_count
from fedhull.errors import UnknownLabelSum


class LabelCode(Protocol):
    """What every code offers: its integers, how many may be summed, and the way back."""

    codes: list[int]
    most_labels: int

    def decode(self, total: int) -> tuple[int, ...]:
        """Positions in `codes` of the labels in a sum, ascending."""


class BinaryCode:
    """Powers of two: any set of labels, never a failure, one bit for each label.

    >>> BinaryCode(5).codes
    [1, 2, 4, 8, 16]
    >>> BinaryCode(5).decode(1 + 8)
    (0, 3)
    """

    def __init__(self, n_labels: int):
        n_labels = check_count(n_labels, "n_labels")
        self.codes = [1 << i for i in range(n_labels)]
        self.most_labels = n_labels

    def decode(self, total: int) -> tuple[int, ...]:
        """Positions of the bits that are set."""
        if not 0 <= total < 1 << len(self.codes):
            raise UnknownLabelSum(f"{total} is not a sum of {len(self.codes)} different labels")
        labels = []
        while total:
            lowest = total & -total
            labels.append(lowest.bit_length() - 1)
            total ^= lowest
        return tuple(labels)
