"""Shamir's secret sharing: any t of the shares restore a secret, fewer say nothing about it.

The shares of a secret are a Reed–Solomon codeword: of n shares, up to (n − t)/2 wrong ones can be
found and left out (Gao, "A new algorithm for decoding Reed–Solomon codes", 2003).

`recover` first restores all secrets from all shares. If some do not fit what their owners have
committed to, a random combination of the secrets shared among the same holders is decoded: one
codeword shows who has handed in a wrong share of any; only a lie about all of them at once, and
about the same combination, could slip through, once in 2^256. Where shares are too few for that,
sets of t holders are tried in turn.
"""

import math
import secrets
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import accumulate, combinations, islice
from typing import Any

import flint
import numpy as np

from fedhull.codes.power_sums import sum_of_fractions
from fedhull.errors import BadShares

# The first prime above 2^256: room for any 32-byte secret.
PRIME = 2**256 + 297
SHARE_BYTES = 33
# Sets of t holders that are tried before wrong shares among them end the session.
_MOST_SETS = 500


def split(
    secret: int,
    holders: list[int],
    threshold: int,
    prime: int = PRIME,
    draw: Callable[[int], int] = secrets.randbelow,
) -> dict[int, int]:
    """A share for each holder, a number from 1 on: a random polynomial of degree t−1 whose value at
    0 is the secret, evaluated there. `draw` gives a random number below its argument."""
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
    inverses = []
    for before, value in zip(reversed(products[:-1]), reversed(values), strict=True):
        inverses.append(before * rest % prime)
        rest = rest * value % prime
    return inverses[::-1]


def weighted(shares: Mapping[int, int], weight: Mapping[int, int], prime: int = PRIME) -> int:
    """Σ weight·share over the holders that have a weight."""
    return sum(weight[x] * shares[x] for x in weight) % prime


def wrong_holders(shares: Mapping[int, int], threshold: int, prime: int = PRIME) -> set[int] | None:
    """Holders whose shares do not lie on the one polynomial of degree t−1 that all but (n − t)/2 of
    the shares lie on; None if there is no such polynomial.

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
    """Π (x − holder), and the polynomial through all points, both from sums of fractions in 1/x."""
    n = len(holders)
    _, product = sum_of_fractions(holders, [[1] * n], ring)
    g0 = product.reverse(n)
    slopes = g0.derivative().multipoint_evaluate(holders)
    tops = [int(value / slope) for value, slope in zip(values, slopes, strict=True)]
    (numerator,), _ = sum_of_fractions(holders, [tops], ring)
    return g0, numerator.reverse(n - 1)


@dataclass(frozen=True, repr=False)
class Sought:
    """A secret to restore: owner, name, shares {holder: share} and a test of its commitment."""

    owner: str
    what: str
    shares: dict[int, int]
    fits: Callable[[bytes], bool]


@dataclass(frozen=True, repr=False)
class Recovered:
    """The secrets, in the order they were sought, and {holder of wrong shares: their owners}."""

    secrets: list[bytes]
    wrong: dict[int, list[str]]


def recover(sought: Sequence[Sought], threshold: int) -> Recovered:
    """Restore all secrets; BadShares if one of them cannot be."""
    alike: dict[tuple[int, ...], list[int]] = {}
    for number, each in enumerate(sought):
        alike.setdefault(tuple(sorted(each.shares)), []).append(number)
    restored: dict[int, bytes] = {}
    wrong: dict[int, list[str]] = {}
    for holders, numbers in alike.items():
        together = _recover_together([sought[i] for i in numbers], list(holders), threshold)
        restored |= zip(numbers, together.secrets, strict=True)
        for holder, owners in together.wrong.items():
            wrong.setdefault(holder, []).extend(owners)
    return Recovered([restored[number] for number in range(len(sought))], wrong)


def _recover_together(sought: Sequence[Sought], holders: list[int], threshold: int) -> Recovered:
    """Secrets that are shared among the same holders."""
    if len(holders) >= threshold:
        weight = weights(holders)
        values = [weighted(each.shares, weight) for each in sought]
        if all(_fits(each, value) for each, value in zip(sought, values, strict=True)):
            return Recovered([value.to_bytes(32, "big") for value in values], {})
    suspects = wrong_holders(_combined(sought, holders), threshold)
    trusted = sorted(holders, key=lambda x: (x in (suspects or ()), x))
    sets = _Sets(trusted, threshold)
    restored = [_restore(each, sets) for each in sought]
    wrong: dict[int, list[str]] = {}
    for x in holders if suspects is None else sorted(suspects):
        for each, (_, used) in zip(sought, restored, strict=True):
            if x not in used and weighted(each.shares, sets.weights(used, at=x)) != each.shares[x]:
                wrong.setdefault(x, []).append(each.owner)
    return Recovered([secret for secret, _ in restored], wrong)


class _Sets:
    """Sets of t holders, the most trusted first, and Lagrange's weights of those that are used."""

    def __init__(self, holders: list[int], threshold: int):
        self._holders, self._threshold = holders, threshold
        self._weights: dict[tuple[tuple[int, ...], int], dict[int, int]] = {}

    def __iter__(self) -> "islice[tuple[int, ...]]":
        return islice(combinations(self._holders, self._threshold), _MOST_SETS)

    def weights(self, holders: tuple[int, ...], at: int = 0) -> dict[int, int]:
        """As the function `weights`, worked out once."""
        key = holders, at
        if key not in self._weights:
            self._weights[key] = weights(holders, at)
        return self._weights[key]


def _combined(sought: Sequence[Sought], holders: list[int]) -> dict[int, int]:
    factors = [secrets.randbelow(PRIME) for _ in sought]
    return {
        x: sum(f * each.shares[x] for f, each in zip(factors, sought, strict=True)) % PRIME
        for x in holders
    }


def _fits(sought: Sought, secret: int) -> bool:
    return secret.bit_length() <= 256 and sought.fits(secret.to_bytes(32, "big"))


def _restore(sought: Sought, sets: _Sets) -> tuple[bytes, tuple[int, ...]]:
    """The secret, and the holders whose shares gave it."""
    for holders in sets:
        secret = weighted(sought.shares, sets.weights(holders))
        if _fits(sought, secret):
            return secret.to_bytes(32, "big"), holders
    raise BadShares(
        f"the shares of {sought.owner!r}'s {sought.what} do not fit what it has committed to: "
        f"{sought.owner!r} has dealt wrong ones, or too many sites have handed in wrong ones"
    )
