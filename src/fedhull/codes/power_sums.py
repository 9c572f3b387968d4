"""Sparse vectors over the bins as short lists of power sums, and back (Sec. 5.5, SCMA).

With the value v_j in bin j (1..B), the sums S_l = Σ_j v_j·j^{l−1}, l = 1..T, are a Reed–Solomon
syndrome: linear in the vector, so that the sum of all sites' lists belongs to the sum of their
vectors. Read as a power series,

    Σ_l S_l·z^{l−1}  =  Σ_j v_j / (1−jz)  =  N(z) / D(z),      D(z) = Π_j (1−jz),      deg N < n,

where n bins are not empty. A vector has several planes over the same bins, the first of which is
zero nowhere among them (see `limbs`). Of the first, T ≥ 2n sums determine D (Berlekamp–Massey) and
its roots are the bins; of each other plane, n sums are enough once D is known. The values are the
residues (Forney). Any further sums are checks: D·S must have no terms from z^n on, and a list of
sums that belongs to no vector passes each check with a probability of 1/q.

All arithmetic is FLINT's but for the roots.
"""

from collections.abc import Sequence
from typing import Any

import flint

from fedhull.codes.field import Field
from fedhull.codes.roots import find_roots
from fedhull.errors import SyndromeUndecodable

# What an honest sum can be undone by, in the order of likelihood.
CAUSES = (
    "a message was damaged or came from another study, a site filled more bins than it had "
    "announced, or the masks do not cancel because the sites disagree on who takes part"
)
# Sums that belong to nothing pass for the sums of something with a probability of at most 2^−64.
CHECK_BITS = 64
Planes = Sequence[Sequence[int]]


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
    """The vector {bin: values in the planes} behind the sums, if it has at most `most` bins that
    are not empty.

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


def values_at(sums: Planes, bins: list[int], field: Field) -> list[list[int]]:
    """The values of each plane in known bins: n sums of a plane determine those of n bins, and
    further ones check them."""
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
    """Numerators and common denominator of Σ v_j/(1−jz) for each plane, added up in pairs of equal
    size."""
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
