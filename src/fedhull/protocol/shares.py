"""Shamir's secret sharing: any t of the shares restore a secret, fewer say nothing about it."""

import secrets
from collections.abc import Callable, Mapping

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
    return {x: evaluate(coefficients, x, prime) for x in holders}


def evaluate(coefficients: list[int], x: int, prime: int) -> int:
    """The polynomial with these coefficients, lowest first, at x (Horner)."""
    value = 0
    for coefficient in reversed(coefficients):
        value = (value * x + coefficient) % prime
    return value


def restore(shares: Mapping[int, int], prime: int = PRIME) -> int:
    """The secret behind t shares {holder: share}: Lagrange's interpolation at 0."""
    secret = 0
    for x, share in shares.items():
        top = bottom = 1
        for other in shares:
            if other != x:
                top = top * -other % prime
                bottom = bottom * (x - other) % prime
        secret += share * top * pow(bottom, -1, prime)
    return secret % prime
