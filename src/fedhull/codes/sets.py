"""Sets of numbers as short lists of power sums, and back.

A set X of n numbers, none of them zero, is known by its first n power sums p_k = Σ_X x^k (Newton):
with D(z) = Π_X (1 − xz),

    D'(z) = −D(z)·Σ_{k≥0} p_{k+1} z^k,      so      D(z) = exp(−Σ_{k≥1} p_k z^k / k),

and the roots of D are the inverses of the numbers. p_0 is n itself. Power sums are linear: those of
the union of the sites' sets, if no two have a number in common, are the sums of the sites' power
sums. The prime q of the field exceeds all numbers, so that different ones stay different, and n.

n + 1 sums determine the set. Further sums are checks: with them, the equation above must hold as
well. Sums that belong to no set pass each with a probability of 1/q. A number that is in the sum
twice is a double root of D, and refused.
"""

import math
from collections.abc import Sequence
from typing import Any

import flint

from fedhull.codes.field import Field
from fedhull.codes.power_sums import CAUSES, CHECK_BITS, power_sums
from fedhull.codes.roots import find_roots
from fedhull.errors import SyndromeUndecodable


def checks_for(field: Field) -> int:
    """How many sums beyond those needed notice nonsense with a probability of 1 − 2^−64."""
    return math.ceil(CHECK_BITS / (field.bits - 1))


def set_length(most: int, checks: int) -> int:
    """How many sums determine, and check, a set of at most `most` numbers."""
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
