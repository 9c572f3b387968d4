"""Power sums and their decoding, against NumPy and against the bare FLINT calls."""

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import flint
import numpy as np

from fedhull.bench.timing import Bar, Measurement, best_times
from fedhull.codes.coding import choose_coding
from fedhull.codes.field import Field, smallest_field
from fedhull.codes.labels import BoseChowlaCode
from fedhull.codes.power_sums import power_sums, recover

FULL_SIZES = [1_000, 2_000, 4_000, 8_000, 10_000, 16_000]
QUICK_SIZES = [1_000, 2_000]
N_BINS = 10**9
LABELS, PLANES_SIZE = (100, 240, 1_000), 10_000


def bench_encoding(n_bins: int = 500, n_sums: int = 20_000) -> Iterator[Measurement]:
    """A client's power sums, against one NumPy pass over as many products as they have terms."""
    field, vector = smallest_field(2**60), random_vector(n_bins, 2**60)
    chunk = np.arange(1, n_sums + 1, dtype=np.uint64)
    modulus = np.uint64(2**31 - 1)

    def multiply_and_reduce() -> None:
        for value in range(1, n_bins + 1):
            np.multiply(chunk, np.uint64(value)) % modulus

    ours, numpy_pass = best_times(
        lambda: power_sums(list(vector), [list(vector.values())], [n_sums], field),
        multiply_and_reduce,
        repeats=3,
    )
    bar = Bar("≤", 3)
    yield Measurement("encode", n_bins, ours, "NumPy × and %", numpy_pass, "× as long", bar)


def bench_decoding(
    sizes: list[int], advance: Callable[[int], None] = lambda n: None
) -> Iterator[Measurement]:
    """The server's decoding of one plane, against FLINT's minimal polynomial and root finding by
    themselves."""
    field = smallest_field(2**60)
    for n in sizes:
        vector = random_vector(n, 2**60)
        sums = power_sums(list(vector), [list(vector.values())], [2 * n + 4], field)
        ours, bare = best_times(
            lambda sums=sums, n=n: recover(sums, N_BINS, n, field),  # type: ignore[misc]
            lambda sums=sums: bare_flint(sums[0], field),  # type: ignore[misc]
            repeats=1,
        )
        yield Measurement("decode", n, ours, "FLINT alone", bare, "× as long", Bar("≤", 1.3))
        advance(n)


def bench_planes(
    n: int, labels: Sequence[int] = LABELS, advance: Callable[[int], None] = lambda n: None
) -> Iterator[Measurement]:
    """From the sum to hulls in n bins with many labels, against as many bins with 20 labels."""
    seconds = {m: _decoding_seconds(n, m, advance) for m in (20, *labels)}
    for m in labels:
        bar = Bar("≤", 3) if m == 240 else None
        yield Measurement(
            f"decode, {m} labels", n, seconds[m], "20 labels", seconds[20], "× as long", bar
        )


def _decoding_seconds(n: int, n_labels: int, advance: Callable[[int], None]) -> float:
    """With two labels in each bin on average."""
    coding = choose_coding(n_labels, N_BINS)
    rng = np.random.default_rng(0)
    bins = list(random_vector(n, 2))
    hulls: dict[int, list[int]] = {}
    for j in bins:
        for label in rng.choice(n_labels, rng.integers(1, 4), replace=False).tolist():
            hulls.setdefault(label, []).append(j)
    corners = sum(map(len, hulls.values()))
    sums = coding.encode(hulls, corners)
    (seconds,) = best_times(lambda: coding.decode(sums, corners), repeats=1)
    advance(n)
    return seconds


def bare_flint(sums: list[int], field: Field) -> list[Any]:
    """The two calls that any decoder built on FLINT has to make."""
    ring = flint.fmpz_mod_poly_ctx(flint.fmpz_mod_ctx(field.q))
    return ring.minpoly(sums).roots()


def growth(rows: list[Measurement]) -> float:
    """The exponent of n in the decoding times."""
    sizes, seconds = [row.n for row in rows], [row.seconds for row in rows]
    return float(np.polyfit(np.log(sizes), np.log(seconds), 1)[0])


def bench_label_codes() -> dict[str, float]:
    """Seconds to construct and to decode Bose–Chowla codes."""

    def construct() -> None:
        # another m each time: codes are remembered
        BoseChowlaCode(next(sizes), 4)

    sizes = iter(range(200, 210))
    (construction,) = best_times(construct, repeats=3)
    code = BoseChowlaCode(2000, 6)
    rng = np.random.default_rng(0)
    totals = [sum(code.codes[i] for i in rng.choice(2000, 6, replace=False)) for _ in range(10_000)]
    (decoding,) = best_times(lambda: [code.decode(total) for total in totals], repeats=1)
    return {"construct m=200 h=4": construction, "decode 10,000 sums m=2000 h=6": decoding}


def random_vector(n: int, largest: int) -> dict[int, int]:
    """n different bins of 1e9 with random values."""
    rng = np.random.default_rng(0)
    bins = rng.choice(N_BINS, math.ceil(1.01 * n) + 10, replace=False)[:n] + 1
    return dict(zip(bins.tolist(), rng.integers(1, largest, n).tolist(), strict=True))
