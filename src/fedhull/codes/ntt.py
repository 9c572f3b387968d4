"""Number-theoretic transforms over F_q, q < 2^62 with a large power of two in q−1. Numba kernels.

Factors are kept in Montgomery's form: montgomery(a, b·2^64 mod q) = a·b mod q.
"""

from typing import Any

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic

Word = np.uint64


def _high_word(typingctx, a, b):  # type: ignore[no-untyped-def]
    """The upper 64 bits of a 64 × 64 bit product: one machine instruction."""

    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        wide = ir.IntType(128)
        product = builder.mul(*(builder.zext(argument, wide) for argument in arguments))
        return builder.trunc(builder.lshr(product, wide(64)), ir.IntType(64))

    return types.uint64(types.uint64, types.uint64), generate


high_word: Any = intrinsic(_high_word)


@njit(cache=True, inline="always")
def montgomery(a, b, q, q_inverse):  # type: ignore[no-untyped-def]  # pragma: no cover - compiled
    """a·b/2^64 mod q, for a, b < q and q_inverse = q^−1 mod 2^64 (all uint64)."""
    high = high_word(a, b)
    low = high_word(a * b * q_inverse, q)
    return high - low if high >= low else high - low + q


@njit(cache=True)
def powers(first: Word, factor: Word, n: int, q: Word, q_inverse: Word) -> np.ndarray:
    """first·factor^i, i = 0..n−1, for a factor in Montgomery's form."""
    found = np.empty(n, dtype=np.uint64)
    value = first
    for i in range(n):
        found[i] = value
        value = montgomery(value, factor, q, q_inverse)
    return found


@njit(cache=True)
def forward(a: np.ndarray, twiddles: np.ndarray, q: Word, q_inverse: Word) -> None:
    """Values of the polynomial a at the powers of ω, in bit-reversed order, in place.

    `twiddles` holds ω^0..ω^(n/2−1) in Montgomery's form.
    """
    n = len(a)
    half, stride = n // 2, 1
    while half >= 1:
        for begin in range(0, n, 2 * half):
            for j in range(half):
                u, v = a[begin + j], a[begin + j + half]
                total = u + v
                a[begin + j] = total - q if total >= q else total
                difference = u - v if u >= v else u - v + q
                a[begin + j + half] = montgomery(difference, twiddles[j * stride], q, q_inverse)
        half, stride = half // 2, stride * 2


@njit(cache=True)
def backward(a: np.ndarray, twiddles: np.ndarray, q: Word, q_inverse: Word) -> None:
    """The inverse of `forward` up to a factor n, given the powers of 1/ω."""
    n = len(a)
    half, stride = 1, n // 2
    while half < n:
        for begin in range(0, n, 2 * half):
            for j in range(half):
                u = a[begin + j]
                v = montgomery(a[begin + j + half], twiddles[j * stride], q, q_inverse)
                total = u + v
                a[begin + j] = total - q if total >= q else total
                a[begin + j + half] = u - v if u >= v else u - v + q
        half, stride = half * 2, stride // 2


@njit(cache=True)
def graeffe_products(
    f: np.ndarray, tangent: np.ndarray, q: Word, q_inverse: Word
) -> tuple[np.ndarray, np.ndarray]:
    """f(x)f(−x) and t(x)f(−x) + f(x)t(−x) from the transforms of f and t, whose values at x and −x
    are neighbours in bit-reversed order; both divided by 2^64."""
    n = len(f) // 2
    squares, mixed = np.empty(n, dtype=np.uint64), np.empty(n, dtype=np.uint64)
    for i in range(n):
        squares[i] = montgomery(f[2 * i], f[2 * i + 1], q, q_inverse)
        total = montgomery(tangent[2 * i], f[2 * i + 1], q, q_inverse) + montgomery(
            f[2 * i], tangent[2 * i + 1], q, q_inverse
        )
        mixed[i] = total - q if total >= q else total
    return squares, mixed


@njit(cache=True)
def derivative(f: np.ndarray, one: Word, q: Word, q_inverse: Word) -> np.ndarray:
    """The coefficients of f', for a one in Montgomery's form."""
    found = np.zeros(max(1, len(f) - 1), dtype=np.uint64)
    exponent = Word(0)
    for i in range(1, len(f)):
        exponent += one
        if exponent >= q:
            exponent -= q
        found[i - 1] = montgomery(f[i], exponent, q, q_inverse)
    return found


@njit(cache=True)
def fold(f: np.ndarray, factor: Word, one: Word, n: int, q: Word, q_inverse: Word) -> np.ndarray:
    """The polynomial f(factor·x) modulo x^n − 1, for a factor in Montgomery's form."""
    folded = np.zeros(n, dtype=np.uint64)
    power = one
    for i in range(len(f)):
        total = folded[i % n] + montgomery(f[i], power, q, q_inverse)
        folded[i % n] = total - q if total >= q else total
        power = montgomery(power, factor, q, q_inverse)
    return folded
