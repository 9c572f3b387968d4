"""Label codes: every allowed sum names its labels, every other sum is noticed."""

from itertools import combinations_with_replacement, pairwise
from math import gcd

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import examples

from fedhull import BinaryCode, BoseChowlaCode
from fedhull.codes.coding import choose_coding
from fedhull.errors import InvalidInput, UnknownLabelSum


def all_sums_differ(codes, h):
    sums = [sum(c) for size in range(h + 1) for c in combinations_with_replacement(codes, size)]
    return len(sums) == len(set(sums))


@pytest.mark.parametrize(("m", "h"), [(1, 3), (4, 2), (7, 2), (7, 3), (11, 3), (12, 4), (5, 5)])
def test_bose_chowla_sums_of_at_most_h_are_all_different(m, h):
    code = BoseChowlaCode(m, h)
    assert len(code.codes) == m
    assert all(c > 0 for c in code.codes)
    assert all_sums_differ(code.codes, h)


@pytest.mark.parametrize(("m", "h"), [(4, 2), (7, 3), (9, 4)])
def test_bose_chowla_decodes_every_sum(m, h):
    code = BoseChowlaCode(m, h)
    for size in range(h + 1):
        for labels in combinations_with_replacement(range(m), size):
            assert code.decode(sum(code.codes[i] for i in labels)) == labels


def test_bose_chowla_refuses_what_is_no_sum():
    code = BoseChowlaCode(7, 2)
    sums = {sum(c) for size in range(3) for c in combinations_with_replacement(code.codes, size)}
    for total in range(-3, 2 * max(code.codes) + 5):
        if total not in sums:
            with pytest.raises(UnknownLabelSum):
                code.decode(total)


@given(st.integers(2, 300), st.integers(2, 5), st.integers(0, 2**32))
@examples(40)
def test_bose_chowla_decodes_random_sums(m, h, seed):
    code = BoseChowlaCode(m, h)
    rng = np.random.default_rng(seed)
    for _ in range(20):
        labels = tuple(sorted(rng.integers(0, m, rng.integers(0, h + 1)).tolist()))
        assert code.decode(sum(code.codes[i] for i in labels)) == labels


def test_bose_chowla_large_codes_decode():
    code = BoseChowlaCode(2000, 6)
    rng = np.random.default_rng(0)
    for _ in range(500):
        labels = tuple(sorted(rng.choice(2000, 6, replace=False).tolist()))
        assert code.decode(sum(code.codes[i] for i in labels)) == labels


def test_bose_chowla_set_is_the_published_one_up_to_multiplication_and_shift():
    # the Bose–Chowla set for p = 7, h = 2 as it is printed in the literature, modulo 48
    published = {1, 2, 5, 11, 31, 36, 38}
    ours = {1} | {c + 1 for c in BoseChowlaCode(6, 2).codes}
    images = [
        {(u * x + s) % 48 for x in published}
        for u in range(48)
        if gcd(u, 48) == 1
        for s in range(48)
    ]
    assert ours in images


def test_the_differences_of_appendix_g_are_no_code():
    # the raw logarithms for p = 7, h = 2 are 1 + our codes, with 1 itself in front
    raw = sorted([1] + [c + 1 for c in BoseChowlaCode(6, 2).codes])
    differences = [b - a for a, b in pairwise(raw)]
    assert not all_sums_differ(differences, 2)


def test_raw_logarithms_confuse_sums_of_different_lengths():
    raw = sorted([1] + [c + 1 for c in BoseChowlaCode(6, 2).codes])
    assert not all_sums_differ(raw, 2)


@given(st.integers(1, 100), st.data())
def test_binary_code_decodes_every_set(m, data):
    code = BinaryCode(m)
    labels = tuple(sorted(data.draw(st.sets(st.integers(0, m - 1)))))
    assert code.decode(sum(code.codes[i] for i in labels)) == labels
    with pytest.raises(UnknownLabelSum):
        code.decode(2**m)


def test_the_papers_example_code():
    assert all_sums_differ([1, 3, 7, 12, 20, 30, 44], 2)


@pytest.mark.parametrize(("m", "h"), [(7, 2), (40, 3), (200, 4)])
def test_planted_overfull_bins_are_always_noticed(m, h):
    coding = choose_coding(m, 1000, f"bose-chowla:{h}")
    rng = np.random.default_rng(0)
    silent = 0
    for _ in range(100_000 // 3 + 1):
        labels = rng.permutation(m)[: rng.integers(h + 1, min(m, 4 * h) + 1)]
        try:
            coding.hulls(coding.vector({label: [1] for label in labels.tolist()}))
            silent += 1
        except UnknownLabelSum:
            pass
    assert silent == 0


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: BoseChowlaCode(0, 2), "n_labels must be a whole number of at least 1"),
        (lambda: BoseChowlaCode(5, 0), "h must be a whole number of at least 1"),
        (lambda: BoseChowlaCode(2000, 13), "use the binary code, h = 12 or h = 14"),
        (lambda: BoseChowlaCode(12, 29), "use h = 28 or h = 30"),
        (lambda: BinaryCode(0), "n_labels"),
    ],
)
def test_bad_input_is_refused_in_a_sentence(call, words):
    with pytest.raises(InvalidInput, match=words):
        call()
