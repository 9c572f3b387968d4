"""Shamir's secret sharing: any t of the shares restore a secret, fewer say nothing about it.

The shares of a secret are a Reed–Solomon codeword: of n shares, up to (n − t)/2 wrong ones can be
found and left out (Gao, "A new algorithm for decoding Reed–Solomon codes", 2003).
"""

import math
import secrets
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cache
from itertools import accumulate
from typing import Any

import flint
import numpy as np

from fedhull.codes.power_sums import sum_of_fractions

# The first prime above 2^256: room for any 32-byte secret.
PRIME = 2**256 + 297
SHARE_BYTES = 33


def split(
    secret: int,
    holders: list[int],
    threshold: int,
    prime: int = PRIME,
    draw: Callable[[int], int] = secrets.randbelow,
) -> dict[int, int]:
    """A share for each holder, who is a number from 1 on: a random polynomial of degree t−1 whose
    value at 0 is the secret, evaluated at the holder's number. `draw` gives a random number below
    its argument."""
    coefficients = [secret] + [draw(prime) for _ in range(threshold - 1)]
    return dict(zip(holders, evaluate(coefficients, holders, prime), strict=True))


def evaluate(coefficients: Sequence[int], places: Sequence[int], prime: int) -> list[int]:
    """The polynomial with these coefficients, lowest first, at each of the places."""
    polynomial = _ring(prime)(coefficients)
    return [int(value) for value in polynomial.multipoint_evaluate(places)]


@cache
def _ring(prime: int) -> Any:
    return flint.fmpz_mod_poly_ctx(flint.fmpz_mod_ctx(prime))


def weights(holders: Collection[int], at: int = 0, prime: int = PRIME) -> dict[int, int]:
    """Lagrange's weights: Σ weight·share over t holders is the polynomial's value at a place, the
    secret at 0 or the share of somebody who is not among them at its number."""
    places = list(holders)
    # Π (at − other) over the others is the whole product without the factor of one's own
    whole = math.prod(at - x for x in places)
    gaps = np.subtract.outer(places, places)
    np.fill_diagonal(gaps, at - np.array(places))
    inverses = _inverses([math.prod(row) for row in gaps.tolist()], prime)
    return {x: whole * inverse % prime for x, inverse in zip(places, inverses, strict=True)}


def _inverses(values: Sequence[int], prime: int) -> list[int]:
    """1/value of each, at the price of one inversion: that of their product."""
    products = list(accumulate(values, lambda a, b: a * b % prime, initial=1))
    rest = pow(products[-1], -1, prime)
    found = []
    for before, value in zip(reversed(products[:-1]), reversed(values), strict=True):
        found.append(before * rest % prime)
        rest = rest * value % prime
    return found[::-1]


def weighted(shares: Mapping[int, int], weight: Mapping[int, int], prime: int = PRIME) -> int:
    """Σ weight·share over the holders that have a weight."""
    return sum(weight[x] * shares[x] for x in weight) % prime


def restore(shares: Mapping[int, int], prime: int = PRIME) -> int:
    """The secret behind t shares {holder: share}."""
    return weighted(shares, weights(shares, prime=prime), prime)


def wrong_holders(shares: Mapping[int, int], threshold: int, prime: int = PRIME) -> set[int] | None:
    """Whose shares do not lie on the one polynomial of degree t−1 that all but (n − t)/2 of them
    lie on; None if there is no such polynomial.

    Gao: with g1 the polynomial through all shares and g0 = Π(x − holder), the extended Euclidean
    algorithm is stopped at the first remainder g of degree below (n + t)/2; if g = u·g0 + v·g1,
    then g/v is the polynomial sought.
    """
    ring, holders = _ring(prime), sorted(shares)
    g0, g1 = _through(holders, [shares[x] for x in holders], ring)
    before, after, v_before, v_after = g0, g1, ring([0]), ring([1])
    while 2 * after.degree() >= len(holders) + threshold:
        quotient, rest = divmod(before, after)
        before, after = after, rest
        v_before, v_after = v_after, v_before - quotient * v_after
    polynomial, rest = divmod(after, v_after)
    if not rest.is_zero() or polynomial.degree() >= threshold:
        return None
    values = polynomial.multipoint_evaluate(holders)
    wrong = {x for x, value in zip(holders, values, strict=True) if int(value) != shares[x]}
    return wrong if 2 * len(wrong) <= len(holders) - threshold else None


def _through(holders: list[int], values: list[int], ring: Any) -> tuple[Any, Any]:
    """Π (x − holder), and the polynomial through all points (Lagrange). Both come out of sums of
    fractions in 1/x, and are read backwards."""
    n = len(holders)
    _, product = sum_of_fractions(holders, [[1] * n], ring)
    g0 = product.reverse(n)
    slopes = g0.derivative().multipoint_evaluate(holders)
    tops = [int(value / slope) for value, slope in zip(values, slopes, strict=True)]
    (numerator,), _ = sum_of_fractions(holders, [tops], ring)
    return g0, numerator.reverse(n - 1)
