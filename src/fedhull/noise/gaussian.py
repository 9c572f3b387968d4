"""Discrete Gaussian noise, drawn exactly, from a key: the same key gives the same noise again.

P(y) ∝ exp(−y²/2σ²) over whole numbers (Canonne, Kamath and Steinke, "The discrete Gaussian for
differential privacy", 2020). Candidates y are uniform over |y| ≤ 16σ, and each is accepted with
probability exp(−y²/2σ²): its float decides if it is clear, otherwise ball arithmetic and as many
more bits of the uniform number as that takes. So every y has exactly its probability, but for the
tails beyond 16σ, which are less than 10⁻⁵⁶ and count as 0.

OpenDP has such a sampler as well, but it draws from the system only. A site that is stopped and
goes on must send the same numbers again: two draws of noise over one sum would show more than one.
So the noise is a function of the site's secret for the session (ChaCha20 as a stream), and tests
compare its distribution with OpenDP's.
"""

import math
from collections.abc import Callable

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.algorithms import ChaCha20
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.hmac import HMAC
from flint import arb, ctx, fmpq

# Beyond so many standard deviations there is nothing.
_FARTHEST = 16
# Floats of exp(−γ), γ ≤ 128, and of uniform numbers are right to within this share of them.
_UNCLEAR = 2.0**-40
_WORD = 64


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
        taken = _accepted(y, variance, words(n), key) & (y <= farthest)
        drawn = np.append(drawn, y[taken])
    return drawn[:size]


def _accepted(y: np.ndarray, variance: int, uniform: np.ndarray, key: bytes) -> np.ndarray:
    """Which y (n,) are accepted, given 64 bits of a uniform number for each."""
    likely = np.exp(-np.square(y.astype(np.float64)) / (2.0 * variance))
    begins = np.ldexp(uniform.astype(np.float64), -_WORD)
    accepted = begins < likely
    unclear = np.abs(begins - likely) <= _UNCLEAR * (likely + begins) + 2.0**-_WORD
    for i in np.flatnonzero(unclear).tolist():
        accepted[i] = _is_below(int(uniform[i]), int(y[i]), variance, key)
    return accepted


def _is_below(digits: int, y: int, variance: int, key: bytes) -> bool:
    """Whether a uniform number that begins with these 64 bits is below exp(−y²/2σ²)."""
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
    """What gives so many more 64-bit words of ChaCha20's stream; another purpose has another."""
    if purpose:
        mac = HMAC(key, SHA256())
        mac.update(purpose)
        key = mac.finalize()
    cipher = Cipher(ChaCha20(key, bytes(16)), mode=None).encryptor()
    return lambda n: np.frombuffer(cipher.update(bytes(8 * n)), dtype="<u8")
