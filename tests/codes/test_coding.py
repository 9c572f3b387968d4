"""The choice of code and field, and hulls to vectors and back."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedhull.codes.coding import choose_coding
from fedhull.errors import InvalidInput, UnknownLabelSum

CODINGS = [
    choose_coding(6, 10**5),
    choose_coding(40, 10**5, "binary"),
    choose_coding(40, 10**9, "bose-chowla:6"),
]


@given(st.sampled_from(CODINGS), st.data())
@settings(max_examples=100)
def test_hulls_inverts_vector(coding, data):
    # at most six labels, so that no code is asked for more than it can do
    labels = data.draw(st.sets(st.integers(0, len(coding.code.codes) - 1), min_size=1, max_size=6))
    hulls = {
        label: sorted(data.draw(st.sets(st.integers(1, 30), min_size=1)))
        for label in sorted(labels)
        if label < len(coding.code.codes)
    }
    vector = coding.vector(hulls)
    assert coding.hulls(vector) == hulls
    assert all(0 < value < coding.field.q for value in vector.values())


def test_no_sum_wraps_around_even_if_all_labels_meet():
    for coding in CODINGS:
        total = coding.vector({label: [1] for label in range(len(coding.code.codes))})[1]
        assert total < coding.field.q


def test_too_many_labels_in_a_bin_are_reported_with_the_remedy():
    with pytest.raises(UnknownLabelSum, match="larger h, the binary code, or a smaller epsilon"):
        CODINGS[2].hulls(CODINGS[2].vector({label: [7] for label in range(7)}))


def test_auto_takes_the_binary_code_while_it_fits():
    assert choose_coding(6, 10**5).name == "binary"
    assert choose_coding(6, 10**5).field.bits == 17
    assert choose_coding(100, 10**5).name == "binary"
    # 101: the sum of all 100 labels is 2^100 − 1, and q must exceed it
    assert choose_coding(100, 10**5).field.bits == 101


def test_auto_takes_bose_chowla_beyond_and_says_why():
    coding = choose_coding(400, 10**5)
    assert coding.name.startswith("bose-chowla:")
    assert coding.field.bits <= 127
    assert "would need 400 bits" in coding.reason
    assert "stops with an error" in coding.reason


def test_bose_chowla_is_shorter_than_binary_for_many_labels():
    assert choose_coding(60, 1000, "bose-chowla:3").field.bits < 30


@pytest.mark.parametrize("wish", ["", "Binary", "bose-chowla", "bose-chowla:0", "bose-chowla:x"])
def test_an_unknown_code_is_refused(wish):
    with pytest.raises(InvalidInput, match="label code must be"):
        choose_coding(6, 100, wish)
