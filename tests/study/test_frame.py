"""Studies with an encoder: every site places its own cells, all in one frame."""

import anndata
import numpy as np
import pytest
from conformance import agree, in_memory
from federations import draft
from scipy.sparse import csr_matrix

from fedhull.embed.cells import Cells
from fedhull.embed.neighbours import NeighbourEmbedder
from fedhull.errors import InvalidInput
from fedhull.kits.consent import use
from fedhull.kits.kit import Kit
from fedhull.kits.provision import make_kits
from fedhull.study.frame import load_points
from fedhull.study.task import Source

NAMES = ["lab-a", "lab-b", "lab-c"]
GENES = [f"G{i}" for i in range(30)]


def counts(n, seed):
    """Cells of six kinds, each with genes of its own."""
    rng = np.random.default_rng(seed)
    kind = np.arange(n) % 6
    x = rng.poisson(1.0, (n, 30))
    for k in range(6):
        x[kind == k, 5 * k : 5 * k + 5] += rng.poisson(8.0, ((kind == k).sum(), 5))
    return x, np.array([f"kind {k}" for k in kind])


@pytest.fixture(scope="module")
def encoder():
    return NeighbourEmbedder().fit(Cells(counts(300, seed=9)[0], GENES))


@pytest.fixture
def kits(tmp_path, encoder):
    return make_kits(draft(NAMES), tmp_path / "kits", attached=encoder.to_bytes()).folder


@pytest.fixture
def cells(tmp_path):
    files = {}
    for seed, name in enumerate(NAMES):
        x, kind = counts(180, seed)
        adata = anndata.AnnData(csr_matrix(x.astype(np.float32)))
        adata.var_names = GENES
        adata.obs["label"] = kind
        files[name] = tmp_path / f"{name}.h5ad"
        adata.write_h5ad(files[name])
    return files


def test_sites_that_place_their_cells_by_one_encoder_learn_one_classifier(kits, cells):
    outcome = in_memory(kits, cells)
    assert outcome.counts.accuracy > 90


def test_the_hash_of_the_encoder_stands_in_the_study_and_the_file_in_every_kit(kits, encoder):
    for name in ("server", *NAMES):
        kit = Kit.open(kits / name)
        assert kit.study.embedding.encoder == encoder.hash
        assert kit.task.encoder.to_bytes() == encoder.to_bytes()


def test_another_encoder_is_refused(kits, encoder):
    other = NeighbourEmbedder(seed=1).fit(Cells(counts(60, seed=3)[0], GENES))
    other.save(kits / "lab-a" / "encoder.npz")
    with pytest.raises(InvalidInput, match="not the study's encoder"):
        Kit.open(kits / "lab-a").task  # noqa: B018
    (kits / "lab-a" / "encoder.npz").unlink()
    with pytest.raises(InvalidInput, match=r"encoder\.npz is missing"):
        Kit.open(kits / "lab-a").task  # noqa: B018


def test_points_of_the_same_encoder_are_taken_from_the_file_and_others_are_not(cells, encoder):
    adata = anndata.read_h5ad(cells["lab-a"])
    placed = load_points(encoder, str(cells["lab-a"]), "label").points
    adata.obsm["X_poincare"] = np.zeros((180, 2))
    adata.uns["poincare"] = {"encoder_hash": encoder.hash}
    adata.write_h5ad(cells["lab-b"])
    assert not load_points(encoder, str(cells["lab-b"]), "label")[0].any()
    adata.uns["poincare"] = {"encoder_hash": "0" * 64}
    adata.write_h5ad(cells["lab-b"])
    assert np.array_equal(load_points(encoder, str(cells["lab-b"]), "label")[0], placed)


def test_consent_covers_cells_and_layer(kits, cells):
    kit, data = agree(kits, "lab-a", cells), str(cells["lab-a"])
    assert use(kit, kit.results("run")).prepared == kit.task.read(Source(data)).prepared
    with pytest.raises(InvalidInput, match="no layers"):
        kit.task.read(Source(data, layer="nope"))
    with pytest.raises(InvalidInput, match="--layer is for studies with an encoder"):
        load_points(None, data, "label", "counts")


def test_an_encoder_that_does_not_fit_the_study_is_refused(tmp_path, encoder):
    curved = NeighbourEmbedder(curvature=2.0).fit(Cells(counts(60, seed=3)[0], GENES))
    with pytest.raises(InvalidInput, match="the encoder has curvature 2"):
        make_kits(draft(NAMES), tmp_path / "a", attached=curved.to_bytes())
    named = draft(NAMES).replace("[clients]", f'[embedding]\nencoder = "{encoder.hash}"\n[clients]')
    with pytest.raises(InvalidInput, match="--encoder FILE"):
        make_kits(named, tmp_path / "b")
