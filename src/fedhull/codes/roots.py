"""Roots of a polynomial that splits over F_q, by tangent Graeffe transforms.

(Grenet, van der Hoeven, Lecerf: "Randomized root finding over finite FFT-fields using tangent
Graeffe transforms", 2015.) With q−1 = c·2^k, squaring all roots r times sends them into the small
subgroup of order s = c·2^{k−r}, where they can be read off by evaluating there. A tangent, the
polynomial at x+ε with ε² = 0, remembers where each came from: if β = z^{2^r} is a simple root of
the transform h, whose tangent part is t, then z = 2^r·β·h'(β)/t(β). Roots that fall onto the same β
are left for a second round in a larger subgroup, and the last few for FLINT.
"""

from functools import lru_cache
from typing import Any

import flint
import numpy as np

from fedhull.codes import ntt

# Below this degree FLINT is quicker.
_FEW = 100
_LARGEST_SUBGROUP = 1 << 22
# The subgroup is searched in as many cosets as q−1 has odd part; fields of ours have a small one.
_MOST_COSETS = 1_000
_WORD = 1 << 64


def find_roots(polynomial: Any, q: int) -> list[int]:
    """The different roots in F_q of a monic polynomial without multiple roots."""
    found: list[int] = []
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
        found += some
        polynomial = rest
        least *= 64
    return found + ([int(r) for r, _ in polynomial.roots()] if polynomial.degree() > 0 else [])


def _subgroup_order(q: int, at_least: int) -> int | None:
    """(q−1)/2^r with the largest r such that it is at least so large; None where transforms of
    the necessary size do not exist."""
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
    slope = ntt.derivative(h, one, prime, inverse)
    root = _root_of_unity(q, order)
    odd, _ = _split(q)
    size = order // odd
    twiddles = _twiddles(q, size, pow(root, odd, q))
    place = _bit_reversed(size)
    found = []
    for a in range(odd):
        values = []
        factor = _montgomery_form(pow(root, a, q), q)
        for f in (h, slope, tangent):
            folded = ntt.fold(f, factor, one, size, prime, inverse)
            ntt.forward(folded, twiddles, prime, inverse)
            values.append(folded)
        hits = np.flatnonzero((values[0] == 0) & (values[1] != 0))
        for i in hits.tolist():
            beta = pow(root, a + odd * int(place[i]), q)
            top = beta * int(values[1][i]) << steps
            found.append(top * pow(int(values[2][i]), -1, q) % q)
    return found


def _graeffe(
    polynomial: Any, q: int, steps: int, prime: np.uint64, inverse: np.uint64
) -> tuple[np.ndarray, np.ndarray]:
    """The polynomial whose roots are the 2^steps-th powers, and its tangent part, up to a common
    constant factor."""
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
            ntt.forward(row, there, prime, inverse)
        squares, mixed = ntt.graeffe_products(wide[0], wide[1], prime, inverse)
        for row in (squares, mixed):
            ntt.backward(row, back, prime, inverse)
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
    return ntt.powers(
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
