"""Vectors over a prime field F_q, q below 2^62: one machine word for each element, no rounding.

An element is a uint64, always reduced below q, so that two of them add up without overflow. −n is
written as q − n; `in_two` splits numbers that a field alone cannot hold precisely.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import flint
import numpy as np
from numba import njit

from fedhull.errors import InvalidInput

MOST_BITS = 62
# Elements that are packed at once; a multiple of 8, so that they end with a byte.
_CHUNK = 1 << 14
_PART = 2.0**-44
# Up to here a float has bits left for a fraction, and sums over 1,024 sites stay below 2⁶⁰.
LARGEST_IN_TWO = 2.0**50


@dataclass(frozen=True)
class Field:
    """The integers modulo the prime q, and vectors of them.

    >>> field = Field(31)
    >>> field.bits
    5
    >>> field.to_ints(field.add(field.vector([30, 4]), field.vector([2, 5])))
    [1, 9]
    """

    q: int

    @property
    def bits(self) -> int:
        """Bits of a packed element."""
        return self.q.bit_length()

    def zeros(self, n: int) -> np.ndarray:
        """n zeros."""
        return np.zeros(n, dtype=np.uint64)

    def vector(self, values: Sequence[int]) -> np.ndarray:
        """Integers below q as a vector."""
        return np.array(values, dtype=np.uint64)

    def to_ints(self, vector: np.ndarray) -> list[int]:
        """The vector as Python integers."""
        return vector.tolist()

    def add(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        """a + b mod q."""
        return _add(a, b, np.uint64(self.q))

    def subtract(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        """a − b mod q."""
        return _subtract(a, b, np.uint64(self.q))

    def pack(self, vector: np.ndarray) -> bytes:
        """The vector in ⌈log2 q⌉ bits per element."""
        return b"".join(
            self._pack(vector[first : first + _CHUNK]) for first in range(0, len(vector), _CHUNK)
        )

    def _pack(self, vector: np.ndarray) -> bytes:
        octets = vector.astype("<u8").view(np.uint8).reshape(len(vector), 8)
        bits = np.unpackbits(octets, axis=1, bitorder="little")[:, : self.bits]
        return np.packbits(bits.ravel(), bitorder="little").tobytes()

    def packed_size(self, n: int) -> int:
        """Bytes of n packed elements."""
        return (n * self.bits + 7) // 8

    def unpack(self, packed: bytes, n: int) -> np.ndarray:
        """The n elements of a packed vector; InvalidInput unless it is one of this field."""
        if len(packed) != self.packed_size(n):
            raise InvalidInput(
                f"packed, {n} elements take {self.packed_size(n)} bytes, got {len(packed)}"
            )
        # words are read whole, also the last ones
        octets = np.frombuffer(packed + bytes(16), dtype=np.uint8)
        if n and octets[-17] >> ((n * self.bits - 1) % 8 + 1):
            raise InvalidInput("a packed vector must end in zero bits")
        vector = _unpack(octets, n, self.bits)
        if (vector >= np.uint64(self.q)).any():
            raise InvalidInput("every element of a packed vector must be below q")
        return vector

    def mask_in_place(
        self, total: np.ndarray, more_bytes: Callable[[int], bytes], negative: bool = False
    ) -> None:
        """Add as many uniform elements of the stream to a vector, or subtract them, in one pass."""
        n, width = len(total), (self.bits + 7) // 8
        mask, q = np.uint64((1 << self.bits) - 1), np.uint64(self.q)
        done = 0
        while done < n:
            # words of eight bytes, the next one `width` bytes on; what is too much is masked off
            octets = more_bytes(n * width) + bytes(8 - width)
            candidates = np.ndarray(n, dtype="<u8", buffer=octets, strides=(width,))
            done = _add_candidates(total, done, candidates, mask, q, negative)


def smallest_field(above: int) -> Field:
    """The field with the fewest bits whose prime exceeds `above`.

    Of the primes with that many bits it takes one with the largest power of two in q−1: roots of
    polynomials over such a field are found many times faster (see `roots`).

    >>> smallest_field(1000).q
    1009
    """
    for bits in range(max(2, above.bit_length()), MOST_BITS + 1):
        for twos in range(bits - 1, 0, -1):
            for odd in range((1 << (bits - twos)) - 1, (above >> twos) - 1, -2):
                q = (odd << twos) + 1
                if q > above and flint.fmpz(q).is_prime():
                    return Field(q)
    raise InvalidInput(
        f"this study needs a field of more than {MOST_BITS} bits; use a larger epsilon"
    )


def to_elements(values: np.ndarray, field: Field) -> np.ndarray:
    """int64 numbers strictly between −q/2 and q/2, q below 2⁶³, as elements of the field.

    >>> from_elements(to_elements(np.array([-3, 4]), Field(101)), Field(101)).tolist()
    [-3, 4]
    """
    return np.where(values < 0, values + field.q, values).astype(np.uint64)


def from_elements(elements: np.ndarray, field: Field) -> np.ndarray:
    """The inverse of `to_elements`, as int64."""
    values = elements.astype(np.int64)
    return np.where(values > field.q // 2, values - field.q, values)


def in_two(values: np.ndarray) -> np.ndarray:
    """Numbers (n,) from 0 to 2⁵⁰ as whole numbers (2, n).

    >>> in_two(np.array([7.25])).tolist()
    [[7], [4398046511104]]
    """
    whole = np.floor(values)
    return np.array([whole, np.rint((values - whole) / _PART)]).astype(np.int64)


def as_one(parts: np.ndarray) -> np.ndarray:
    """The inverse of `in_two`, also for sums of such numbers."""
    return parts[0] + parts[1] * _PART


@njit(cache=True)
def _add(a: np.ndarray, b: np.ndarray, q: np.uint64) -> np.ndarray:
    result = np.empty_like(a)
    for i in range(len(a)):
        total = a[i] + b[i]
        result[i] = total - q if total >= q else total
    return result


@njit(cache=True)
def _subtract(a: np.ndarray, b: np.ndarray, q: np.uint64) -> np.ndarray:
    result = np.empty_like(a)
    for i in range(len(a)):
        result[i] = a[i] - b[i] if a[i] >= b[i] else a[i] + (q - b[i])
    return result


@njit(cache=True)
def _unpack(octets: np.ndarray, n: int, bits: int) -> np.ndarray:
    """Unpack n consecutive numbers of this many bits each, lowest bit first."""
    numbers = np.empty(n, dtype=np.uint64)
    mask = (np.uint64(1) << np.uint64(bits)) - np.uint64(1)
    for i in range(n):
        first, shift = divmod(i * bits, 8)
        word = np.uint64(0)
        for j in range(8):
            word |= np.uint64(octets[first + j]) << np.uint64(8 * j)
        word >>= np.uint64(shift)
        if shift + bits > 64:
            word |= np.uint64(octets[first + 8]) << np.uint64(64 - shift)
        numbers[i] = word & mask
    return numbers


@njit(cache=True)
def _add_candidates(
    total: np.ndarray,
    done: int,
    candidates: np.ndarray,
    mask: np.uint64,
    q: np.uint64,
    negative: bool,
) -> int:
    """Add the candidates below q to the elements from `done` on; returns how many are done."""
    for i in range(len(candidates)):
        if done == len(total):
            break
        element = candidates[i] & mask
        if element >= q:
            continue
        if negative and element > 0:
            element = q - element
        element += total[done]
        total[done] = element - q if element >= q else element
        done += 1
    return done
