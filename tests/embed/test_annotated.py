"""AnnData in, AnnData out: tl.poincare, tl.align."""

import anndata
import numpy as np
import pytest
from oracles import reflection
from scipy.sparse import csr_matrix

from fedhull import tl
from fedhull.disc.isometry import translation
from fedhull.embed.embedder import load_embedder
from fedhull.embed.neighbours import NeighbourEmbedder
from fedhull.errors import InvalidInput


def cells(n=90, seed=0):
    rng = np.random.default_rng(seed)
    kind = np.arange(n) % 3
    x = rng.poisson(1.0, (n, 30))
    for k in range(3):
        x[kind == k, 10 * k : 10 * k + 10] += 6
    adata = anndata.AnnData(csr_matrix(x.astype(np.float32)))
    adata.var_names = [f"G{i}" for i in range(30)]
    adata.obs_names = [f"cell {seed} {i}" for i in range(n)]
    adata.obs["kind"] = np.array(["a", "b", "c"])[kind]
    return adata


def test_points_and_what_is_to_be_known_of_them_are_written_and_survive_the_file(tmp_path):
    adata = cells()
    assert tl.poincare(adata, label="kind", seed=1) is None
    adata.write_h5ad(tmp_path / "a.h5ad")
    said = anndata.read_h5ad(tmp_path / "a.h5ad").uns["poincare"]
    assert adata.obsm["X_poincare"].shape == (90, 2)
    assert (said["method"], said["curvature"], said["supervised"]) == ("neighbours", 1.0, False)
    assert len(said["encoder_hash"]) == 64
    assert said["quality"]["knn_disc"] > 90


def test_a_copy_leaves_the_original_as_it_was():
    adata = cells()
    made = tl.poincare(adata, copy=True, key_added="X_mine")
    assert "X_mine" in made.obsm
    assert "mine" in made.uns
    assert not adata.obsm
    assert not adata.uns


def test_others_cells_are_placed_in_the_frame_of_an_encoder(tmp_path):
    adata, other = cells(), cells(seed=5)
    encoder = NeighbourEmbedder().fit(tl.cells_of(adata))
    encoder.save(tmp_path / "encoder.npz")
    tl.poincare(other, encoder=tmp_path / "encoder.npz")
    assert np.array_equal(other.obsm["X_poincare"], encoder.transform(tl.cells_of(other)))
    assert other.uns["poincare"]["encoder_hash"] == load_embedder(tmp_path / "encoder.npz").hash
    assert not other.uns["poincare"]["fitted_here"]


def test_layers_and_representations_can_be_used():
    adata = cells()
    adata.layers["counts"] = adata.X.copy()
    adata.obsm["X_pca"] = np.random.default_rng(0).normal(size=(90, 5))
    plain = tl.poincare(adata, copy=True).obsm["X_poincare"]
    assert np.array_equal(tl.poincare(adata, layer="counts", copy=True).obsm["X_poincare"], plain)
    other = tl.poincare(adata, use_rep="X_pca", copy=True)
    assert not np.array_equal(other.obsm["X_poincare"], plain)
    assert other.uns["poincare"]["n_genes"] == 5


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"layer": "nope"}, r"no layers\['nope'\]"),
        ({"use_rep": "X_nope"}, r"no obsm\['X_nope'\]"),
        ({"label": "nope"}, r"no obs\['nope'\], only kind"),
        ({"method": "umap"}, "method must be one of autoencoder, neighbours"),
        ({"wings": 2}, "no setting 'wings'"),
        ({"supervised": True}, "labels must be given"),
    ],
)
def test_mistakes_get_a_sentence(options, sentence):
    with pytest.raises(InvalidInput, match=sentence):
        tl.poincare(cells(), **options)


def test_alignment_by_cells_and_by_classes_undoes_an_isometry():
    reference = cells()
    tl.poincare(reference)
    moved = translation([0.2, -0.1]) @ reflection()
    for label in (None, "kind"):
        turned = reference.copy()
        turned.obsm["X_poincare"] = moved.apply(reference.obsm["X_poincare"])
        found = tl.align(turned, reference, label=label)
        assert found.misfit < 1e-6 < found.before
        assert np.allclose(turned.obsm["X_poincare"], reference.obsm["X_poincare"], atol=1e-6)
        assert turned.uns["poincare"]["alignment"]["pairs"] == (90 if label is None else 3)
        assert "encoder_hash" not in turned.uns["poincare"]


def test_without_anything_in_common_nothing_is_aligned():
    one, two = cells(), cells(seed=1)
    tl.poincare(one)
    tl.poincare(two)
    with pytest.raises(InvalidInput, match="at least 3 cells of the same name"):
        tl.align(one, two)
