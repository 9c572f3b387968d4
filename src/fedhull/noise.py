"""Noise that hides single cells in sums: discrete Gaussians, and the variance that a promise takes.

Gaussian noise of variance σ² on whole numbers that one cell, or one donor, changes by at most Δ in
Euclidean length costs ρ = Δ²/2σ² in zero-concentrated privacy, discrete as continuous. Costs of
releases about the same cells add up; of releases about disjoint sets of cells only the largest
counts (Bun and Steinke, 2016; Canonne, Kamath and Steinke, 2020). In terms of (ε, δ), their
Corollary 13 says that ρ promises

    δ = min over α > 1 of exp((α − 1)(αρ − ε)) · (1 − 1/α)^α / (α − 1).

Sums of discrete Gaussians, one of each site, are not exactly one. The odds that they distort are
within exp(±10·n·exp(−π²σ²)) of it (Kairouz, Liu and Steinke, 2021): with σ ≥ 8, as is always the
case here, that is 1 to hundreds of digits.

Noise is drawn exactly, from a key: the same key gives the same noise again.

P(y) ∝ exp(−y²/2σ²) over whole numbers (Canonne, Kamath and Steinke, "The discrete Gaussian for
differential privacy", 2020). Candidates y are uniform over |y| ≤ 16σ, and each is accepted with
probability exp(−y²/2σ²): its float decides if it is clear, otherwise ball arithmetic and as many
more bits of the uniform number as that takes. So every y has exactly its probability, but for the
tails beyond 16σ, which are less than 10⁻⁵⁶ and count as 0.

OpenDP's sampler draws from the system only. A site that is stopped and goes on must send the same
numbers again: two draws of noise over one sum would show more than one. So the noise is a function
of the site's secret for the session, and tests compare its distribution with OpenDP's.
"""

import math
from collections.abc import Callable
from functools import lru_cache

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.algorithms import ChaCha20
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.hmac import HMAC
from flint import arb, ctx, fmpq

LEAST_VARIANCE = 64
_LEAST_COST, _MOST_COST = 1e-12, 1e6
# Nothing is drawn beyond this many standard deviations.
_FARTHEST = 16
# Floats of exp(−γ), γ ≤ 128, and of uniform numbers are right to within this share of them.
_UNCLEAR = 2.0**-40
_WORD = 64


def delta_of(cost: float, epsilon: float) -> float:
    """The smallest δ with which ρ = cost promises ε."""

    def exponent(log_above: float) -> float:
        above = math.exp(log_above)  # α − 1
        alpha = 1.0 + above
        return (
            above * (alpha * cost - epsilon)
            + alpha * (math.log(above) - math.log(alpha))
            - math.log(above)
        )

    from scipy.optimize import minimize_scalar  # slow to import, and few studies need it

    # the best α is near (ε + ρ)/2ρ
    middle = math.log(max((epsilon + cost) / (2.0 * cost) - 1.0, 1e-6))
    least = minimize_scalar(exponent, bounds=(middle - 6.0, middle + 6.0), method="bounded").fun
    return min(1.0, math.exp(min(float(least), 0.0)))


# Each takes thousands of steps, and every number of a study's noise depends on both.
@lru_cache
def cost_of(epsilon: float, delta: float) -> float:
    """The largest ρ that promises (ε, δ).

    >>> round(cost_of(1.0, 1e-5), 4)
    0.0306
    """

    def excess(log_cost: float) -> float:
        return math.log(max(delta_of(math.exp(log_cost), epsilon), 1e-300)) - math.log(delta)

    from scipy.optimize import brentq

    low, high = math.log(_LEAST_COST), math.log(_MOST_COST)
    return math.exp(brentq(excess, low, high, xtol=1e-12)) * (1.0 - 1e-9)


@lru_cache
def epsilon_of(cost: float, delta: float) -> float:
    """The smallest ε that ρ = cost promises with this δ."""
    if cost <= 0.0:
        return 0.0

    def excess(epsilon: float) -> float:
        return math.log(max(delta_of(cost, epsilon), 1e-300)) - math.log(delta)

    from scipy.optimize import brentq

    most = cost + 2.0 * math.sqrt(-cost * math.log(delta)) + 1.0
    return 0.0 if excess(0.0) <= 0.0 else float(brentq(excess, 0.0, most))


def variance_for(square: int, cost: float, shared_by: int = 1) -> int:
    """The variance σ² of each of `shared_by` equal parts of the noise, which together cost at most
    ρ = cost if a cell changes the numbers by at most Δ, Δ² = square.

    >>> variance_for(square=4, cost=0.001)
    2000
    """
    return max(LEAST_VARIANCE, math.ceil(square / (2.0 * cost * shared_by)))


def discrete_gaussian(variance: int, size: int, key: bytes) -> np.ndarray:
    """`size` whole numbers with P(y) ∝ exp(−y²/2σ²), σ² = variance ≥ 1, as int64.

    >>> noise = discrete_gaussian(100, 10_000, key=bytes(32))
    >>> bool(abs(noise.std() - 10.0) < 0.3)
    True
    """
    words = _keystream(key)
    farthest = _FARTHEST * (math.isqrt(variance) + 1)
    bits = (2 * farthest).bit_length()
    drawn = np.empty(0, dtype=np.int64)
    while len(drawn) < size:
        # a candidate is in range every other time at least, and then taken one time in thirteen
        n = 32 * (size - len(drawn)) + 64
        y = (words(n) >> np.uint64(_WORD - bits)).astype(np.int64) - farthest
        accepted = _accepted(y, variance, words(n), key) & (y <= farthest)
        drawn = np.append(drawn, y[accepted])
    return drawn[:size]


def _accepted(y: np.ndarray, variance: int, uniform: np.ndarray, key: bytes) -> np.ndarray:
    """Mask (n,) of accepted y, given 64 bits of a uniform number for each."""
    likely = np.exp(-np.square(y.astype(np.float64)) / (2.0 * variance))
    begins = np.ldexp(uniform.astype(np.float64), -_WORD)
    accepted = begins < likely
    unclear = np.abs(begins - likely) <= _UNCLEAR * (likely + begins) + 2.0**-_WORD
    for i in np.flatnonzero(unclear).tolist():
        accepted[i] = _is_below(int(uniform[i]), int(y[i]), variance, key)
    return accepted


def _is_below(digits: int, y: int, variance: int, key: bytes) -> bool:
    """True if a uniform number that begins with these 64 bits is below exp(−y²/2σ²)."""
    bits, precision, more = _WORD, ctx.prec, _keystream(key, b"%d %d" % (digits, y))
    try:
        while True:
            ctx.prec = bits + _WORD
            likely = arb(fmpq(-y * y, 2 * variance)).exp() * arb(2) ** bits
            if arb(digits + 1) <= likely:
                return True
            if arb(digits) >= likely:
                return False
            digits, bits = (digits << _WORD) + int(more(1)[0]), bits + _WORD
    finally:
        ctx.prec = precision


def _keystream(key: bytes, purpose: bytes = b"") -> Callable[[int], np.ndarray]:
    """A function from n to the next n 64-bit words of ChaCha20's stream, one stream per purpose."""
    if purpose:
        mac = HMAC(key, SHA256())
        mac.update(purpose)
        key = mac.finalize()
    cipher = Cipher(ChaCha20(key, bytes(16)), mode=None).encryptor()
    return lambda n: np.frombuffer(cipher.update(bytes(8 * n)), dtype="<u8")
