"""The benchmark of power sums measures the same work on both sides."""

from fedhull.bench.scma import (
    N_BINS,
    bare_flint,
    bench_decoding,
    bench_encoding,
    growth,
    random_vector,
)
from fedhull.bench.size import bench_bytes
from fedhull.codes.field import smallest_field
from fedhull.codes.power_sums import power_sums, recover


def test_both_sides_find_the_same_bins():
    field, vector = smallest_field(2**60), random_vector(150, 2**60)
    sums = power_sums(list(vector), list(vector.values()), 304, field)
    assert sorted(int(r) for r, _ in bare_flint(sums, field)) == sorted(vector)
    assert recover(sums, N_BINS, 150, field) == dict(sorted(vector.items()))


def test_rows_and_growth():
    rows = list(bench_decoding([50, 100, 200]))
    assert [row.n for row in rows] == [50, 100, 200]
    assert 0 < growth(rows) < 3
    assert next(bench_encoding(10, 100)).peer == "NumPy × and %"


def test_more_secrecy_costs_more_bytes():
    sizes = bench_bytes(clients=3)
    assert sizes.clear < sizes.least < sizes.power_sums < sizes.dense
