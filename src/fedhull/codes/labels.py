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
        return tuple(i for i in range(len(self.codes)) if total >> i & 1)


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


class CountedCode:
    """A B_h code that notices when more than h labels have met: each label also adds 1 to a count.

    The label a becomes M + a, where M exceeds every sum of at most h labels of the code inside. In
    total = M·count + sum, up to h labels leave the count exact and the sum decodable; more than h
    make ⌊total/M⌋ larger than h whatever the sum carries over. So too many labels are always
    noticed, with no probability of error at all, at a price of about log2(number of labels) bits.

    >>> code = CountedCode(ListedCode([1, 3, 7, 12], h=2))
    >>> code.decode(code.codes[0] + code.codes[3])
    (0, 3)
    """

    def __init__(self, inner: LabelCode):
        self._inner = inner
        self.most_labels = inner.most_labels
        self._unit = sum(sorted(inner.codes)[-inner.most_labels :]) + 1
        self.codes = [self._unit + code for code in inner.codes]

    def decode(self, total: int) -> tuple[int, ...]:
        """Positions of the labels; UnknownLabelSum if more than h met, one twice, or none fit."""
        count, rest = divmod(total, self._unit)
        if count > self.most_labels:
            raise UnknownLabelSum(
                f"more than {self.most_labels} labels met in one bin, more than the label code can "
                f"tell apart; use a code with a larger h, the binary code, or a smaller epsilon"
            )
        labels = self._inner.decode(rest)
        if len(labels) != count or len(set(labels)) != count:
            raise UnknownLabelSum(f"{total} is not a sum of at most {self.most_labels} labels")
        return labels
