"""The benchmark of power sums measures the same work on both sides."""

from fedhull.codes.field import smallest_field
from fedhull.codes.power_sums import power_sums, recover
from fedhull_lab.bench.scma import (
    N_BINS,
    bare_flint,
    bench_decoding,
    bench_encoding,
    bench_planes,
    growth,
    random_vector,
)
from fedhull_lab.bench.size import bench_bytes


def test_both_sides_find_the_same_bins():
    field, vector = smallest_field(2**60), random_vector(150, 2**60)
    sums = power_sums(list(vector), [list(vector.values())], [304], field)
    assert sorted(int(r) for r, _ in bare_flint(sums[0], field)) == sorted(vector)
    assert recover(sums, N_BINS, 150, field) == {j: (v,) for j, v in sorted(vector.items())}


def test_rows_and_growth():
    rows = list(bench_decoding([50, 100, 200]))
    assert [row.n for row in rows] == [50, 100, 200]
    assert 0 < growth(rows) < 3
    assert next(bench_encoding(10, 100)).peer == "NumPy × and %"
    planes = list(bench_planes(50))
    assert [row.what for row in planes] == [f"decode, {m} labels" for m in (100, 240, 1000)]


def test_more_secrecy_costs_more_bytes():
    sizes = bench_bytes(clients=3)
    assert sizes.clear < sizes.least < sizes.power_sums < sizes.dense
