"""The choice of code and field, and hulls to vectors and back."""

import galois
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import examples

from fedhull.codes.coding import choose_coding
from fedhull.codes.planes import choose_limbs
from fedhull.errors import DecodingError, InvalidInput, UnknownLabelSum

PAIRS = [choose_coding(6, 10**5), choose_coding(240, 300), choose_coding(1000, 2**50)]
PLANES = [
    choose_coding(6, 10**5, "binary"),
    choose_coding(40, 10**5, "binary"),
    choose_coding(40, 10**9, "bose-chowla:6"),
    choose_coding(240, 10**5, "binary"),
    choose_coding(1000, 2**61),
    choose_coding(240, 300, "bose-chowla:6"),
]
CODINGS = PAIRS + PLANES


def n_labels(coding):
    return coding.space


def named(coding):
    return f"{coding.name}-{n_labels(coding)}"


def hulls_over(coding, most_labels, data):
    labels = data.draw(
        st.sets(st.integers(0, n_labels(coding) - 1), min_size=1, max_size=most_labels)
    )
    return {
        label: sorted(data.draw(st.sets(st.integers(1, 30), min_size=1, max_size=9)))
        for label in sorted(labels)
    }


@given(st.sampled_from(PLANES), st.data())
@examples(100)
def test_hulls_inverts_vector(coding, data):
    # at most six labels, so that no code is asked for more than it can do
    hulls = hulls_over(coding, 6, data)
    vector = coding.vector(hulls)
    assert coding.hulls(vector) == hulls
    assert all(planes[0] > 0 for planes in vector.values())
    assert all(0 <= value < coding.field.q for planes in vector.values() for value in planes)


@given(st.sampled_from(CODINGS), st.integers(0, 3), st.integers(0, 9), st.data())
@examples(100)
def test_hulls_survive_the_way_through_the_sum(coding, slack, spare, data):
    hulls = hulls_over(coding, 6, data)
    parts = [dict(list(hulls.items())[i::3]) for i in range(3)]
    most = sum(map(len, hulls.values())) + slack
    sums = [coding.encode(part, most, spare) for part in parts]
    total = [sum(column) % coding.field.q for column in zip(*sums, strict=True)]
    assert len(total) == coding.length(most, spare)
    assert coding.decode(total, most, spare) == hulls


@given(st.sampled_from(CODINGS), st.data())
@examples(150)
def test_damaged_sums_are_refused_whichever_plane_they_are_of(coding, data):
    hulls = hulls_over(coding, 6, data)
    most = sum(map(len, hulls.values()))
    sums = coding.encode(hulls, most)
    place = data.draw(st.integers(0, len(sums) - 1))
    sums[place] = (sums[place] + data.draw(st.integers(1, coding.field.q - 1))) % coding.field.q
    with pytest.raises(DecodingError):
        coding.decode(sums, most)


@pytest.mark.parametrize("coding", CODINGS, ids=named)
def test_nonsense_passes_with_a_probability_of_at_most_one_in_2_to_the_64(coding):
    assert coding.checks * (coding.field.bits - 1) >= 64
    # n corners take n + 1 numbers as pairs, 2n of the first plane and n of each other as vectors
    needed = 10 + 1 if coding.name == "pairs" else 10 * (coding.planes + 1)
    assert coding.length(10) == needed + coding.planes * coding.checks


@pytest.mark.parametrize("coding", CODINGS, ids=named)
def test_no_hulls_at_all_are_no_hulls(coding):
    assert coding.decode(coding.encode({}, 8), 8) == {}


@pytest.mark.parametrize("coding", PLANES, ids=named)
def test_no_sum_wraps_around_even_if_all_labels_meet(coding):
    m = n_labels(coding)
    planes = coding.vector({label: [1] for label in range(m)})[1]
    assert all(value < coding.field.q for value in planes)
    assert coding.limbs.join(planes) == (m, sum(coding.label_code.codes))


@pytest.mark.parametrize("coding", [c for c in CODINGS if c.most_labels == n_labels(c)], ids=named)
def test_all_labels_may_meet_in_one_bin(coding):
    hulls = {label: [7, 8] for label in range(n_labels(coding))}
    most = 2 * len(hulls)
    assert coding.decode(coding.encode(hulls, most), most) == hulls


def test_a_coding_of_pairs_gives_every_corner_a_number_of_its_own():
    coding = choose_coding(7, 11)
    numbers = [coding.code(label, j) for j in range(1, 12) for label in range(7)]
    assert numbers == list(range(1, 78))
    assert max(numbers) < coding.field.q


@given(st.sampled_from(PAIRS), st.data())
@examples(50)
def test_the_sums_of_pairs_are_the_power_sums_of_their_numbers(coding, data):
    hulls = hulls_over(coding, 6, data)
    numbers = [coding.code(label, j) for label, bins in hulls.items() for j in bins]
    q, most = coding.field.q, len(numbers)
    assert coding.encode(hulls, most) == [
        sum(pow(x, k, q) for x in numbers) % q for k in range(coding.length(most))
    ]


def test_pairs_are_found_as_galois_finds_them():
    coding = choose_coding(4, 60)
    gf = galois.GF(coding.field.q, compile="python-calculate")  # Numba would compile for seconds
    rng = np.random.default_rng(0)
    numbers = sorted((rng.choice(240, 9, replace=False) + 1).tolist())
    roots = gf(numbers)
    sums = [int(np.sum(roots**k)) for k in range(coding.length(9))]
    hulls = coding.decode(sums, 9)
    assert sorted(coding.code(label, j) for label in hulls for j in hulls[label]) == numbers
    # and the sums, as a linear recurrence, have just these numbers for characteristic roots
    longer = gf([int(np.sum(roots**k)) for k in range(20)])
    polynomial = galois.berlekamp_massey(longer, output="characteristic")
    assert sorted(int(root) for root in polynomial.roots()) == numbers


@given(st.integers(1, 3000), st.integers(1, 4000), st.booleans(), st.data())
@examples(60)
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
    with pytest.raises(UnknownLabelSum, match="'pairs', a larger h or a smaller epsilon"):
        PLANES[2].hulls(PLANES[2].vector({label: [7] for label in range(7)}))


@pytest.mark.parametrize("coding", CODINGS, ids=named)
def test_a_corner_that_comes_twice_is_noticed(coding):
    sums = [coding.encode({1: bins}, 4) for bins in ([7, 8], [8, 9])]
    total = [sum(column) % coding.field.q for column in zip(*sums, strict=True)]
    with pytest.raises(DecodingError):
        coding.decode(total, 4)


@pytest.mark.parametrize("coding", CODINGS, ids=named)
def test_more_corners_than_announced_are_refused(coding):
    sums = coding.encode({1: [7, 8, 9, 10]}, 3)
    with pytest.raises(DecodingError, match="than it had announced"):
        coding.decode(sums, 3)


@pytest.mark.parametrize("m", [2, 20, 61, 62, 100, 240, 500, 5000])
def test_auto_takes_a_coding_that_cannot_fail_and_sends_least(m):
    coding = choose_coding(m, 10**5)
    assert coding.name == "pairs"
    assert coding.most_labels == m
    assert "cannot fail" in coding.reason
    binary = choose_coding(m, 10**5, "binary")
    sizes = [c.field.packed_size(c.length(1000)) for c in (coding, binary)]
    assert sizes[0] < sizes[1]


def test_auto_takes_the_binary_code_where_bins_and_labels_cannot_be_numbered_together():
    coding = choose_coding(1000, 2**61)
    assert coding.name == "binary"
    assert coding.most_labels == 1000
    with pytest.raises(InvalidInput, match="too many for the label code 'pairs'"):
        choose_coding(1000, 2**61, "pairs")


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
