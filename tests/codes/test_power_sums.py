"""Power sums of sparse vectors: linear, invertible, and never decoded to something else."""

import galois
import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from oracles import largest_prime_below
from strategies import examples

from fedhull.codes.field import Field, smallest_field
from fedhull.codes.power_sums import power_sums, recover
from fedhull.errors import SyndromeUndecodable

QS = [largest_prime_below(1 << bits) for bits in (17, 31, 61, 62)]
QS += [smallest_field(1 << bits).q for bits in (17, 40, 60)]


@st.composite
def sparse_vectors(draw, number=1):
    """Vectors of one to four planes, of which the first is zero in no bin."""
    field = Field(draw(st.sampled_from(QS)))
    n_bins = draw(st.integers(1, min(field.q - 1, 10**12)))
    others = draw(st.integers(0, 3))
    value = st.tuples(st.integers(1, field.q - 1), *[st.integers(0, field.q - 1)] * others)
    one = st.dictionaries(st.integers(1, n_bins), value, max_size=12)
    return field, n_bins, 1 + others, [draw(one) for _ in range(number)]


def sums_of(vector, counts, field):
    planes = list(zip(*vector.values(), strict=True)) or [()] * len(counts)
    return power_sums(list(vector), planes, counts, field)


def counts_for(most, planes, spare):
    return [2 * most + spare] + [most + spare] * (planes - 1)


@given(sparse_vectors(), st.integers(1, 30))
def test_power_sums_are_what_they_are_called(drawn, count):
    field, _, planes, (vector,) = drawn
    expected = [
        [
            sum(values[p] * pow(j, power, field.q) for j, values in vector.items()) % field.q
            for power in range(count + p)
        ]
        for p in range(planes)
    ]
    assert sums_of(vector, [count + p for p in range(planes)], field) == expected


@given(sparse_vectors(), st.integers(0, 5), st.integers(1, 6))
@examples(200)
def test_recover_inverts_power_sums(drawn, slack, spare):
    field, n_bins, planes, (vector,) = drawn
    most = len(vector) + slack
    sums = sums_of(vector, counts_for(most, planes, spare), field)
    assert recover(sums, n_bins, most, field) == vector


@given(sparse_vectors(number=3))
def test_the_sum_of_sums_belongs_to_the_sum_of_vectors(drawn):
    field, n_bins, planes, vectors = drawn
    most = sum(map(len, vectors))
    counts = counts_for(most, planes, 2)
    lists = [sums_of(v, counts, field) for v in vectors]
    total = [
        [sum(column) % field.q for column in zip(*(one[p] for one in lists), strict=True)]
        for p in range(planes)
    ]
    expected: dict[int, tuple[int, ...]] = {}
    for vector in vectors:
        for j, values in vector.items():
            before = expected.get(j, (0,) * planes)
            expected[j] = tuple((a + b) % field.q for a, b in zip(before, values, strict=True))
    # where the first plane has cancelled out, which labels never do, there is nothing to recover
    assume(all(values[0] for values in expected.values()))
    assert recover(total, n_bins, most, field) == dict(sorted(expected.items()))


@given(sparse_vectors(), st.data())
@examples(300)
def test_damaged_sums_are_refused_never_decoded_to_something_else(drawn, data):
    field, n_bins, planes, (vector,) = drawn
    assume(field.q > 2**60)
    counts = counts_for(len(vector), planes, 2)
    sums = sums_of(vector, counts, field)
    for _ in range(data.draw(st.integers(1, 3))):
        plane = data.draw(st.integers(0, planes - 1))
        place = data.draw(st.integers(0, counts[plane] - 1))
        sums[plane][place] = data.draw(st.integers(0, field.q - 1))
    assume(sums != sums_of(vector, counts, field))
    with pytest.raises(SyndromeUndecodable):
        recover(sums, n_bins, len(vector), field)


def test_more_bins_than_announced_are_refused():
    field = Field(2**61 - 1)
    vector = {j: (j,) for j in range(1, 21)}
    with pytest.raises(SyndromeUndecodable, match="filled more bins than it had announced"):
        recover(sums_of(vector, [24], field), 1000, 10, field)


def test_bins_beyond_the_last_are_refused():
    field = Field(2**61 - 1)
    with pytest.raises(SyndromeUndecodable, match="outside the 10 bins"):
        recover(sums_of({11: (5,)}, [6], field), 10, 2, field)


@pytest.mark.parametrize("q", [101, 257, 4093])
def test_locator_matches_galois_berlekamp_massey(q):
    rng = np.random.default_rng(0)
    gf = galois.GF(q, compile="python-calculate")  # Numba would compile for seconds
    for n in (1, 3, 10):
        bins = rng.choice(np.arange(1, q), n, replace=False).tolist()
        vector = {j: (int(rng.integers(1, q)), int(rng.integers(q))) for j in bins}
        sums = sums_of(vector, [2 * n + 2, n + 1], Field(q))
        polynomial = galois.berlekamp_massey(gf(sums[0]), output="characteristic")
        assert sorted(int(r) for r in polynomial.roots()) == sorted(bins)
        assert recover(sums, q - 1, n, Field(q)) == dict(sorted(vector.items()))
