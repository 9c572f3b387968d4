"""Weighted means in fixed point: exact sums, refused ranges."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedhull.codes.mean import (
    LARGEST,
    MEAN_FIELD,
    MOST_SITES,
    MOST_WEIGHT,
    UNIT,
    decode_weighted,
    encode_weighted,
    to_fixed,
)
from fedhull.errors import DecodingError, InvalidInput

fixed_numbers = st.integers(-int(LARGEST / UNIT), int(LARGEST / UNIT))
parts = st.lists(
    st.tuples(st.lists(fixed_numbers, min_size=3, max_size=3), st.integers(1, MOST_WEIGHT)),
    min_size=1,
    max_size=6,
)


@given(parts)
def test_the_decoded_sum_is_the_sum_of_the_integers(parts):
    total = MEAN_FIELD.zeros(4)
    for numbers, weight in parts:
        total = MEAN_FIELD.add(total, encode_weighted(np.array(numbers), weight))
    decoded = decode_weighted(total, len(parts))
    assert decoded.weight == sum(weight for _, weight in parts)
    expected = [sum(n * numbers[j] for numbers, n in parts) for j in range(3)]
    assert decoded.sums.tolist() == expected


@given(st.lists(st.floats(-LARGEST, LARGEST, width=32), min_size=1, max_size=20))
def test_fixed_point_is_within_half_a_unit(values):
    error = np.abs(to_fixed(np.array(values)) * UNIT - np.array(values))
    assert error.max() <= UNIT / 2


def test_the_largest_sum_does_not_wrap():
    assert 2 * int(LARGEST / UNIT) * MOST_WEIGHT * MOST_SITES < MEAN_FIELD.q


def test_the_mean_of_equal_numbers_is_those_numbers():
    numbers = np.array([0.1, -3.0, 64.0], dtype=np.float32)
    total = MEAN_FIELD.zeros(4)
    for weight in (1, 5, MOST_WEIGHT):
        total = MEAN_FIELD.add(total, encode_weighted(to_fixed(numbers), weight))
    assert np.abs(decode_weighted(total, 3).mean - numbers).max() <= UNIT


@pytest.mark.parametrize("value", [64.1, -65.0, np.nan, np.inf])
def test_numbers_out_of_range_are_refused_with_a_sentence(value):
    with pytest.raises(InvalidInput, match="between −64 and 64, but 1 do not"):
        to_fixed(np.array([0.0, value]))


@pytest.mark.parametrize("weight", [0, -1, MOST_WEIGHT + 1])
def test_weights_out_of_range_are_refused(weight):
    with pytest.raises(InvalidInput, match="a weight must be between"):
        encode_weighted(np.array([1]), weight)


@pytest.mark.parametrize(
    "total",
    [
        [5, 0],  # nobody's numbers
        [5, 1],  # two sites have at least two cells
        [2**40, 3],  # larger than any mean
        [0, 2 * MOST_WEIGHT + 1],
        [0, MEAN_FIELD.q - 3],
    ],
)
def test_a_sum_that_no_two_sites_could_make_is_refused(total):
    with pytest.raises(DecodingError, match="not a weighted mean"):
        decode_weighted(MEAN_FIELD.vector(total), 2)
