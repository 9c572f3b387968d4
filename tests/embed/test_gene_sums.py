"""Sums over genes: they add up, and from them variable genes are chosen as from all cells."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_matrix

from fedhull.embed.cells import Cells
from fedhull.embed.features import GeneSums, choose_genes
from fedhull.errors import InvalidInput

GENES = [f"G{i}" for i in range(60)]


def make_counts(n=200, seed=0):
    rng = np.random.default_rng(seed)
    return rng.poisson(rng.gamma(0.4, 2.0, len(GENES)), (n, len(GENES)))


@given(seed=st.integers(0, 1000), share=st.floats(0.05, 0.95))
def test_sums_of_parts_are_the_sums_of_all_cells(seed, share):
    x = make_counts(seed=seed)
    mine = np.random.default_rng(seed).random(len(x)) < share
    mine[:2] = True, False
    whole = GeneSums.of(Cells(x, GENES), counts=True)
    parts = [GeneSums.of(Cells(csr_matrix(x[rows]), GENES), counts=True) for rows in (mine, ~mine)]
    for name in ("express", "values", "squares", "seen", "seen_squares"):
        total = getattr(parts[0], name) + getattr(parts[1], name)
        np.testing.assert_allclose(total, getattr(whole, name), rtol=1e-12)
    assert parts[0].cells + parts[1].cells == whole.cells


def test_means_and_deviations_are_those_of_logged_counts():
    x = make_counts()
    cells = Cells(csr_matrix(x), GENES)
    seen = np.log1p(1e4 * x / x.sum(axis=1, keepdims=True))
    chosen = choose_genes(cells, 10)
    columns = [GENES.index(gene) for gene in chosen.preparation.genes]
    np.testing.assert_allclose(chosen.mean, seen[:, columns].mean(axis=0))
    np.testing.assert_allclose(chosen.deviation, seen[:, columns].std(axis=0))


def test_a_gene_that_four_cells_express_is_not_chosen_and_one_of_five_is():
    x = np.full((100, 4), 3)
    x[:50, :2] += np.arange(50)[:, None]
    x[:, 2:] = 0
    x[:4, 2], x[:5, 3] = 90, 90
    chosen = choose_genes(Cells(x, list("abcd")), 4).preparation.genes
    assert chosen == ["a", "b", "d"]


def test_too_few_genes_are_an_error_that_says_so():
    with pytest.raises(InvalidInput, match="n_genes must be at least 2, got 1"):
        choose_genes(Cells(make_counts(), GENES), 1)
