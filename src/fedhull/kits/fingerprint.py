"""Fingerprints recognise data, whatever file or study they are in.

Each cell gets a number from its values alone: the order of cells and columns, labels, the file and
its rounding do not matter. The smallest numbers estimate how many cells two data sets share (Broder
1997, "bottom-k sketches"), so data with a few cells added are recognised too.
"""

import hashlib
from textwrap import wrap
from typing import Any

import numpy as np

from fedhull.study.task import Holdings

# A share is estimated to within about 1 / √128.
_LENGTH, _BYTES = 128, 8
# Leading digits of a float32's 23, beyond the reach of formats that round.
_DIGITS = 12
_ROWS_AT_ONCE = 4096


def fingerprint(holdings: Holdings) -> str:
    """The smallest numbers of a site's cells, in hex."""
    values, names = holdings.table()
    return np.unique(_numbers(values, names))[:_LENGTH].astype(">u8").tobytes().hex()


def shared(one: str, other: str) -> float:
    """Estimate the share of cells in both data sets, of those in either.

    >>> shared("00000000000000010000000000000002", "00000000000000020000000000000003")
    0.3333333333333333
    """
    first, second = (set(wrap(raw, 2 * _BYTES)) for raw in (one, other))
    smallest = sorted(first | second)[:_LENGTH]
    return len(first & second & set(smallest)) / max(len(smallest), 1)


def _numbers(values: Any, names: list[str]) -> np.ndarray:
    """Hash each row, (n,); zeros count as absent, as in sparse files."""
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
    """The leading binary digits, as numbers."""
    lost = 23 - _DIGITS
    with np.errstate(over="ignore"):
        bits = values.astype(np.float32).view(np.uint32).astype(np.uint64)
    return (bits + np.uint64(1 << (lost - 1))) >> np.uint64(lost)


def _mix(numbers: np.ndarray) -> np.ndarray:
    """SplitMix64 (Steele, Lea and Flood): spread small differences over all bits."""
    mixed = numbers + np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return mixed ^ (mixed >> np.uint64(31))
