"""The choice of code and field, and hulls to vectors and back."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedhull.codes.coding import choose_coding
from fedhull.codes.limbs import choose_limbs
from fedhull.errors import DecodingError, InvalidInput, UnknownLabelSum

CODINGS = [
    choose_coding(6, 10**5),
    choose_coding(40, 10**5, "binary"),
    choose_coding(40, 10**9, "bose-chowla:6"),
    choose_coding(240, 10**5),
    choose_coding(1000, 2**61, "binary"),
    choose_coding(240, 300, "bose-chowla:6"),
]


def hulls_over(coding, most_labels, data):
    labels = data.draw(
        st.sets(st.integers(0, len(coding.code.codes) - 1), min_size=1, max_size=most_labels)
    )
    return {
        label: sorted(data.draw(st.sets(st.integers(1, 30), min_size=1, max_size=9)))
        for label in sorted(labels)
    }


@given(st.sampled_from(CODINGS), st.data())
@settings(max_examples=100)
def test_hulls_inverts_vector(coding, data):
    # at most six labels, so that no code is asked for more than it can do
    hulls = hulls_over(coding, 6, data)
    vector = coding.vector(hulls)
    assert coding.hulls(vector) == hulls
    assert all(planes[0] > 0 for planes in vector.values())
    assert all(0 <= value < coding.field.q for planes in vector.values() for value in planes)


@given(st.sampled_from(CODINGS), st.integers(0, 3), st.integers(0, 9), st.data())
@settings(max_examples=100)
def test_hulls_survive_the_way_through_the_sum(coding, slack, spare, data):
    hulls = hulls_over(coding, 6, data)
    parts = [dict(list(hulls.items())[i::3]) for i in range(3)]
    most = sum(len({j for bins in part.values() for j in bins}) for part in parts) + slack
    sums = [coding.encode(part, most, spare) for part in parts]
    total = [sum(column) % coding.field.q for column in zip(*sums, strict=True)]
    assert len(total) == coding.length(most, spare)
    assert coding.hulls(coding.decode(total, most, spare)) == hulls


@given(st.sampled_from(CODINGS), st.data())
@settings(max_examples=150)
def test_damaged_sums_are_refused_whichever_plane_they_are_of(coding, data):
    hulls = hulls_over(coding, 6, data)
    most = len({j for bins in hulls.values() for j in bins})
    sums = coding.encode(hulls, most)
    place = data.draw(st.integers(0, len(sums) - 1))
    sums[place] = (sums[place] + data.draw(st.integers(1, coding.field.q - 1))) % coding.field.q
    with pytest.raises(DecodingError):
        coding.hulls(coding.decode(sums, most))


@pytest.mark.parametrize("coding", CODINGS, ids=lambda coding: coding.name)
def test_nonsense_passes_with_a_probability_of_at_most_one_in_2_to_the_64(coding):
    assert (coding.field.q - 1) ** coding.checks >= 2 ** (64 - coding.checks)
    assert coding.checks * (coding.field.bits - 1) >= 64


@pytest.mark.parametrize("coding", CODINGS, ids=lambda coding: coding.name)
def test_no_sum_wraps_around_even_if_all_labels_meet(coding):
    m = len(coding.code.codes)
    planes = coding.vector({label: [1] for label in range(m)})[1]
    assert all(value < coding.field.q for value in planes)
    assert coding.limbs.join(planes) == (m, sum(coding.code.codes))


@given(st.integers(1, 3000), st.integers(1, 4000), st.booleans(), st.data())
@settings(max_examples=60)
def test_cut_codes_join_to_their_sum(n_labels, code_bits, disjoint, data):
    limbs = choose_limbs(n_labels, code_bits, 10**6, disjoint)
    if disjoint:
        bits = data.draw(st.sets(st.integers(0, code_bits - 1), max_size=min(n_labels, 40)))
        codes = [1 << bit for bit in bits]
    else:
        code = st.integers(0, 2**code_bits - 1)
        codes = data.draw(st.lists(code, max_size=min(n_labels, 40)))
    planes = [sum(column) for column in zip(*map(limbs.cut, codes), strict=True)]
    assert all(0 <= value < limbs.field.q for value in planes)
    assert limbs.join(planes or [0]) == (len(codes), sum(codes))
    assert limbs.field.bits <= 62


def test_too_many_labels_in_a_bin_are_reported_with_the_remedy():
    with pytest.raises(UnknownLabelSum, match="larger h, the binary code, or a smaller epsilon"):
        CODINGS[2].hulls(CODINGS[2].vector({label: [7] for label in range(7)}))


def test_a_label_that_comes_twice_is_noticed():
    for coding in CODINGS:
        one = coding.vector({1: [7]})[7]
        with pytest.raises(UnknownLabelSum):
            coding.hulls({7: tuple(2 * value for value in one)})


@pytest.mark.parametrize("n_labels", [2, 20, 61, 62, 100, 240, 500])
def test_auto_takes_a_code_that_cannot_fail_for_up_to_500_labels(n_labels):
    coding = choose_coding(n_labels, 10**5)
    assert coding.name == "binary"
    assert coding.code.most_labels == n_labels
    assert "cannot fail" in coding.reason


def test_auto_takes_the_shorter_code_beyond():
    few_sites = choose_coding(1000, 10**9, n_sites=5)
    assert few_sites.name.startswith("bose-chowla:")
    assert few_sites.code.most_labels >= 5
    assert "stops with an error" in few_sites.reason
    binary = choose_coding(1000, 10**9, "binary", n_sites=5)
    size = [c.field.packed_size(c.length(500)) for c in (few_sites, binary)]
    assert size[0] < size[1]
    # a code in which as many labels as there are sites can meet would be longer than the binary one
    assert choose_coding(1000, 10**9, n_sites=100).name == "binary"


def test_bose_chowla_is_shorter_than_binary_for_many_labels():
    lengths = [
        c.field.bits * c.length(1000)
        for c in (choose_coding(240, 1000, "bose-chowla:3"), choose_coding(240, 1000, "binary"))
    ]
    assert lengths[0] < lengths[1]


@pytest.mark.parametrize("wish", ["", "Binary", "bose-chowla", "bose-chowla:0", "bose-chowla:x"])
def test_an_unknown_code_is_refused(wish):
    with pytest.raises(InvalidInput, match="label code must be"):
        choose_coding(6, 100, wish)
