"""Sparse vectors over the bins as short lists of power sums, and back (Sec. 5.5, SCMA).

With the value v_j in bin j (1..B), the sums S_l = Σ_j v_j·j^{l−1}, l = 1..T, are a Reed–Solomon
syndrome: linear in the vector, so that the sum of all sites' lists belongs to the sum of their
vectors. Read as a power series,

    Σ_l S_l·z^{l−1}  =  Σ_j v_j / (1−jz)  =  N(z) / D(z),      D(z) = Π_j (1−jz),      deg N < n,

where n bins are not empty. A vector has several planes over the same bins, the first of which is
zero nowhere among them (see `planes`). Of the first, T ≥ 2n sums determine D (Berlekamp–Massey) and
its roots are the bins; of each other plane, n sums are enough once D is known. The values are the
residues (Forney). Any further sums are checks: D·S must have no terms from z^n on, and a list of
sums that belongs to no vector passes each check with a probability of 1/q.

A *set* X of n numbers, none of them zero, is known by its first n power sums p_k = Σ_X x^k
(Newton): with D(z) = Π_X (1 − xz),

    D'(z) = −D(z)·Σ_{k≥0} p_{k+1} z^k,      so      D(z) = exp(−Σ_{k≥1} p_k z^k / k),

and the roots of D are the inverses of the numbers. p_0 is n itself. The power sums of the union of
the sites' sets, if no two have a number in common, are the sums of theirs; a number that is in the
sum twice is a double root of D, and refused. The prime q of the field exceeds all numbers and n.
Further sums are checks: with them, the equation above must hold as well.

*Slots* are named by numbers below a `space`; in each stand a few numbers. The names in use are a
set, found first; then n sums of each plane give the numbers of n known slots. Where two sites use
the same slot, the set notices. All arithmetic is FLINT's but for the roots.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

import flint

from fedhull.codes.field import Field, smallest_field
from fedhull.codes.roots import find_roots
from fedhull.errors import SyndromeUndecodable

# Likely reasons why honest sums cannot be decoded, the likeliest first.
CAUSES = (
    "a message was damaged or came from another study, a site filled more bins than it had "
    "announced, or the masks do not cancel because the sites disagree on who takes part"
)
# Sums that belong to nothing pass for the sums of something with a probability of at most 2^−64.
CHECK_BITS = 64
Planes = Sequence[Sequence[int]]
# Numbers in slots may have any value below 2^60.
SLOT_FIELD = smallest_field(2**60)


def power_sums(
    bins: Sequence[int], planes: Planes, counts: Sequence[int], field: Field
) -> list[list[int]]:
    """S_1..S_count of each plane of a vector, given its non-empty bins and their values in each.

    >>> from fedhull.codes.field import Field
    >>> power_sums([2, 3], [[10, 1], [0, 5]], [4, 2], Field(101))
    [[11, 23, 49, 6], [5, 15]]
    """
    ring = _ring(field)
    numerators, denominator = sum_of_fractions(bins, planes, ring)
    series = denominator.inverse_series_trunc(max(counts))
    return [
        _padded(numerator.mul_low(series, count), count)
        for numerator, count in zip(numerators, counts, strict=True)
    ]


def recover(sums: Planes, n_bins: int, most: int, field: Field) -> dict[int, tuple[int, ...]]:
    """The vector {bin: values in the planes} behind the sums, if at most `most` bins are non-empty.

    Needs more than 2·most sums of the first plane and more than `most` of each other; the spare
    ones check the result. Sums that belong to no such vector pass by chance with a probability of
    about q^−spare.
    """
    first, *others = sums
    if len(first) <= 2 * most or any(len(plane) <= most for plane in others):
        raise ValueError(f"{len(first)} sums cannot check a vector of {most} bins")
    ring = _ring(field)
    locator = ring.minpoly(list(first))
    n = locator.degree()
    if n > most:
        raise SyndromeUndecodable(
            f"the sums fit no vector with at most {most} non-empty bins: {CAUSES}"
        )
    bins = find_roots(locator, field.q)
    if len(bins) != n or not all(1 <= j <= n_bins for j in bins):
        raise SyndromeUndecodable(f"the sums point to places outside the {n_bins} bins: {CAUSES}")
    values = _values(sums, bins, locator, ring)
    if 0 in values[0]:
        raise SyndromeUndecodable(f"the sums have a bin with nothing in it: {CAUSES}")
    return dict(sorted(zip(bins, zip(*values, strict=True), strict=True)))


def cut_sums(sums: Sequence[int], counts: Sequence[int], content: str) -> list[Sequence[int]]:
    """Consecutive parts of sums, with these counts; an error names the content."""
    if sum(counts) != len(sums):
        raise SyndromeUndecodable(f"{len(sums)} sums are not those of {content}")
    ends = accumulate(counts)
    return [sums[end - count : end] for end, count in zip(ends, counts, strict=True)]


def values_at(sums: Planes, bins: list[int], field: Field) -> list[list[int]]:
    """The values of each plane in n known bins, from n sums of it; further ones check them."""
    ring = _ring(field)
    _, inverse_roots = sum_of_fractions(bins, [[1] * len(bins)], ring)
    return _values(sums, bins, ring(inverse_roots.coeffs()[::-1]), ring)


def _values(sums: Planes, bins: list[int], locator: Any, ring: Any) -> list[list[int]]:
    """Forney: v_j = P(j)/Q'(j), with Q = Π(x−j) and P the polynomial part of Q·Σ S_l x^{−l}. The
    rest of that product must be zero as far as there are sums."""
    n = len(bins)
    if n == 0 and any(any(plane) for plane in sums):
        raise SyndromeUndecodable(f"the sums do not fit the vector found in them: {CAUSES}")
    if n == 0:
        return [[] for _ in sums]
    reversed_locator = ring(locator.coeffs()[::-1])
    slopes = [1 / slope for slope in locator.derivative().multipoint_evaluate(bins)]
    values = []
    for plane in sums:
        product = _padded(reversed_locator.mul_low(ring(list(plane)), len(plane)), len(plane))
        if any(product[n:]):
            raise SyndromeUndecodable(f"the sums do not fit the vector found in them: {CAUSES}")
        tops = ring(product[n - 1 :: -1]).multipoint_evaluate(bins)
        values.append([int(top * slope) for top, slope in zip(tops, slopes, strict=True)])
    return values


def sum_of_fractions(bins: Sequence[int], planes: Planes, ring: Any) -> tuple[list[Any], Any]:
    """Numerators and common denominator of Σ v_j/(1−jz) for each plane, added up pairwise."""
    nodes = [
        ([ring([v]) for v in column], ring([1, -j]))
        for j, column in zip(bins, zip(*planes, strict=True), strict=True)
    ]
    if not nodes:
        return [ring([0]) for _ in planes], ring([1])
    while len(nodes) > 1:
        odd = nodes[-1:] if len(nodes) % 2 else []
        nodes = [
            ([a * d2 + b * d1 for a, b in zip(n1, n2, strict=True)], d1 * d2)
            for (n1, d1), (n2, d2) in zip(nodes[::2], nodes[1::2], strict=False)
        ] + odd
    return nodes[0]


def _padded(polynomial: Any, n: int) -> list[int]:
    """The first n coefficients."""
    values = [int(c) for c in polynomial.coeffs()]
    return values + [0] * (n - len(values))


def _ring(field: Field) -> Any:
    return flint.fmpz_mod_poly_ctx(flint.fmpz_mod_ctx(field.q))


def checks_for(field: Field) -> int:
    """Number of extra sums that detect nonsense with a probability of 1 − 2^−64."""
    return math.ceil(CHECK_BITS / (field.bits - 1))


def set_length(most: int, checks: int) -> int:
    """Number of sums that determine, and check, a set of at most `most` numbers."""
    return most + 1 + checks


def encode_set(numbers: Sequence[int], length: int, field: Field) -> list[int]:
    """p_0..p_{length−1} of a set of numbers between 1 and q − 1.

    >>> encode_set([2, 5], 4, Field(101))
    [2, 7, 29, 32]
    """
    (sums,) = power_sums(numbers, [[1] * len(numbers)], [length], field)
    return sums


def decode_set(sums: Sequence[int], most: int, field: Field) -> list[int]:
    """The set behind the sums, ascending, if it has at most `most` numbers.

    >>> decode_set([2, 7, 29, 32], 2, Field(101))
    [2, 5]
    """
    n, ring = sums[0], flint.fmpz_mod_poly_ctx(flint.fmpz_mod_ctx(field.q))
    if n > most:
        raise SyndromeUndecodable(f"the sums fit no set of at most {most} numbers: {CAUSES}")
    series = ring(list(sums[1:]))
    inverse_roots = _exponential(-series.truncate(n).integral(), n + 1)
    # of a lower degree if a number would be zero
    is_whole = inverse_roots.degree() == n
    numbers = find_roots(inverse_roots.reverse(n), field.q) if is_whole else []
    if len(numbers) != n:
        raise SyndromeUndecodable(f"the sums fit no set of {n} numbers: {CAUSES}")
    checked = inverse_roots.mul_low(series, len(sums) - 1) + inverse_roots.derivative()
    if not checked.is_zero():
        raise SyndromeUndecodable(f"the sums do not fit the set found in them: {CAUSES}")
    return sorted(numbers)


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


def unsigned(numbers: Sequence[int]) -> list[int]:
    """Numbers between −2^59 and 2^59 as elements of the field."""
    return [number % SLOT_FIELD.q for number in numbers]


def signed(elements: Sequence[int]) -> list[int]:
    """The inverse of `unsigned`.

    >>> signed(unsigned([-3, 4]))
    [-3, 4]
    """
    q = SLOT_FIELD.q
    return [element - q if element > q // 2 else element for element in elements]


@dataclass(frozen=True)
class SlotCoding:
    """The coding of slots of `width` numbers, named by numbers below `space`."""

    space: int
    width: int

    @property
    def field(self) -> Field:
        """The field in which numbers are added."""
        return SLOT_FIELD

    def length(self, most: int) -> int:
        """Number of sums that carry at most `most` slots."""
        return sum(self._counts(most))

    def encode(self, slots: Mapping[int, Sequence[int]], most: int) -> list[int]:
        """The sums of {slot: its numbers}.

        >>> coding = SlotCoding(space=1000, width=2)
        >>> coding.decode(coding.encode({7: [1, 2], 900: [3, 4]}, most=5), most=5)
        {7: (1, 2), 900: (3, 4)}
        """
        first, *others = self._counts(most)
        names = [slot + 1 for slot in slots]
        planes = list(zip(*slots.values(), strict=True)) or [()] * self.width
        sums = [encode_set(names, first, self.field)]
        sums += power_sums(names, planes, others, self.field)
        return [value for plane in sums for value in plane]

    def decode(self, sums: Sequence[int], most: int) -> dict[int, tuple[int, ...]]:
        """{slot: its numbers}, ascending; DecodingError if the sums belong to no slots."""
        planes = cut_sums(sums, self._counts(most), f"{most} slots")
        names = decode_set(planes[0], most, self.field)
        if names and names[-1] > self.space:
            raise SyndromeUndecodable(f"the sums name a slot beyond the {self.space} there are")
        values = values_at(planes[1:], names, self.field)
        return {
            name - 1: numbers
            for name, numbers in zip(names, zip(*values, strict=True), strict=True)
        }

    def _counts(self, most: int) -> list[int]:
        """Number of sums for the set and for each plane."""
        checks = checks_for(self.field)
        return [set_length(most, checks)] + [most + checks] * self.width
