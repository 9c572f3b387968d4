"""Power sums of sparse vectors: linear, invertible, and never decoded to something else."""

import galois
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from fedhull.codes.field import Field, largest_prime_below, smallest_field
from fedhull.codes.power_sums import power_sums, recover
from fedhull.errors import SyndromeUndecodable

QS = [largest_prime_below(1 << bits) for bits in (17, 31, 61, 64, 89, 127)]
QS += [smallest_field(1 << bits).q for bits in (17, 40, 60)]


@st.composite
def sparse_vectors(draw, number=1):
    field = Field(draw(st.sampled_from(QS)))
    n_bins = draw(st.integers(1, min(field.q - 1, 10**12)))
    one = st.dictionaries(st.integers(1, n_bins), st.integers(1, field.q - 1), max_size=12)
    return field, n_bins, [draw(one) for _ in range(number)]


def sums_of(vector, count, field):
    return power_sums(list(vector), list(vector.values()), count, field)


@given(sparse_vectors(), st.integers(1, 30))
def test_power_sums_are_what_they_are_called(drawn, count):
    field, _, (vector,) = drawn
    expected = [
        sum(v * pow(j, power, field.q) for j, v in vector.items()) % field.q
        for power in range(count)
    ]
    assert sums_of(vector, count, field) == expected


@given(sparse_vectors(), st.integers(0, 5), st.integers(1, 6))
@settings(max_examples=200)
def test_recover_inverts_power_sums(drawn, slack, spare):
    field, n_bins, (vector,) = drawn
    most = len(vector) + slack
    assert recover(sums_of(vector, 2 * most + spare, field), n_bins, most, field) == vector


@given(sparse_vectors(number=3))
def test_the_sum_of_sums_belongs_to_the_sum_of_vectors(drawn):
    field, n_bins, vectors = drawn
    most = sum(map(len, vectors))
    lists = [sums_of(v, 2 * most + 2, field) for v in vectors]
    total = [sum(column) % field.q for column in zip(*lists, strict=True)]
    expected: dict[int, int] = {}
    for vector in vectors:
        for j, value in vector.items():
            expected[j] = (expected.get(j, 0) + value) % field.q
    expected = {j: v for j, v in sorted(expected.items()) if v}
    assert recover(total, n_bins, most, field) == expected


@given(sparse_vectors(), st.data())
@settings(max_examples=200)
def test_damaged_sums_are_refused_never_decoded_to_something_else(drawn, data):
    field, n_bins, (vector,) = drawn
    assume(field.q > 2**60)
    sums = sums_of(vector, 2 * len(vector) + 4, field)
    for _ in range(data.draw(st.integers(1, 3))):
        place = data.draw(st.integers(0, len(sums) - 1))
        sums[place] = data.draw(st.integers(0, field.q - 1))
    assume(sums != sums_of(vector, len(sums), field))
    with pytest.raises(SyndromeUndecodable):
        recover(sums, n_bins, len(vector), field)


def test_more_bins_than_announced_are_refused():
    field = Field(2**61 - 1)
    vector = {j: j for j in range(1, 21)}
    with pytest.raises(SyndromeUndecodable, match="filled more bins than it had announced"):
        recover(sums_of(vector, 24, field), 1000, 10, field)


def test_bins_beyond_the_last_are_refused():
    field = Field(2**61 - 1)
    with pytest.raises(SyndromeUndecodable, match="outside the 10 bins"):
        recover(sums_of({11: 5}, 6, field), 10, 2, field)


@pytest.mark.parametrize("q", [101, 257, 4093])
def test_locator_matches_galois_berlekamp_massey(q):
    rng = np.random.default_rng(0)
    gf = galois.GF(q, compile="python-calculate")  # Numba would compile for seconds
    for n in (1, 3, 10):
        bins = rng.choice(np.arange(1, q), n, replace=False).tolist()
        vector = dict(zip(bins, rng.integers(1, q, n).tolist(), strict=True))
        sums = sums_of(vector, 2 * n + 2, Field(q))
        polynomial = galois.berlekamp_massey(gf(sums), output="characteristic")
        assert sorted(int(r) for r in polynomial.roots()) == sorted(bins)
        assert recover(sums, q - 1, n, Field(q)) == dict(sorted(vector.items()))
