"""The bench of encoders from sums."""

from fedhull_lab.bench.frame import bench_frame


def test_an_encoder_study_is_timed_beside_a_truncated_svd():
    row = bench_frame(600, 3)
    assert row["seconds"] > 0
    assert row["ratio"] == row["seconds"] / row["svd_seconds"]
    assert 0 < row["bytes_up_per_client"] < 20e6
    assert row["anchors"] <= 600 / 5
