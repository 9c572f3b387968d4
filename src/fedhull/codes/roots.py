"""Roots of a polynomial that splits over F_q, by tangent Graeffe transforms (Grenet, van der
Hoeven, Lecerf: "Randomized root finding over finite FFT-fields using tangent Graeffe transforms",
2015).

With q−1 = c·2^k, squaring all roots r times sends them into the small subgroup of order s =
c·2^{k−r}, where they can be read off by evaluating there. A tangent, the polynomial at x+ε with ε²
= 0, remembers where each came from: if β = z^{2^r} is a simple root of the transform h, whose
tangent part is t, then z = 2^r·β·h'(β)/t(β). Roots that meet in one β are left for a second pass in
a larger subgroup, and the last few for FLINT.

The transforms are Numba kernels over F_q, q < 2^62. Factors are kept in Montgomery's form:
montgomery(a, b·2^64 mod q) = a·b mod q.
"""

from functools import lru_cache
from typing import Any

import flint
import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic

Word = np.uint64
# Below this degree FLINT is quicker.
_FEW = 100
_LARGEST_SUBGROUP = 1 << 22
# The subgroup is searched in as many cosets as q−1 has odd part; fields of ours have a small one.
_MOST_COSETS = 1_000
_WORD = 1 << 64


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
    result = np.empty(n, dtype=np.uint64)
    value = first
    for i in range(n):
        result[i] = value
        value = montgomery(value, factor, q, q_inverse)
    return result


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
    result = np.zeros(max(1, len(f) - 1), dtype=np.uint64)
    exponent = Word(0)
    for i in range(1, len(f)):
        exponent += one
        if exponent >= q:
            exponent -= q
        result[i - 1] = montgomery(f[i], exponent, q, q_inverse)
    return result


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


def find_roots(polynomial: Any, q: int) -> list[int]:
    """The different roots in F_q of a monic polynomial without multiple roots."""
    roots: list[int] = []
    least = 4
    while polynomial.degree() > _FEW:
        order = _subgroup_order(q, least * polynomial.degree())
        if order is None:
            break
        some = _roots_with_own_image(polynomial, q, order)
        if not some:
            break
        rest, remainder = divmod(polynomial, _product(some, polynomial))
        if not remainder.is_zero():
            break
        roots += some
        polynomial = rest
        least *= 64
    return roots + ([int(r) for r, _ in polynomial.roots()] if polynomial.degree() > 0 else [])


def _subgroup_order(q: int, at_least: int) -> int | None:
    """(q−1)/2^r ≥ `at_least` with the largest r; None where there are no such transforms."""
    odd, twos = _split(q)
    transform_bits = (at_least // 2).bit_length()
    if q >= 1 << 62 or twos < transform_bits or odd > _MOST_COSETS:
        return None
    order = odd
    while order < at_least and order < q - 1:
        order *= 2
    return order if order <= _LARGEST_SUBGROUP else None


def _roots_with_own_image(polynomial: Any, q: int, order: int) -> list[int]:
    """Those roots that no other root meets in the subgroup of this order."""
    inverse = np.uint64(pow(q, -1, _WORD))
    prime = np.uint64(q)
    steps = ((q - 1) // order).bit_length() - 1
    h, tangent = _graeffe(polynomial, q, steps, prime, inverse)
    one = _montgomery_form(1, q)
    slope = derivative(h, one, prime, inverse)
    root = _root_of_unity(q, order)
    odd, _ = _split(q)
    size = order // odd
    twiddles = _twiddles(q, size, pow(root, odd, q))
    place = _bit_reversed(size)
    roots = []
    for a in range(odd):
        values = []
        factor = _montgomery_form(pow(root, a, q), q)
        for f in (h, slope, tangent):
            folded = fold(f, factor, one, size, prime, inverse)
            forward(folded, twiddles, prime, inverse)
            values.append(folded)
        hits = np.flatnonzero((values[0] == 0) & (values[1] != 0))
        for i in hits.tolist():
            beta = pow(root, a + odd * int(place[i]), q)
            top = beta * int(values[1][i]) << steps
            roots.append(top * pow(int(values[2][i]), -1, q) % q)
    return roots


def _graeffe(
    polynomial: Any, q: int, steps: int, prime: np.uint64, inverse: np.uint64
) -> tuple[np.ndarray, np.ndarray]:
    """The polynomial of the 2^steps-th powers of the roots, and its tangent, up to a factor."""
    degree = polynomial.degree()
    size = 1 << (2 * degree + 1).bit_length()
    f = _coefficients(polynomial, degree + 1)
    tangent = _coefficients(polynomial.derivative(), degree + 1)
    root = _root_of_unity(q, size)
    there = _twiddles(q, size, root)
    back = _twiddles(q, size // 2, pow(root, -2, q))
    for _ in range(steps):
        wide = np.zeros((2, size), dtype=np.uint64)
        wide[0, : degree + 1], wide[1, : degree + 1] = f, tangent
        for row in wide:
            forward(row, there, prime, inverse)
        squares, mixed = graeffe_products(wide[0], wide[1], prime, inverse)
        for row in (squares, mixed):
            backward(row, back, prime, inverse)
        f, tangent = squares[: degree + 1], mixed[: degree + 1]
    return f, tangent


def _coefficients(polynomial: Any, n: int) -> np.ndarray:
    values = [int(c) for c in polynomial.coeffs()]
    return np.array(values + [0] * (n - len(values)), dtype=np.uint64)


def _product(roots: list[int], like: Any) -> Any:
    """Π (x − z), multiplied in pairs of equal size."""
    ring = like.context()
    factors = [ring([-z, 1]) for z in roots]
    while len(factors) > 1:
        odd = factors[-1:] if len(factors) % 2 else []
        factors = [a * b for a, b in zip(factors[::2], factors[1::2], strict=False)] + odd
    return factors[0]


def _split(q: int) -> tuple[int, int]:
    """c odd and k with q − 1 = c·2^k."""
    twos = ((q - 1) & -(q - 1)).bit_length() - 1
    return (q - 1) >> twos, twos


@lru_cache(maxsize=16)
def _generator(q: int) -> int:
    """The smallest number whose powers are all units modulo q."""
    factors = [int(p) for p, _ in flint.fmpz(q - 1).factor()]
    return next(g for g in range(2, q) if all(pow(g, (q - 1) // p, q) != 1 for p in factors))


def _root_of_unity(q: int, order: int) -> int:
    return pow(_generator(q), (q - 1) // order, q)


def _montgomery_form(value: int, q: int) -> np.uint64:
    return np.uint64(value * _WORD % q)


def _twiddles(q: int, size: int, root: int) -> np.ndarray:
    """root^0..root^(size/2−1) in Montgomery's form."""
    return powers(
        _montgomery_form(1, q),
        _montgomery_form(root, q),
        max(1, size // 2),
        np.uint64(q),
        np.uint64(pow(q, -1, _WORD)),
    )


def _bit_reversed(size: int) -> np.ndarray:
    order = np.zeros(1, dtype=np.int64)
    while len(order) < size:
        order = np.concatenate((2 * order, 2 * order + 1))
    return order
