"""Cells, genes by name, and how counts are prepared."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_matrix, issparse

from fedhull.embed.cells import Cells
from fedhull.embed.features import choose_genes
from fedhull.errors import InvalidInput

GENES = [f"G{i}" for i in range(30)]


def counts(seed=0, n=50, sparse=True):
    x = np.random.default_rng(seed).poisson(1.0, (n, len(GENES)))
    return Cells(csr_matrix(x) if sparse else x, GENES)


def dense(x):
    return x.toarray() if issparse(x) else x


@given(seed=st.integers(0, 1000))
def test_the_order_of_genes_and_further_genes_make_no_difference(seed):
    cells = counts(seed)
    chosen = choose_genes(cells, 10).preparation
    order = np.random.default_rng(seed).permutation(len(GENES))
    turned = Cells(cells.x[:, order], [GENES[i] for i in order])
    assert np.array_equal(dense(chosen.apply(cells)), dense(chosen.apply(turned)))


def test_sparse_stays_sparse_and_equals_dense():
    chosen = choose_genes(counts(), 10).preparation
    sparse, full = chosen.apply(counts()), chosen.apply(counts(sparse=False))
    assert issparse(sparse)
    assert np.allclose(sparse.toarray(), full)
    assert choose_genes(counts(sparse=False), 10).preparation == chosen


def test_counts_are_normalised_over_all_genes_and_logged():
    cells = counts(sparse=False)
    chosen = choose_genes(cells, 10).preparation
    columns = [GENES.index(gene) for gene in chosen.genes]
    expected = np.log1p(1e4 * cells.x[:, columns] / cells.x.sum(axis=1, keepdims=True))
    assert np.allclose(chosen.apply(cells), expected)


def test_what_is_no_count_is_left_as_it_is():
    x = np.random.default_rng(0).normal(size=(20, 30))
    chosen = choose_genes(Cells(x, GENES), 30).preparation
    assert not chosen.counts
    assert np.array_equal(chosen.apply(Cells(x, GENES)), x)


def test_a_missing_gene_counts_as_not_expressed_and_is_reported():
    cells = counts()
    chosen = choose_genes(cells, 10).preparation
    gone = chosen.genes[3]
    kept = [i for i, gene in enumerate(GENES) if gene != gone]
    fewer = Cells(cells.x[:, kept], [GENES[i] for i in kept])
    assert chosen.missing(fewer) == [gone]
    seen = chosen.apply(fewer).toarray()
    assert (seen[:, 3] == 0).all()
    assert seen.shape == (50, 10)


def test_with_most_genes_missing_nothing_is_placed():
    chosen = choose_genes(counts(), 10).preparation
    strangers = Cells(np.ones((3, 30)), [f"ENSG{i}" for i in range(30)])
    with pytest.raises(InvalidInput, match="lack 10 of the embedder's 10 genes"):
        chosen.apply(strangers)


def test_the_genes_that_differ_between_cells_are_chosen():
    rng = np.random.default_rng(0)
    x = rng.poisson(5.0, (400, 60))
    x[:200, :8] += rng.poisson(20.0, (200, 8))
    chosen = choose_genes(Cells(x, [str(i) for i in range(60)]), 8).preparation
    assert {int(gene) for gene in chosen.genes} == set(range(8))


def test_an_empty_cell_is_no_division_by_zero():
    x = np.ones((12, 30), dtype=int)
    x[3] = 0
    x[5, :10] = 7
    assert np.isfinite(
        dense(choose_genes(Cells(x, GENES), 5).preparation.apply(Cells(x, GENES)))
    ).all()


@pytest.mark.parametrize(
    ("x", "genes", "sentence"),
    [
        (np.ones((3, 2)), ["a"], "with 1 genes"),
        (np.ones((0, 1)), ["a"], "at least one cell"),
        (np.array([[np.nan, 1.0]]), ["a", "b"], "no NaN"),
        (np.ones((2, 2)), ["a", "a"], "'a' appears twice"),
        (np.array([["x", "y"]]), ["a", "b"], "must hold numbers"),
    ],
)
def test_bad_cells_are_refused_in_a_sentence(x, genes, sentence):
    with pytest.raises(InvalidInput, match=sentence):
        Cells(x, genes)


def test_data_that_say_nothing_are_refused():
    with pytest.raises(InvalidInput, match="at least two varying genes"):
        choose_genes(Cells(np.ones((5, 3)), ["a", "b", "c"]))
    with pytest.raises(InvalidInput, match="raw counts"):
        choose_genes(Cells(np.full((5, 3), 0.5), ["a", "b", "c"]), counts=True)
