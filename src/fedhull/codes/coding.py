"""Which label code a study uses, and why; hulls to sparse vectors and back."""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from fedhull.codes.bose_chowla import BoseChowlaCode
from fedhull.codes.field import Field
from fedhull.codes.labels import BinaryCode, LabelCode
from fedhull.codes.limbs import Limbs, choose_limbs
from fedhull.codes.power_sums import power_sums, recover
from fedhull.errors import InvalidInput, SyndromeUndecodable, UnknownLabelSum

# Sums that belong to no vector pass for one with a probability of at most 2^−64.
_CHECK_BITS = 64
# Up to this many labels `auto` takes a code that cannot fail, whatever it costs.
_NEVER_FAIL = 500
# Beyond, it may take one that fails with at most this probability, if a label has at most so many
# corners and labels of different classes meet by chance only.
_MAY_FAIL, _CORNERS = 2.0**-40, 200


@dataclass(frozen=True)
class Coding:
    """A label code, how its codes are cut into planes, and the reason for the choice, in words."""

    name: str
    code: LabelCode
    limbs: Limbs
    n_bins: int
    reason: str

    @property
    def field(self) -> Field:
        """The field of all planes."""
        return self.limbs.field

    @property
    def checks(self) -> int:
        """How many sums of each plane are there to check the others."""
        return math.ceil(_CHECK_BITS / (self.field.bits - 1))

    def length(self, most: int, spare: int = 0) -> int:
        """How many power sums determine, and check, a vector with at most `most` bins that are not
        empty: twice as many and at least `spare` more for the first plane, once as many for each
        other."""
        return sum(self._counts(most, spare))

    def encode(self, hulls: Mapping[int, Sequence[int]], most: int, spare: int = 0) -> list[int]:
        """The power sums, plane after plane, of {label: bins of its hull}."""
        vector = self.vector(hulls)
        planes = list(zip(*vector.values(), strict=True)) or [()] * self.limbs.n_planes
        sums = power_sums(list(vector), planes, self._counts(most, spare), self.field)
        return [value for plane in sums for value in plane]

    def decode(self, sums: Sequence[int], most: int, spare: int = 0) -> dict[int, tuple[int, ...]]:
        """The vector {bin: values in the planes} behind the sum of all sites' power sums."""
        planes, begin = [], 0
        for count in self._counts(most, spare):
            planes.append(sums[begin : begin + count])
            begin += count
        if begin != len(sums):
            raise SyndromeUndecodable(f"{len(sums)} sums are not those of {most} bins")
        return recover(planes, self.n_bins, most, self.field)

    def vector(self, hulls: Mapping[int, Sequence[int]]) -> dict[int, tuple[int, ...]]:
        """{bin: sums of the limbs of the labels there} from {label: bins of its hull}."""
        values: dict[int, list[int]] = {}
        for label, bins in hulls.items():
            limbs = self.limbs.cut(self.code.codes[label])
            for j in bins:
                here = values.setdefault(int(j), [0] * self.limbs.n_planes)
                for p, limb in enumerate(limbs):
                    here[p] += limb
        return {j: tuple(planes) for j, planes in values.items()}

    def hulls(self, vector: Mapping[int, Sequence[int]]) -> dict[int, list[int]]:
        """{label: its bins, ascending}, the inverse of `vector`."""
        hulls: dict[int, list[int]] = {}
        for j in sorted(vector):
            for label in self._labels(*self.limbs.join(vector[j])):
                hulls.setdefault(label, []).append(j)
        return dict(sorted(hulls.items()))

    def _counts(self, most: int, spare: int) -> list[int]:
        """How many sums each plane has."""
        others = [most + self.checks] * (self.limbs.n_planes - 1)
        return [2 * most + max(spare, self.checks), *others]

    def _labels(self, count: int, total: int) -> tuple[int, ...]:
        """The labels in a bin; too many for the code are noticed by their count, always."""
        if count > self.code.most_labels:
            raise UnknownLabelSum(
                f"{count} labels met in one bin, more than the {self.code.most_labels} that the "
                f"label code can tell apart; use a code with a larger h, the binary code, or a "
                f"smaller epsilon"
            )
        labels = self.code.decode(total)
        if len(labels) != count or len(set(labels)) != count:
            raise UnknownLabelSum(f"{total} is no sum of {count} different labels")
        return labels


def choose_coding(
    n_labels: int, n_bins: int, wish: str = "auto", n_sites: int | None = None
) -> Coding:
    """The coding for a study with this many labels and bins, and so many sites.

    ``auto`` takes the binary code, which cannot fail, for up to 500 labels. Beyond, it takes what
    sends fewer bytes: the binary code, or Bose–Chowla with an h that is exceeded with a probability
    of at most 2^−40 even if all sites' hulls of one class meet in every bin, provided that hulls of
    different classes meet by chance only: each of at most 200 corners in any bin alike.

    >>> choose_coding(6, 181226).reason
    'it cannot fail'
    """
    check_code_name(wish)
    if wish == "binary":
        return _binary(n_labels, n_bins, "it was asked for, and it cannot fail")
    if wish != "auto":
        return _bose_chowla(n_labels, n_bins, int(wish.partition(":")[2]), "it was asked for")
    binary = _binary(n_labels, n_bins, "it cannot fail")
    if n_labels <= _NEVER_FAIL or n_sites is None:
        return binary
    h = _safe_h(n_labels, n_bins, n_sites)
    if h is None or h * n_labels.bit_length() > n_labels:
        return binary
    try:
        why = f"the binary code would take {binary.limbs.n_planes} planes"
        shorter = _bose_chowla(n_labels, n_bins, h, why)
    except InvalidInput:
        return binary
    return min(shorter, binary, key=lambda coding: coding.length(1000) * coding.field.bits)


def check_code_name(wish: str) -> None:
    """Refuse what names no label code."""
    if not re.fullmatch(r"auto|binary|bose-chowla:[1-9][0-9]{0,2}", wish):
        raise InvalidInput(
            f"label code must be 'auto', 'binary' or 'bose-chowla:H' with H ≥ 1, got {wish!r}"
        )


def _safe_h(n_labels: int, n_bins: int, n_sites: int) -> int | None:
    """The smallest h that more labels than h exceed with a probability of at most 2^−40 in any bin,
    by a union bound over bins and sets of labels; None if chance alone brings too many together."""
    share = _CORNERS / n_bins
    filled = n_labels * _CORNERS
    for others in range(n_labels - n_sites):
        if filled * math.comb(n_labels, others + 1) * share ** (others + 1) <= _MAY_FAIL:
            return n_sites + others
    return None


def _binary(n_labels: int, n_bins: int, reason: str) -> Coding:
    limbs = choose_limbs(n_labels, n_labels, n_bins, disjoint=True)
    return Coding("binary", BinaryCode(n_labels), limbs, n_bins, reason)


def _bose_chowla(n_labels: int, n_bins: int, h: int, reason: str) -> Coding:
    code = BoseChowlaCode(n_labels, h)
    if h < n_labels:
        reason += f"; if more than {h} labels meet in one bin, the study stops with an error"
    limbs = choose_limbs(n_labels, max(code.codes).bit_length(), n_bins, disjoint=False)
    return Coding(f"bose-chowla:{h}", code, limbs, n_bins, reason)
