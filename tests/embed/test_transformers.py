"""Embedders as scikit-learn's transformers: cloned, set, in pipelines, fed with any matrix."""

import anndata
import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csc_matrix, csr_matrix
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.utils.validation import check_is_fitted

from fedhull import Cells, LorentzClassifier, NeighbourEmbedder, TreeEmbedder
from fedhull.errors import InvalidInput
from fedhull_lab.autoencoder.embedder import AutoencoderEmbedder

EMBEDDERS = [
    NeighbourEmbedder(n_genes=25, steps=20, seed=3),
    AutoencoderEmbedder(n_genes=25, steps=4, hidden=5, seed=3),
]
QUICK = {"n_genes": 25, "n_components": 5, "steps": 30}


def counts(n=90, seed=0):
    rng = np.random.default_rng(seed)
    kind = np.arange(n) % 3
    x = rng.poisson(1.0, (n, 30))
    for k in range(3):
        x[kind == k, 10 * k : 10 * k + 10] += 6
    return x.astype(float), np.array(["a", "b", "c"])[kind]


@pytest.mark.parametrize("embedder", [*EMBEDDERS, TreeEmbedder(root="r", curvature=2.0)], ids=str)
def test_a_clone_has_the_same_settings_and_is_another(embedder):
    copy = clone(embedder)
    assert copy is not embedder
    assert copy.get_params() == embedder.get_params()
    assert type(embedder)(**embedder.get_params()).get_params() == embedder.get_params()


def test_a_clone_of_a_fitted_one_is_not_fitted():
    x, _ = counts()
    fitted = NeighbourEmbedder(**QUICK).fit(x)
    check_is_fitted(fitted)
    with pytest.raises(NotFittedError):
        check_is_fitted(clone(fitted))


def test_settings_can_be_changed_and_keep_their_rules():
    embedder = AutoencoderEmbedder().set_params(hidden=7, dropout=0.1)
    assert (embedder.hidden, embedder.get_params()["dropout"]) == (7, 0.1)
    with pytest.raises(InvalidInput, match="dropout must be in"):
        embedder.set_params(dropout=2.0)
    with pytest.raises(InvalidInput, match=r"no setting 'depth'; it has .*n_neighbors"):
        NeighbourEmbedder().set_params(depth=3)


@pytest.mark.parametrize("sparse", [csr_matrix, csc_matrix])
def test_sparse_cells_go_where_dense_ones_go(sparse):
    x, _ = counts()
    dense = NeighbourEmbedder(**QUICK)
    points = dense.fit_transform(x)
    other = NeighbourEmbedder(**QUICK)
    np.testing.assert_allclose(other.fit_transform(sparse(x)), points, atol=1e-8)
    new, _ = counts(40, seed=5)
    np.testing.assert_allclose(other.transform(sparse(new)), dense.transform(new), atol=1e-8)


def test_cells_may_come_as_matrix_table_or_annotated_and_tables_know_genes_by_name():
    x, _ = counts()
    genes = [f"G{i}" for i in range(30)]
    embedder = NeighbourEmbedder(**QUICK).fit(Cells(x, genes))
    expected = embedder.transform(Cells(x, genes))
    table = pd.DataFrame(x, columns=genes)[genes[::-1]]
    adata = anndata.AnnData(csr_matrix(x), var=pd.DataFrame(index=genes))
    for given in (table, adata):
        np.testing.assert_allclose(embedder.transform(given), expected, atol=1e-9)
    with pytest.raises(InvalidInput, match="lack 25 of the embedder's 25 genes"):
        embedder.transform(x)
    with pytest.raises(InvalidInput, match=r"shape \(cells, genes\), got \(30,\)"):
        embedder.transform(x[0])


def test_a_pipeline_goes_from_counts_to_classes_and_can_be_searched():
    x, y = counts()
    new, truth = counts(60, seed=7)
    pipeline = make_pipeline(NeighbourEmbedder(**QUICK), LorentzClassifier(C=10.0))
    assert pipeline.fit(csr_matrix(x), y).score(csr_matrix(new), truth) > 0.9
    assert pipeline[0].supervised, "a pipeline passes labels on, and the encoder says so"
    assert "NeighbourEmbedder" in pipeline._repr_html_()
    search = GridSearchCV(pipeline, {"neighbourembedder__n_neighbors": [5, 10]}, cv=2)
    assert search.fit(x, y).best_score_ > 0.9


def test_the_autoencoder_takes_a_matrix():
    pytest.importorskip("jax")
    x, _ = counts()
    embedder = clone(EMBEDDERS[1])
    points = embedder.fit_transform(csr_matrix(x))
    assert points.shape == (90, 2)
    np.testing.assert_allclose(embedder.transform(x), points, atol=1e-6)
