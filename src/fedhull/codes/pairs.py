"""Hulls as sets of numbers, each of which names a bin and a label: no codes, no collisions.

With B bins and m labels, the corner of label l in bin j is the number

    x = (j − 1)·m + l + 1,      1 ≤ x ≤ B·m,

and all hulls together are a set X of n such numbers, whichever labels meet in whichever bin. A set
is known by its first n power sums p_k = Σ_X x^k (Newton): with D(z) = Π_X (1 − xz),

    D'(z) = −D(z)·Σ_{k≥0} p_{k+1} z^k,      so      D(z) = exp(−Σ_{k≥1} p_k z^k / k),

and the roots of D are the inverses of the numbers. Power sums are linear: those of the union of the
sites' sets, which have no number in common because every site has labels of its own, are the sums
of the sites' power sums. p_0 is n itself. The prime q of the field exceeds B·m, so that different
numbers stay different, and n ≤ B·m < q can be divided by.

That takes n + 1 sums of log2(B·m) bits, where a sparse vector of label codes takes 2n sums of as
many bits as its codes have, and it can never fail. Further sums are checks: with them, the equation
above must hold as well. Sums that belong to no set pass each with a probability of 1/q. A number
that is in the sum twice is a double root of D, and refused.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import flint

from fedhull.codes.field import Field
from fedhull.codes.power_sums import CAUSES, CHECK_BITS, power_sums
from fedhull.codes.roots import find_roots
from fedhull.errors import SyndromeUndecodable


@dataclass(frozen=True)
class PairCoding:
    """The coding for so many bins and labels; any number of labels may meet in a bin."""

    n_bins: int
    n_labels: int
    field: Field
    reason: str
    name = "pairs"

    @property
    def most_labels(self) -> int:
        """How many labels may meet in one bin: all of them."""
        return self.n_labels

    @property
    def planes(self) -> int:
        """How many lists of sums there are: one."""
        return 1

    def code(self, label: int, j: int) -> int:
        """The number of a label's corner in bin j."""
        return (j - 1) * self.n_labels + label + 1

    @property
    def checks(self) -> int:
        """How many sums are there to check the others."""
        return math.ceil(CHECK_BITS / (self.field.bits - 1))

    def length(self, most: int, spare: int = 0) -> int:
        """How many power sums determine, and check, hulls with at most `most` corners."""
        return most + 1 + max(spare, self.checks)

    def encode(self, hulls: Mapping[int, Sequence[int]], most: int, spare: int = 0) -> list[int]:
        """The power sums of {label: bins of its hull}."""
        numbers = [self.code(label, int(j)) for label, bins in hulls.items() for j in bins]
        count = self.length(most, spare)
        (sums,) = power_sums(numbers, [[1] * len(numbers)], [count], self.field)
        return sums

    def decode(self, sums: Sequence[int], most: int, spare: int = 0) -> dict[int, list[int]]:
        """{label: its bins, ascending} behind the sum of all sites' power sums."""
        n, ring = sums[0], flint.fmpz_mod_poly_ctx(flint.fmpz_mod_ctx(self.field.q))
        if len(sums) != self.length(most, spare) or n > most:
            raise SyndromeUndecodable(
                f"the sums fit no hulls with at most {most} corners: {CAUSES}"
            )
        series = ring(list(sums[1:]))
        inverse_roots = _exponential(-series.truncate(n).integral(), n + 1)
        locator = ring(inverse_roots.coeffs()[::-1])
        numbers = find_roots(locator, self.field.q) if locator.degree() == n else []
        if len(numbers) != n or not all(1 <= x <= self.n_bins * self.n_labels for x in numbers):
            raise SyndromeUndecodable(
                f"the sums point to places outside the {self.n_bins} bins: {CAUSES}"
            )
        checked = inverse_roots.mul_low(series, len(sums) - 1) + inverse_roots.derivative()
        if not checked.is_zero():
            raise SyndromeUndecodable(f"the sums do not fit the hulls found in them: {CAUSES}")
        hulls: dict[int, list[int]] = {}
        for x in sorted(numbers):
            j, label = divmod(x - 1, self.n_labels)
            hulls.setdefault(label, []).append(j + 1)
        return dict(sorted(hulls.items()))


def _exponential(exponent: Any, n: int) -> Any:
    """exp of a power series without constant term, modulo z^n, by Newton's iteration
    y ← y·(1 + exponent − log y), which doubles the number of right terms."""
    ring = exponent.context()
    y, known = ring([1]), 1
    while known < n:
        known = min(2 * known, n)
        logarithm = y.derivative().mul_low(y.inverse_series_trunc(known), known - 1).integral()
        y = y.mul_low(ring([1]) + exponent.truncate(known) - logarithm, known)
    return y
