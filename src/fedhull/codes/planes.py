"""Sparse vectors of label codes over the bins, as in the paper (Sec. 5.4 and 5.5), in planes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from fedhull.codes.bose_chowla import BoseChowlaCode
from fedhull.codes.field import Field
from fedhull.codes.labels import BinaryCode, LabelCode
from fedhull.codes.limbs import Limbs, choose_limbs
from fedhull.codes.power_sums import power_sums, recover
from fedhull.codes.sets import checks_for
from fedhull.errors import SyndromeUndecodable, UnknownLabelSum


@dataclass(frozen=True)
class PlaneCoding:
    """The paper's way: a label code, its codes cut into planes, and the reason for the choice."""

    name: str
    label_code: LabelCode
    limbs: Limbs
    n_bins: int
    reason: str

    @property
    def field(self) -> Field:
        """The field of all planes."""
        return self.limbs.field

    @property
    def most_labels(self) -> int:
        """How many labels may meet in one bin."""
        return self.label_code.most_labels

    @property
    def space(self) -> int:
        """How many labels there are to choose from: no more than are used."""
        return len(self.label_code.codes)

    @property
    def planes(self) -> int:
        """How many lists of sums there are."""
        return self.limbs.n_planes

    def code(self, label: int, j: int) -> int:
        """What a label's corner adds to bin j."""
        return self.label_code.codes[label]

    @property
    def checks(self) -> int:
        """How many sums of each plane are there to check the others."""
        return checks_for(self.field)

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

    def decode(self, sums: Sequence[int], most: int, spare: int = 0) -> dict[int, list[int]]:
        """{label: its bins, ascending} behind the sum of all sites' power sums."""
        planes, begin = [], 0
        for count in self._counts(most, spare):
            planes.append(sums[begin : begin + count])
            begin += count
        if begin != len(sums):
            raise SyndromeUndecodable(f"{len(sums)} sums are not those of {most} bins")
        return self.hulls(recover(planes, self.n_bins, most, self.field))

    def vector(self, hulls: Mapping[int, Sequence[int]]) -> dict[int, tuple[int, ...]]:
        """{bin: sums of the limbs of the labels there} from {label: bins of its hull}."""
        values: dict[int, list[int]] = {}
        for label, bins in hulls.items():
            limbs = self.limbs.cut(self.label_code.codes[label])
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
        if count > self.most_labels:
            raise UnknownLabelSum(
                f"{count} labels met in one bin, more than the {self.most_labels} that the label "
                f"code can tell apart; use the label code 'pairs', a larger h or a smaller epsilon"
            )
        labels = self.label_code.decode(total)
        if len(labels) != count or len(set(labels)) != count:
            raise UnknownLabelSum(f"{total} is not a sum of {count} different labels")
        return labels


def binary_coding(n_labels: int, n_bins: int, reason: str) -> PlaneCoding:
    """Powers of two: any labels may meet."""
    limbs = choose_limbs(n_labels, n_labels, n_bins, disjoint=True)
    return PlaneCoding("binary", BinaryCode(n_labels), limbs, n_bins, reason)


def bose_chowla_coding(n_labels: int, n_bins: int, h: int, reason: str) -> PlaneCoding:
    """A B_h code: at most h labels may meet."""
    code = BoseChowlaCode(n_labels, h)
    if h < n_labels:
        reason += f"; if more than {h} labels meet in one bin, the study stops with an error"
    limbs = choose_limbs(n_labels, max(code.codes).bit_length(), n_bins, disjoint=False)
    return PlaneCoding(f"bose-chowla:{h}", code, limbs, n_bins, reason)
