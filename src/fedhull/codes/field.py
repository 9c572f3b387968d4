"""Vectors over a prime field F_q, q below 2^127: two 64-bit limbs for each element, no rounding.

An element is a row (low, high) of a uint64 array of shape (n, 2), always reduced below q.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import flint
import numpy as np
from numba import njit

from fedhull.errors import InvalidInput

MOST_BITS = 127
_SMOOTH_BITS = 62
# Elements that are packed at once; a multiple of 8, so that they end with a byte.
_CHUNK = 1 << 14


@dataclass(frozen=True)
class Field:
    """The integers modulo the prime q, and vectors of them.

    >>> field = Field(largest_prime_below(2**5))
    >>> field.q, field.bits
    (31, 5)
    >>> field.to_ints(field.add(field.vector([30, 4]), field.vector([2, 5])))
    [1, 9]
    """

    q: int

    @property
    def bits(self) -> int:
        """How many bits an element takes when packed."""
        return self.q.bit_length()

    @property
    def _limbs(self) -> np.ndarray:
        return np.array([self.q & (2**64 - 1), self.q >> 64], dtype=np.uint64)

    def zeros(self, n: int) -> np.ndarray:
        """n zeros."""
        return np.zeros((n, 2), dtype=np.uint64)

    def vector(self, values: Sequence[int]) -> np.ndarray:
        """Integers below q as a vector."""
        raw = b"".join(int(v).to_bytes(16, "little") for v in values)
        return np.frombuffer(raw, dtype="<u8").reshape(-1, 2).astype(np.uint64)

    def to_ints(self, vector: np.ndarray) -> list[int]:
        """The vector as Python integers."""
        if self.bits <= 64:
            return vector[:, 0].tolist()
        low, high = vector[:, 0].tolist(), vector[:, 1].tolist()
        return [a | b << 64 for a, b in zip(low, high, strict=True)]

    def add(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        """a + b mod q."""
        total = a + b
        total[:, 1] += total[:, 0] < a[:, 0]
        return _minus(total, self._limbs, where=_at_least(total, self._limbs))

    def subtract(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        """a − b mod q."""
        return self.add(a, self.negate(b))

    def negate(self, a: np.ndarray) -> np.ndarray:
        """−a mod q."""
        full = np.broadcast_to(self._limbs, a.shape)
        return np.where(a.any(axis=1, keepdims=True), _minus(full, a), a)

    def pack(self, vector: np.ndarray) -> bytes:
        """The vector in ⌈log2 q⌉ bits per element."""
        return b"".join(
            self._pack(vector[first : first + _CHUNK]) for first in range(0, len(vector), _CHUNK)
        )

    def _pack(self, vector: np.ndarray) -> bytes:
        octets = vector.astype("<u8").view(np.uint8).reshape(len(vector), 16)
        bits = np.unpackbits(octets, axis=1, bitorder="little")[:, : self.bits]
        return np.packbits(bits.ravel(), bitorder="little").tobytes()

    def packed_size(self, n: int) -> int:
        """How many bytes n packed elements take."""
        return (n * self.bits + 7) // 8

    def unpack(self, packed: bytes, n: int) -> np.ndarray:
        """The n elements of a packed vector; InvalidInput unless it is one of this field."""
        if len(packed) != self.packed_size(n):
            raise InvalidInput(
                f"a packed vector of {n} elements takes {self.packed_size(n)} bytes, "
                f"got {len(packed)}"
            )
        parts = [self.zeros(0)]
        for first in range(0, n, _CHUNK):
            size, begin = min(_CHUNK, n - first), self.packed_size(first)
            parts.append(self._unpack(packed[begin : begin + self.packed_size(size)], size))
        return np.concatenate(parts)

    def _unpack(self, packed: bytes, n: int) -> np.ndarray:
        bits = np.unpackbits(np.frombuffer(packed, dtype=np.uint8), bitorder="little")
        if bits[n * self.bits :].any():
            raise InvalidInput("a packed vector must end in zero bits")
        wide = np.zeros((n, 128), dtype=np.uint8)
        wide[:, : self.bits] = bits[: n * self.bits].reshape(n, self.bits)
        octets = np.packbits(wide, axis=1, bitorder="little")
        vector = octets.view("<u8").astype(np.uint64)
        if _at_least(vector, self._limbs).any():
            raise InvalidInput("every element of a packed vector must be below q")
        return vector

    def uniform(self, n: int, more_bytes: Callable[[int], bytes]) -> np.ndarray:
        """n uniform elements from a stream of uniform bytes, by rejection: no modulo bias."""
        return self.add_uniform(self.zeros(n), more_bytes)

    def add_uniform(
        self, vector: np.ndarray, more_bytes: Callable[[int], bytes], negative: bool = False
    ) -> np.ndarray:
        """The vector plus, or minus, as many uniform elements of the stream, in one pass."""
        total, width = vector.copy(), (self.bits + 7) // 8
        mask = (1 << self.bits) - 1
        limits = np.array([mask & (2**64 - 1), mask >> 64], dtype=np.uint64)
        octets = np.zeros((len(total), 16), dtype=np.uint8)
        done = 0
        while done < len(total):
            raw = np.frombuffer(more_bytes(len(total) * width), dtype=np.uint8)
            octets[:, :width] = raw.reshape(len(total), width)
            candidates = octets.view("<u8").astype(np.uint64, copy=False)
            done = _add_candidates(total, done, candidates, limits, self._limbs, negative)
        return total


def smallest_field(above: int) -> Field:
    """The field with the fewest bits whose prime exceeds `above`.

    Of the primes with that many bits it takes, up to 62 bits, one with the largest power of two in
    q−1: roots of polynomials over such a field are found many times faster (see `roots`).
    """
    bits = max(2, above.bit_length())
    while (q := _prime_with_bits(bits, above)) is None:
        bits += 1
    if bits > MOST_BITS:
        raise InvalidInput(
            f"this study needs a field of {bits} bits, but at most {MOST_BITS} are supported; "
            f"use a Bose–Chowla label code with a smaller h, or a larger epsilon"
        )
    return Field(q)


def largest_prime_below(bound: int) -> int:
    """The largest prime below the bound."""
    return next(n for n in range(bound - 1, 1, -1) if flint.fmpz(n).is_prime())


def _prime_with_bits(bits: int, above: int) -> int | None:
    """A prime above the bound with so many bits, or None."""
    if bits > _SMOOTH_BITS:
        q = largest_prime_below(1 << bits)
        return q if q > above else None
    for twos in range(bits - 1, 0, -1):
        for odd in range((1 << (bits - twos)) - 1, (above >> twos) - 1, -2):
            q = (odd << twos) + 1
            if q > above and flint.fmpz(q).is_prime():
                return q
    return None


@njit(cache=True)
def _add_candidates(
    total: np.ndarray,
    done: int,
    candidates: np.ndarray,
    limits: np.ndarray,
    q: np.ndarray,
    negative: bool,
) -> int:
    """Leave out the candidates that are not below q, and add the others to the elements from `done`
    on; how many elements are done now."""
    one, none = np.uint64(1), np.uint64(0)
    for i in range(len(candidates)):
        if done == len(total):
            break
        low, high = candidates[i, 0] & limits[0], candidates[i, 1] & limits[1]
        if high > q[1] or (high == q[1] and low >= q[0]):
            continue
        if negative and (low | high) != none:
            borrow = one if q[0] < low else none
            low, high = q[0] - low, q[1] - high - borrow
        low += total[done, 0]
        high += total[done, 1] + (one if low < total[done, 0] else none)
        if high > q[1] or (high == q[1] and low >= q[0]):
            borrow = one if low < q[0] else none
            low, high = low - q[0], high - q[1] - borrow
        total[done, 0], total[done, 1] = low, high
        done += 1
    return done


def _at_least(a: np.ndarray, limbs: np.ndarray) -> np.ndarray:
    low, high = limbs[..., 0], limbs[..., 1]
    return (a[:, 1] > high) | ((a[:, 1] == high) & (a[:, 0] >= low))


def _minus(a: np.ndarray, b: np.ndarray, where: np.ndarray | bool = True) -> np.ndarray:
    """a − b for a ≥ b, in the rows of `where`."""
    difference = a - b
    difference[:, 1] -= a[:, 0] < b[..., 0]
    return np.where(np.reshape(where, (-1, 1)), difference, a)
