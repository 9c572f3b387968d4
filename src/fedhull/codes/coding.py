"""Which label code and which field a study uses, and why; hulls to sparse vectors and back."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from fedhull.codes.bose_chowla import BoseChowlaCode
from fedhull.codes.field import MOST_BITS, Field, smallest_field
from fedhull.codes.labels import BinaryCode, CountedCode, LabelCode
from fedhull.errors import InvalidInput


@dataclass(frozen=True)
class Coding:
    """A label code, the field its sums live in, and the reason for the choice, in words."""

    name: str
    code: LabelCode
    field: Field
    reason: str

    def vector(self, hulls: Mapping[int, Sequence[int]]) -> dict[int, int]:
        """{bin: sum of the codes of the labels there} from {label: bins of its hull}."""
        values: dict[int, int] = {}
        for label, bins in hulls.items():
            for j in bins:
                values[int(j)] = values.get(int(j), 0) + self.code.codes[label]
        return values

    def hulls(self, vector: Mapping[int, int]) -> dict[int, list[int]]:
        """{label: its bins, ascending}, the inverse of `vector`."""
        hulls: dict[int, list[int]] = {}
        for j in sorted(vector):
            for label in self.code.decode(vector[j]):
                hulls.setdefault(label, []).append(j)
        return dict(sorted(hulls.items()))


def choose_coding(n_labels: int, n_bins: int, wish: str = "auto") -> Coding:
    """The coding for a study with this many labels and bins.

    The field must exceed the number of bins and the largest sum that can occur, that of all labels
    in one bin, so that nothing wraps around. ``auto`` takes the binary code, which cannot fail, as
    long as it fits: a B_h code that cannot fail either needs h = n_labels and is always longer.

    >>> choose_coding(6, 181226).reason
    'the binary code cannot fail, and its 6 bits are fewer than the 18 that bin numbers need anyway'
    """
    check_code_name(wish)
    if wish == "auto":
        return _choose(n_labels, n_bins)
    if wish == "binary":
        return _binary(n_labels, n_bins, "it was asked for; it cannot fail")
    return _bose_chowla(n_labels, n_bins, int(wish.partition(":")[2]), "it was asked for")


def check_code_name(wish: str) -> None:
    """Refuse what names no label code."""
    if not re.fullmatch(r"auto|binary|bose-chowla:[1-9][0-9]{0,2}", wish):
        raise InvalidInput(
            f"label code must be 'auto', 'binary' or 'bose-chowla:H' with H ≥ 1, got {wish!r}"
        )


def _choose(n_labels: int, n_bins: int) -> Coding:
    bin_bits = n_bins.bit_length()
    if n_labels < MOST_BITS:
        if n_labels < bin_bits:
            why = f"its {n_labels} bits are fewer than the {bin_bits} that bin numbers need anyway"
        else:
            why = f"no other code that cannot fail is shorter than its {n_labels} bits"
        return _binary(n_labels, n_bins, f"the binary code cannot fail, and {why}")
    for h in range(MOST_BITS // n_labels.bit_length(), 0, -1):
        # all labels in one bin sum to about n·(h+1)·p^h, p > n: do not construct what cannot fit
        if ((n_labels + 1) ** (h + 1) * (h + 1)).bit_length() > MOST_BITS:
            continue
        try:
            return _bose_chowla(
                n_labels,
                n_bins,
                h,
                f"the binary code would need {n_labels} bits, more than the {MOST_BITS} supported; "
                f"h = {h} is the most that fits",
            )
        except InvalidInput:
            continue
    raise InvalidInput(f"no label code for {n_labels} labels fits into {MOST_BITS} bits")


def _binary(n_labels: int, n_bins: int, reason: str) -> Coding:
    code = BinaryCode(n_labels)
    return Coding("binary", code, _field_for(code, n_bins), reason)


def _bose_chowla(n_labels: int, n_bins: int, h: int, reason: str) -> Coding:
    code = CountedCode(BoseChowlaCode(n_labels, h))
    if h < n_labels:
        reason += f"; if more than {h} labels meet in one bin, the study stops with an error"
    return Coding(f"bose-chowla:{h}", code, _field_for(code, n_bins), reason)


def _field_for(code: LabelCode, n_bins: int) -> Field:
    return smallest_field(max(n_bins, sum(code.codes)))
