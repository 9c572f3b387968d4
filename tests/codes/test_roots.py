"""Tangent Graeffe root finding, against FLINT's and against roots known beforehand."""

import flint
import numpy as np
import pytest
from oracles import largest_prime_below

from fedhull.codes.field import smallest_field
from fedhull.codes.power_sums import power_sums, recover
from fedhull.codes.roots import _product, _split, find_roots

FIELDS = [smallest_field(1 << bits).q for bits in (13, 17, 20, 30, 45, 60)]


def with_roots(roots, q):
    return _product(roots, flint.fmpz_mod_poly_ctx(flint.fmpz_mod_ctx(q))([1]))


@pytest.mark.parametrize("q", FIELDS)
@pytest.mark.parametrize("n", [1, 2, 99, 101, 257, 1500])
def test_finds_the_roots_that_were_put_in(q, n):
    rng = np.random.default_rng(n)
    roots = np.unique(rng.integers(1, min(q, 10**9), n)).tolist()
    assert sorted(find_roots(with_roots(roots, q), q)) == roots


@pytest.mark.parametrize("q", FIELDS[1:])
def test_finds_roots_that_lie_close_together(q):
    roots = list(range(1, 1001))
    assert sorted(find_roots(with_roots(roots, q), q)) == roots


def test_finds_roots_that_all_fall_onto_each_other():
    # a whole subgroup of order 2^9: every image has many preimages, and FLINT has to help
    q = FIELDS[-1]
    odd, twos = _split(q)
    g = next(g for g in range(2, 100) if pow(g, (q - 1) // 2, q) == q - 1)
    root = pow(pow(g, odd, q), 1 << (twos - 9), q)
    roots = sorted(pow(root, i, q) for i in range(512))
    assert sorted(find_roots(with_roots(roots, q), q)) == roots


def test_agrees_with_flint_where_not_all_roots_are_in_the_field():
    q = FIELDS[-1]
    rng = np.random.default_rng(0)
    roots = np.unique(rng.integers(1, 10**9, 300)).tolist()
    ring = flint.fmpz_mod_poly_ctx(flint.fmpz_mod_ctx(q))
    irreducible = next(p for c in range(1, 99) if (p := ring([c, 0, 1])).is_irreducible())
    mixed = with_roots(roots, q) * irreducible
    assert sorted(find_roots(mixed, q)) == sorted(int(r) for r, _ in mixed.roots())


@pytest.mark.parametrize("q", [largest_prime_below(2**61), largest_prime_below(2**62)])
def test_other_primes_go_to_flint(q):
    roots = list(range(5, 400, 3))
    assert sorted(find_roots(with_roots(roots, q), q)) == roots


def test_thousands_of_bins_are_recovered():
    field = smallest_field(2**60)
    rng = np.random.default_rng(0)
    bins = np.unique(rng.integers(1, 10**12, 3000)).tolist()
    values = rng.integers(1, 2**60, (2, len(bins))).tolist()
    vector = dict(zip(bins, zip(*values, strict=True), strict=True))
    sums = power_sums(bins, values, [2 * len(bins) + 4, len(bins) + 4], field)
    assert recover(sums, 10**12, len(bins), field) == vector
