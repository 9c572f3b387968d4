"""What a site's data are recognised by: a few of its cells, whatever file or study they are in.

Each cell gets a number that depends on its values alone: not on the order of cells or columns, on
the file, its format, or the last digits that a format may lose. The smallest of these numbers are
kept. Of two sets of cells they tell how much the sets share (Broder 1997, "bottom-k sketches"), so
that data to which a few cells were added are recognised too. Labels play no part: other names for
the classes make no other cells.
"""

import hashlib
from typing import Any

import numpy as np

from fedhull.study.task import Holdings

# How many numbers are kept: shares are known to within about 1 / √128.
_KEPT, _BYTES = 128, 8
# Of the 23 binary digits of a float32, those that count; formats that round do not reach them.
_DIGITS = 12
_ROWS_AT_ONCE = 4096


def fingerprint(holdings: Holdings) -> str:
    """The smallest numbers of a site's cells, in hex."""
    values, names = holdings.table()
    return np.unique(_numbers(values, names))[:_KEPT].astype(">u8").tobytes().hex()


def shared(one: str, other: str) -> float:
    """Which share of all cells with these two fingerprints is in both, about; 1.0 for the same.

    >>> shared("00000000000000010000000000000002", "00000000000000020000000000000003")
    0.3333333333333333
    """
    first, second = _parts(one), _parts(other)
    smallest = sorted(first | second)[:_KEPT]
    return len(first & second & set(smallest)) / max(len(smallest), 1)


def _parts(fingerprint: str) -> set[str]:
    width = 2 * _BYTES
    return {fingerprint[i : i + width] for i in range(0, len(fingerprint), width)}


def _numbers(values: Any, names: list[str]) -> np.ndarray:
    """A number for each row, (n,); entries of 0 count as absent, as in files of sparse cells."""
    from scipy.sparse import csr_matrix  # slow to import, and few commands need it

    columns = np.array(
        [int.from_bytes(hashlib.sha256(name.encode()).digest()[:8], "big") for name in names],
        dtype=np.uint64,
    )
    numbers = []
    for start in range(0, values.shape[0], _ROWS_AT_ONCE):
        rows = csr_matrix(values[start : start + _ROWS_AT_ONCE], copy=True)
        rows.sum_duplicates()
        rows.eliminate_zeros()
        entries = _mix(columns[rows.indices] ^ _mix(_rounded(rows.data)))
        # sums in uint64 wrap around, so that their differences are still those of each row
        running = np.concatenate(([np.uint64(0)], np.cumsum(entries, dtype=np.uint64)))
        numbers.append(_mix(running[rows.indptr[1:]] - running[rows.indptr[:-1]]))
    return np.concatenate(numbers) if numbers else np.empty(0, dtype=np.uint64)


def _rounded(values: np.ndarray) -> np.ndarray:
    """The binary digits that count, as numbers."""
    lost = 23 - _DIGITS
    with np.errstate(over="ignore"):
        bits = values.astype(np.float32).view(np.uint32).astype(np.uint64)
    return (bits + np.uint64(1 << (lost - 1))) >> np.uint64(lost)


def _mix(numbers: np.ndarray) -> np.ndarray:
    """Steele, Lea and Flood's SplitMix64: numbers that differ a little differ entirely."""
    mixed = numbers + np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return mixed ^ (mixed >> np.uint64(31))
