"""The benchmark measures what it says; how fast things are is for the benchmark itself to tell."""

import numpy as np

import fedhull
from fedhull_lab.bench.hull import bench_hulls, bench_quantizer, bench_stream, qhull_in_klein
from fedhull_lab.bench.timing import Bar, Measurement


def test_the_peer_finds_the_same_hull():
    points = fedhull.sample_uniform(5000, 0.95, seed=0)
    assert (
        np.sort(qhull_in_klein(points)).tolist() == np.sort(fedhull.minimal_hull(points)).tolist()
    )


def test_ratios_read_in_the_direction_they_name():
    faster = Measurement("hull", 10, 1.0, "peer", 12.0, "× faster", Bar("≥", 12))
    longer = Measurement("hull", 10, 3.0, "peer", 2.0, "× as long", Bar("≤", 1.4))
    assert (faster.ratio, faster.to_json()["met"]) == (12.0, True)
    assert (longer.ratio, longer.to_json()["met"]) == (1.5, False)


def test_rows_for_every_size():
    rows = [*bench_hulls([1000]), *bench_quantizer(1000)]
    assert [row.what for row in rows] == ["hull", "hull", "encode", "encode + decode"]
    assert all(row.seconds > 0 and row.peer_seconds > 0 for row in rows)


def test_stream_reports_time_corners_and_memory(monkeypatch):
    monkeypatch.setattr("fedhull_lab.bench.hull._CHUNK", 1000)
    result = bench_stream(100_000)
    assert result["n"] == 100_000
    assert list(result["seconds"]) == ["1000", "10000", "100000"]
    assert result["peak_memory_mb"] > 10
