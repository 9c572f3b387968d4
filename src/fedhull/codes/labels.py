"""Label codes: integers whose sums tell which labels went into them (Sec. 5.4).

A client's class has at most one corner in a bin, so the labels that meet there form a *set*. Any
code with distinct subset sums can tell them apart: powers of two always; a B_h code, in fewer bits,
as long as at most h labels meet.
"""

from collections.abc import Sequence
from itertools import combinations
from typing import Protocol

from fedhull.disc.points import check_count
from fedhull.errors import InvalidInput, UnknownLabelSum


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


class ListedCode:
    """A B_h code given as a list, such as the paper's {1, 3, 7, 12, 20, 30, 44} with h = 2.

    >>> ListedCode([1, 3, 7, 12, 20, 30, 44], h=2).decode(8)
    (0, 2)
    """

    def __init__(self, codes: Sequence[int], h: int):
        self.codes = [check_count(c, "every code") for c in codes]
        self.most_labels = min(check_count(h, "h"), len(self.codes))
        self._labels_of: dict[int, tuple[int, ...]] = {}
        for size in range(self.most_labels + 1):
            for labels in combinations(range(len(self.codes)), size):
                total = sum(self.codes[i] for i in labels)
                other = self._labels_of.setdefault(total, labels)
                if other != labels:
                    raise InvalidInput(
                        f"codes must have different sums of up to h = {h} terms, but the labels at "
                        f"{other} and {labels} both sum to {total}"
                    )

    def decode(self, total: int) -> tuple[int, ...]:
        """Positions of the labels, from the table of all sums."""
        try:
            return self._labels_of[total]
        except KeyError:
            raise UnknownLabelSum(
                f"{total} is not a sum of at most {self.most_labels} different labels"
            ) from None
