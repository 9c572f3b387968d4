"""A stream of chunks has the hull of the whole: CH(∪) = CH(∪CH)."""

import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import adversarial_discs, examples

import fedhull
from fedhull.errors import InvalidInput, OutsideDisc


@given(adversarial_discs(largest=100), st.integers(1, 40))
@examples(200)
def test_streamed_hull_is_the_hull_of_the_whole(drawn, size):
    curvature, points = drawn
    stream = fedhull.HullStream(curvature)
    for begin in range(0, len(points), size):
        stream.update(points[begin : begin + size])
    whole = fedhull.minimal_hull(points, curvature)
    assert stream.points.tolist() == points[whole].tolist()
    assert stream.indices.tolist() == whole.tolist()
    assert stream.n_seen == len(points)


def test_iterator_memory_map_and_array_give_the_same(tmp_path):
    points = fedhull.sample_uniform(5000, 0.9, seed=0)
    np.save(tmp_path / "points.npy", points.astype(np.float32))
    mapped = np.load(tmp_path / "points.npy", mmap_mode="r")
    whole = fedhull.HullStream().update(np.asarray(mapped)).points
    assert fedhull.HullStream().update(mapped).points.tolist() == whole.tolist()
    chunks = iter(np.array_split(mapped, 7))
    assert fedhull.HullStream().update(chunks).points.tolist() == whole.tolist()


def test_memory_does_not_grow_with_the_number_of_points():
    def peak(chunks: int) -> int:
        stream = fedhull.HullStream()
        rng = np.random.default_rng(0)
        tracemalloc.start()
        stream.update(fedhull.sample_uniform(50_000, 0.95, seed=rng) for _ in range(chunks))
        top = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return top

    peak(1)
    assert peak(20) < 1.5 * peak(2)


def test_other_dimensions_stream_too():
    rng = np.random.default_rng(0)
    points = rng.uniform(-0.5, 0.5, (300, 3))
    stream = fedhull.HullStream().update(points[:100]).update(points[100:])
    assert stream.indices.tolist() == fedhull.minimal_hull(points).tolist()


def test_an_empty_stream_has_no_corners():
    assert fedhull.HullStream().points.shape == (0, 2)


def test_a_bad_chunk_is_refused_and_changes_nothing():
    stream = fedhull.HullStream().update([[0.1, 0.2]])
    with pytest.raises(OutsideDisc, match="row 0"):
        stream.update([[1.1, 0.2]])
    with pytest.raises(InvalidInput, match="2 coordinates like those before it, got 3"):
        stream.update([[0.1, 0.2, 0.3]])
    with pytest.raises(InvalidInput, match="shape"):
        stream.update([0.1, 0.2])
    for wrong in (5, None, "abc", [[[0.1, 0.2]], [[0.1, 0.2]]]):
        with pytest.raises(InvalidInput, match="chunk must"):
            stream.update(wrong)
    assert stream.points.tolist() == [[0.1, 0.2]]
    assert stream.n_seen == 1


def test_a_bad_row_is_named_by_its_place_in_the_chunk(monkeypatch):
    monkeypatch.setattr("fedhull.disc.hull._ROWS_AT_ONCE", 100)
    chunk = np.zeros((500, 2))
    chunk[321] = [2.0, 0.0]
    stream = fedhull.HullStream()
    with pytest.raises(OutsideDisc, match=r"chunk must lie .* row 321 has norm 2\.0"):
        stream.update(chunk)
    assert stream.n_seen == 0
