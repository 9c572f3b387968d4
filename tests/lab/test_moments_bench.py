"""The benchmark measures what it says; how fast things are is for the benchmark itself to tell."""

from fedhull_lab.bench.moments import bench_memory, bench_moments, bench_study


def test_features_and_moments_are_timed_against_the_same_peer():
    features, moments = bench_moments(2000, n_features=16, repeats=1)
    assert features.peer_seconds == moments.peer_seconds > 0
    assert min(features.seconds, moments.seconds) > 0
    assert bench_memory(2000, n_features=16) > 10


def test_a_study_is_timed_stage_by_stage():
    seconds = bench_study(2000, sites=4)
    total = seconds.pop("total")
    assert {"moments", "protocol", "grouping", "learning"} <= set(seconds)
    assert 0 < total == sum(seconds.values())
