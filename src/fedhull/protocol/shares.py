"""Shamir's secret sharing: any t of the shares restore a secret, fewer say nothing about it.

The shares of a secret are a Reed–Solomon codeword: of n shares, up to (n − t)/2 wrong ones can be
found and left out (Gao, "A new algorithm for decoding Reed–Solomon codes", 2003).
"""

import secrets
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

import flint

from fedhull.codes.power_sums import sum_of_fractions

# The first prime above 2^256: room for any 32-byte secret.
PRIME = 2**256 + 297
SHARE_BYTES = 33
# For small numbers, which are shared in order to be added up.
COUNT_PRIME, COUNT_BYTES = 2**61 - 1, 8


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
    return {x: evaluate(coefficients, x, prime) for x in holders}


def evaluate(coefficients: list[int], x: int, prime: int) -> int:
    """The polynomial with these coefficients, lowest first, at x (Horner)."""
    value = 0
    for coefficient in reversed(coefficients):
        value = (value * x + coefficient) % prime
    return value


def weights(holders: Collection[int], at: int = 0, prime: int = PRIME) -> dict[int, int]:
    """Lagrange's weights: Σ weight·share over t holders is the polynomial's value at a place, the
    secret at 0 or another holder's share at its number."""
    result = {}
    for x in holders:
        top = bottom = 1
        for other in holders:
            if other != x:
                top = top * (at - other) % prime
                bottom = bottom * (x - other) % prime
        result[x] = top * pow(bottom, -1, prime) % prime
    return result


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
    ring = flint.fmpz_mod_poly_ctx(flint.fmpz_mod_ctx(prime))
    holders = sorted(shares)
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


def share_numbers(
    numbers: Sequence[int], holders: list[int], threshold: int, draw: Callable[[int], int]
) -> dict[int, bytes]:
    """For each holder its shares of some small numbers, one after the other."""
    each = [split(number, holders, threshold, COUNT_PRIME, draw) for number in numbers]
    return {
        holder: b"".join(shares[holder].to_bytes(COUNT_BYTES, "big") for shares in each)
        for holder in holders
    }


def share_of(shares: bytes, number: int) -> int:
    """The share of one of several numbers."""
    begin = number * COUNT_BYTES
    return int.from_bytes(shares[begin : begin + COUNT_BYTES], "big") % COUNT_PRIME


def add_shares(held: Sequence[bytes]) -> bytes:
    """One holder's shares of everybody's numbers added up, which are its shares of the totals."""
    numbers = range(len(held[0]) // COUNT_BYTES)
    sums = (sum(share_of(shares, number) for shares in held) for number in numbers)
    return b"".join((total % COUNT_PRIME).to_bytes(COUNT_BYTES, "big") for total in sums)


def restore_totals(shares: Mapping[int, bytes], numbers: int, threshold: int) -> tuple[int, ...]:
    """The totals behind t holders' shares of so many of them; further shares are not looked at."""
    enough = sorted(shares)[:threshold]
    weight = weights(enough, prime=COUNT_PRIME)
    return tuple(
        weighted({x: share_of(shares[x], number) for x in enough}, weight, COUNT_PRIME)
        for number in range(numbers)
    )


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
