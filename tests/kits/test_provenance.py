"""What stands on the model files of a study: where they come from, and their encoder."""

import re

import anndata
import numpy as np
import pytest
from conformance import agree, in_memory, learned
from federations import draft
from pandas import crosstab
from restarting import Restarting

import fedhull
from fedhull import Cells, NeighbourEmbedder, load_model, tl
from fedhull.kits.kit import Kit
from fedhull.kits.participant import coordinate
from fedhull.kits.provision import make_kits
from fedhull.learn.model import model_to_json

NAMES = ["lab-a", "lab-b", "lab-c"]
GENES = [f"G{i}" for i in range(30)]


def counts(n, seed):
    rng = np.random.default_rng(seed)
    kind = np.arange(n) % 6
    x = rng.poisson(1.0, (n, 30))
    for k in range(6):
        x[kind == k, 5 * k : 5 * k + 5] += rng.poisson(8.0, ((kind == k).sum(), 5))
    return x, np.array([f"kind {k}" for k in kind])


@pytest.fixture(scope="module")
def encoder():
    return NeighbourEmbedder(steps=50).fit(Cells(counts(300, seed=9)[0], GENES))


@pytest.fixture(scope="module")
def study(encoder, tmp_path_factory):
    """A study with an encoder that has come to its end, and what the memory engine makes of it."""
    folder = tmp_path_factory.mktemp("study")
    kits = make_kits(draft(NAMES), folder / "kits", attached=encoder.to_bytes()).folder
    data = {name: folder / f"{name}.npz" for name in NAMES}
    for seed, file in enumerate(data.values()):
        x, y = counts(180, seed)
        np.savez(file, x=x, y=y, genes=np.array(GENES))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(folder / "state"))
        for name in NAMES:
            agree(kits, name, data)
        expected = model_to_json(in_memory(kits, data).model, encoder.hash)
        sites = Restarting(kits, NAMES)
        coordinate(Kit.open(kits / "server"), "run", sites, 1.0, lambda step: None)
    return kits, expected


@pytest.fixture
def cells():
    x, kind = counts(120, seed=20)
    adata = anndata.AnnData(x.astype(np.float32))
    adata.var_names = GENES
    adata.obs["kind"] = kind
    return adata


def file_of(kits, name):
    return kits / name / "results" / "run" / "model.json"


@pytest.mark.parametrize("name", ["server", "lab-b"])
def test_a_model_file_says_where_it_comes_from(study, name):
    kits, _ = study
    model, agreed = load_model(file_of(kits, name)), Kit.open(kits / "server").study
    said = model.provenance_
    assert (said.study, said.study_hash) == ("A test", agreed.hash.hex())
    assert (said.summary, said.sites, said.survivors) == ("hulls", 3, NAMES)
    assert (said.accuracy, said.cells) == (model.judged_.accuracy, model.judged_.cells)
    assert said.fedhull == fedhull.__version__
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", said.date)


def test_apart_from_that_the_file_is_the_memory_engines(study, encoder):
    kits, expected = study
    found = learned(file_of(kits, "server"))
    assert found.pop("encoder_file")
    assert found == expected


@pytest.mark.parametrize("name", ["server", "lab-b"])
def test_a_model_file_and_counts_are_all_that_a_new_user_needs(study, name, cells, encoder):
    kits, _ = study
    model = load_model(file_of(kits, name))
    assert model.encoder_file_ == encoder.to_bytes()
    tl.predict(cells, file_of(kits, name))
    # the coordinator does not know what sites call their classes
    table = crosstab(cells.obs["fedhull_label"], cells.obs["kind"])
    assert table.max(axis=1).sum() > 0.8 * len(cells)
    assert set(table.index) <= set(map(str, model.classes_)) | {"unassigned"}
    assert set(table.columns) == {f"kind {i}" for i in range(6)}
