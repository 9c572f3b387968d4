"""The value of a bin as a few machine words: sums of codes of any length, in one small field.

m labels have codes a_0, …, a_{m−1}, integers of any length. Each is cut into limbs of w bits, and
each limb is a *plane*, a vector over the bins of its own. The lowest c bits of plane 0 are kept for
a count, c = ⌈log2(m+1)⌉, to which every label adds 1:

    plane 0:  1 + 2^c·(a mod 2^{w−c}),      plane p:  ⌊a / 2^{pw−c}⌋ mod 2^w.

The planes of a bin where a set S of labels meets hold the sums over S. Nothing wraps: a plane's
sum is at most m·(2^w − 1), or 2^w − 1 if no two codes share a bit, as powers of two do not, and the
prime q of the field exceeds that. So the sums are the integers themselves, and

    count = plane_0 mod 2^c = |S|,          Σ_S a = ⌊plane_0 / 2^c⌋ + Σ_{p>0} plane_p·2^{pw−c}.

(The count does not run over into the rest, as |S| ≤ m < 2^c.) Plane 0 is never zero where a label
is, since 0 < |S| and plane_0 < q; it is zero elsewhere. So it shows which bins are not empty, and
the other planes need no more than their values there.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count

from fedhull.codes.field import MOST_BITS, Field, smallest_field


@dataclass(frozen=True)
class Limbs:
    """How codes are cut: c bits for the count, w bits a plane, P planes, and the field of all."""

    count_bits: int
    width: int
    n_planes: int
    field: Field

    def cut(self, code: int) -> tuple[int, ...]:
        """What a label with this code adds to each plane.

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
    """The planes for codes of so many bits, and the smallest field that holds any sum in a plane
    and tells all bins apart. `disjoint` codes share no bit.

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
