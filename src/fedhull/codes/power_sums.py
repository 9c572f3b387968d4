"""A sparse vector over the bins as a short list of power sums, and back (Sec. 5.5, SCMA).

With the value v_j in bin j (1..B), the sums S_l = Σ_j v_j·j^{l−1}, l = 1..T, are a Reed–Solomon
syndrome: linear in the vector, so that the sum of all sites' lists belongs to the sum of their
vectors; and T ≥ 2n of them determine a vector with n non-empty bins. Read as a power series,

    Σ_l S_l·z^{l−1}  =  Σ_j v_j / (1−jz)  =  N(z) / D(z),      D(z) = Π_j (1−jz).

Encoding expands N/D. Decoding finds D (Berlekamp–Massey), its roots, and the residues (Forney).
All arithmetic is FLINT's.
"""

from collections.abc import Sequence
from typing import Any

import flint

from fedhull.codes.field import Field
from fedhull.codes.roots import find_roots
from fedhull.errors import SyndromeUndecodable

# What an honest sum can be undone by, in the order of likelihood.
_CAUSES = (
    "a message was damaged or came from another study, a site filled more bins than it had "
    "announced, or the masks do not cancel because the sites disagree on who takes part"
)


def power_sums(bins: Sequence[int], values: Sequence[int], count: int, field: Field) -> list[int]:
    """S_1..S_count of a vector with the given non-empty bins.

    >>> from fedhull.codes.field import Field
    >>> power_sums([2, 3], [10, 1], 4, Field(101))
    [11, 23, 49, 6]
    """
    ring = _ring(field)
    numerator, denominator = _sum_of_fractions(bins, values, ring)
    series = numerator.mul_low(denominator.inverse_series_trunc(count), count)
    sums = [int(c) for c in series.coeffs()]
    return sums + [0] * (count - len(sums))


def recover(sums: Sequence[int], n_bins: int, most: int, field: Field) -> dict[int, int]:
    """The vector {bin: value} behind the sums, if it has at most `most` non-empty bins.

    Needs more than 2·most sums; the spare ones check the result. Sums that belong to no such vector
    pass by chance with a probability of about q^−spare.
    """
    if len(sums) <= 2 * most:
        raise ValueError(f"{len(sums)} sums cannot check a vector of {most} bins")
    ring = _ring(field)
    locator = ring.minpoly(list(sums))
    found = locator.degree()
    if found > most:
        raise SyndromeUndecodable(
            f"the sums fit no vector with at most {most} non-empty bins: {_CAUSES}"
        )
    bins = find_roots(locator, field.q)
    if len(bins) != found or not all(1 <= j <= n_bins for j in bins):
        raise SyndromeUndecodable(f"the sums point to places outside the {n_bins} bins: {_CAUSES}")
    vector = dict(sorted(zip(bins, _values(sums, bins, locator, ring), strict=True)))
    if power_sums(list(vector), list(vector.values()), len(sums), field) != list(sums):
        raise SyndromeUndecodable(f"the sums do not fit the vector found in them: {_CAUSES}")
    return vector


def _values(sums: Sequence[int], bins: list[int], locator: Any, ring: Any) -> list[int]:
    """Forney: v_j = P(j)/Q'(j), with Q = Π(x−j) and P the polynomial part of Q·Σ S_l x^{−l}."""
    n = len(bins)
    if n == 0:
        return []
    reversed_locator = ring(locator.coeffs()[::-1])
    numerator = reversed_locator.mul_low(ring(list(sums[:n])), n)
    coefficients = numerator.coeffs()
    residues = ring(([0] * (n - len(coefficients))) + coefficients[::-1])
    tops = residues.multipoint_evaluate(bins)
    bottoms = locator.derivative().multipoint_evaluate(bins)
    return [int(top / bottom) for top, bottom in zip(tops, bottoms, strict=True)]


def _sum_of_fractions(bins: Sequence[int], values: Sequence[int], ring: Any) -> tuple[Any, Any]:
    """Numerator and denominator of Σ v_j/(1−jz), added up in pairs of equal size."""
    fractions = [(ring([v]), ring([1, -j])) for j, v in zip(bins, values, strict=True)]
    if not fractions:
        return ring([0]), ring([1])
    while len(fractions) > 1:
        pairs = zip(fractions[::2], fractions[1::2], strict=False)
        odd = fractions[-1:] if len(fractions) % 2 else []
        fractions = [(n1 * d2 + n2 * d1, d1 * d2) for (n1, d1), (n2, d2) in pairs] + odd
    return fractions[0]


def _ring(field: Field) -> Any:
    return flint.fmpz_mod_poly_ctx(flint.fmpz_mod_ctx(field.q))
