"""Sparse vectors of label codes over the bins, as in the paper (Sec. 5.4 and 5.5), in planes.

m labels have codes a_0, …, a_{m−1}, integers of any length. Each is cut into limbs of w bits, and
each limb is a *plane*, a vector over the bins of its own. The lowest c bits of plane 0 are kept for
a count, c = ⌈log2(m+1)⌉, to which every label adds 1:

    plane 0:  1 + 2^c·(a mod 2^{w−c}),      plane p:  ⌊a / 2^{pw−c}⌋ mod 2^w.

The planes of a bin where a set S of labels meets hold the sums over S. Nothing wraps: a plane's
sum is at most m·(2^w − 1), or 2^w − 1 if no two codes share a bit, as powers of two do not, and the
prime q of the field exceeds that. So the sums are the integers themselves, and

    count = plane_0 mod 2^c = |S|,          Σ_S a = ⌊plane_0 / 2^c⌋ + Σ_{p>0} plane_p·2^{pw−c}.

Since |S| ≤ m < 2^c, the count does not run over into the rest. Plane 0 is zero exactly where no
label is: it shows which bins are not empty, and the other planes need only their values there.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import count

from fedhull.codes.field import MOST_BITS, Field, smallest_field
from fedhull.codes.labels import BinaryCode, BoseChowlaCode
from fedhull.codes.power_sums import checks_for, cut_sums, power_sums, recover
from fedhull.errors import UnknownLabelSum


@dataclass(frozen=True)
class Limbs:
    """A cut of codes: c bits for the count, w bits a plane, P planes, and the field of all."""

    count_bits: int
    width: int
    n_planes: int
    field: Field

    def cut(self, code: int) -> tuple[int, ...]:
        """A label's share of each plane, given its code.

        >>> limbs = Limbs(count_bits=3, width=8, n_planes=2, field=Field(257))
        >>> limbs.cut(0b1_11001)
        (201, 1)
        """
        mask = (1 << self.width) - 1
        whole = code << self.count_bits
        low, *rest = (whole >> p * self.width & mask for p in range(self.n_planes))
        return low + 1, *rest

    def join(self, planes: Sequence[int]) -> tuple[int, int]:
        """(count, sum of codes) from the sums in the planes.

        >>> limbs = Limbs(count_bits=3, width=8, n_planes=2, field=Field(257))
        >>> limbs.join((201, 1))
        (1, 57)
        """
        whole = sum(value << p * self.width for p, value in enumerate(planes))
        return whole & (1 << self.count_bits) - 1, whole >> self.count_bits


def choose_limbs(n_labels: int, code_bits: int, n_bins: int, disjoint: bool) -> Limbs:
    """The planes for codes of this length, and the smallest field that holds any sum in a plane and
    tells all bins apart. `disjoint` codes share no bit.

    As few planes as a field of at most 62 bits allows, for speed, or one more if that sends less:
    the first plane is sent twice as long as the others.

    >>> choose_limbs(240, code_bits=240, n_bins=10**6, disjoint=True)
    Limbs(count_bits=8, width=42, n_planes=6, field=Field(q=6597069766657))
    """
    count_bits = n_labels.bit_length()
    headroom = 1 if disjoint else n_labels

    def width(n_planes: int) -> int:
        return max(count_bits + 1, -(-(count_bits + code_bits) // n_planes))

    def largest_sum(n_planes: int) -> int:
        return headroom * ((1 << width(n_planes)) - 1)

    def cut(n_planes: int) -> Limbs:
        field = smallest_field(max(n_bins, largest_sum(n_planes)))
        return Limbs(count_bits, width(n_planes), n_planes, field)

    fewest = next(p for p in count(1) if largest_sum(p).bit_length() < MOST_BITS)
    return min(
        cut(fewest), cut(fewest + 1), key=lambda limbs: limbs.field.bits * (limbs.n_planes + 1)
    )


@dataclass(frozen=True)
class PlaneCoding:
    """The paper's way: a label code, its codes cut into planes, and the reason for the choice."""

    name: str
    label_code: BinaryCode | BoseChowlaCode
    limbs: Limbs
    n_bins: int
    reason: str

    @property
    def field(self) -> Field:
        """The field of all planes."""
        return self.limbs.field

    @property
    def most_labels(self) -> int:
        """Maximum number of labels in one bin."""
        return self.label_code.most_labels

    @property
    def space(self) -> int:
        """Number of labels to choose from: no more than are used."""
        return len(self.label_code.codes)

    @property
    def planes(self) -> int:
        """Number of lists of sums."""
        return self.limbs.n_planes

    def code(self, label: int, j: int) -> int:
        """A label's contribution to bin j."""
        return self.label_code.codes[label]

    @property
    def checks(self) -> int:
        """Number of sums of each plane that check the others."""
        return checks_for(self.field)

    def length(self, most: int, spare: int = 0) -> int:
        """Number of power sums that determine, and check, a vector with at most `most` non-empty
        bins: twice `most` and at least `spare` for the first plane, once for each other."""
        return sum(self._counts(most, spare))

    def encode(self, hulls: Mapping[int, Sequence[int]], most: int, spare: int = 0) -> list[int]:
        """The power sums, plane after plane, of {label: bins of its hull}."""
        vector = self.vector(hulls)
        planes = list(zip(*vector.values(), strict=True)) or [()] * self.limbs.n_planes
        sums = power_sums(list(vector), planes, self._counts(most, spare), self.field)
        return [value for plane in sums for value in plane]

    def decode(self, sums: Sequence[int], most: int, spare: int = 0) -> dict[int, list[int]]:
        """{label: its bins, ascending} behind the sum of all sites' power sums."""
        planes = cut_sums(sums, self._counts(most, spare), f"{most} bins")
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
        """Number of sums of each plane."""
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
