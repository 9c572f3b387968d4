"""Vectors over F_q: the integers modulo q, packed without loss, drawn without bias."""

import os

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracles import largest_prime_below, uniform
from scipy import stats

from fedhull.codes.field import Field, smallest_field
from fedhull.errors import InvalidInput

fields = st.sampled_from([2, 3, 5, 17, 31, 32, 33, 53, 61, 62]).map(
    lambda bits: Field(largest_prime_below(1 << bits))
)


@st.composite
def vectors(draw, number=1):
    field = draw(fields)
    n = draw(st.integers(0, 20))
    element = st.one_of(st.integers(0, field.q - 1), st.sampled_from([0, 1, field.q - 1]))
    return field, [draw(st.lists(element, min_size=n, max_size=n)) for _ in range(number)]


@given(vectors(2))
def test_arithmetic_is_that_of_the_integers_modulo_q(drawn):
    field, (a, b) = drawn
    x, y = field.vector(a), field.vector(b)
    assert field.to_ints(field.add(x, y)) == [(i + j) % field.q for i, j in zip(a, b, strict=True)]
    assert field.to_ints(field.subtract(x, y)) == [
        (i - j) % field.q for i, j in zip(a, b, strict=True)
    ]


@given(vectors())
def test_unpack_inverts_pack_at_the_announced_size(drawn):
    field, (a,) = drawn
    packed = field.pack(field.vector(a))
    assert len(packed) == field.packed_size(len(a)) == -(-len(a) * field.bits // 8)
    assert field.to_ints(field.unpack(packed, len(a))) == a


@pytest.mark.parametrize("n", [2**14 - 1, 2**14, 2**14 + 1, 2**15 + 5])
@pytest.mark.parametrize("q", [5, 2**61 - 1, largest_prime_below(2**62)])
def test_long_vectors_are_packed_as_one(q, n):
    field = Field(q)
    vector = uniform(field, n, np.random.default_rng(n).bytes)
    packed = field.pack(vector)
    assert len(packed) == field.packed_size(n)
    assert np.array_equal(field.unpack(packed, n), vector)
    bits = "".join(f"{v:0{field.bits}b}"[::-1] for v in field.to_ints(vector))
    assert int.from_bytes(packed, "little") == int(bits[::-1], 2)


@given(fields, st.binary(max_size=40), st.integers(0, 20))
def test_any_bytes_unpack_to_elements_or_are_refused(field, packed, n):
    try:
        values = field.to_ints(field.unpack(packed, n))
    except InvalidInput:
        return
    assert all(0 <= v < field.q for v in values)
    assert field.pack(field.vector(values)) == packed


@pytest.mark.parametrize("q", [5, 11, 101, largest_prime_below(2**33), largest_prime_below(2**62)])
def test_uniform_elements_pass_a_chi_square_test(q):
    field = Field(q)
    rng = np.random.default_rng(0)
    values = field.to_ints(uniform(field, 40_000, rng.bytes))
    buckets = min(q, 50)
    counts = np.bincount([v * buckets // q for v in values], minlength=buckets)
    # buckets of q values may differ by one value in size
    sizes = np.bincount([i * buckets // q for i in range(q)]) if q < 1000 else np.ones(buckets)
    expected = sizes / sizes.sum() * len(values)
    assert stats.chisquare(counts, expected).pvalue > 1e-4


def test_uniform_draws_as_much_as_it_needs():
    assert len(uniform(Field(2**5 - 1), 1000, os.urandom)) == 1000


@given(st.integers(1, 2**61))
def test_the_smallest_field_exceeds_the_bound_with_the_fewest_bits(bound):
    field = smallest_field(bound)
    assert field.q > bound
    assert field.bits == 2 or largest_prime_below(1 << (field.bits - 1)) <= bound


def test_a_field_of_more_than_62_bits_is_refused():
    with pytest.raises(InvalidInput, match="more than 62 bits; use a larger epsilon"):
        smallest_field(2**62)
