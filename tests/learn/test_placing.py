"""Models that are asked about AnnData objects, and model files that carry what that takes."""

import base64
import json

import anndata
import numpy as np
import pandas as pd
import pytest

from fedhull import (
    Cells,
    HardMarginGeodesic,
    LorentzClassifier,
    MomentClassifier,
    NeighbourEmbedder,
    PoincareSVC,
    load_model,
    save_model,
    simulate,
    tl,
    unassigned,
)
from fedhull.disc.isometry import rotation
from fedhull.errors import InvalidInput
from fedhull.learn.aligned import AlignedClassifier
from fedhull.learn.content import MOST_BYTES, Carried, Provenance
from fedhull.learn.model import published_model
from fedhull.learn.svm import EuclideanSVC

GENES = [f"G{i}" for i in range(30)]
PROVENANCE = Provenance(
    study="lung", study_hash="ab" * 32, summary="hulls", sites=3, survivors=["north", "south"],
    accuracy=91.5, cells=200, fedhull="0.1.0", date="2026-01-31",
)  # fmt: skip


def make_cells(n=90, seed=0):
    rng = np.random.default_rng(seed)
    kind = np.arange(n) % 3
    x = rng.poisson(1.0, (n, 30)).astype(np.float32)
    for k in range(3):
        x[kind == k, 10 * k : 10 * k + 10] += 6
    obs = pd.DataFrame(
        {"kind": np.array(["a/1", "b", "c"])[kind]}, index=[f"c{i}" for i in range(n)]
    )
    return anndata.AnnData(x, obs=obs, var=pd.DataFrame(index=GENES))


@pytest.fixture(scope="module")
def encoder():
    settings = {"n_genes": 25, "n_components": 5, "steps": 50}
    return NeighbourEmbedder(**settings).fit(make_cells())


@pytest.fixture
def model(encoder):
    adata = make_cells()
    made = LorentzClassifier(C=10.0).fit(encoder.transform(adata), adata.obs["kind"].to_numpy())
    made.encoder_, made.encoder_file_ = encoder.hash, encoder.to_bytes()
    return made


@pytest.mark.parametrize(
    "kind", [LorentzClassifier, PoincareSVC, EuclideanSVC, MomentClassifier, HardMarginGeodesic]
)
def test_every_classifier_takes_cells_and_places_them_by_the_encoder_it_carries(kind, encoder):
    adata = make_cells()
    points, y = encoder.transform(adata), adata.obs["kind"].to_numpy()
    if kind is HardMarginGeodesic:
        y = np.where(points[:, 0] > np.median(points[:, 0]), "right", "left")
        points = points + np.where(y == "right", 0.3, -0.3)[:, None] * [1, 0]
        points /= 2
    made = kind().fit(points, y)
    made.encoder_, made.encoder_file_ = encoder.hash, encoder.to_bytes()
    new = make_cells(60, seed=4)
    expected = made.predict(encoder.transform(new))
    assert made.predict(new).tolist() == expected.tolist()


def test_probabilities_and_what_is_far_are_told_of_cells_too(model, encoder):
    new = make_cells(60, seed=4)
    points = encoder.transform(new)
    assert np.array_equal(model.predict_proba(new), model.predict_proba(points))
    assert unassigned(model, new).tolist() == [False] * 60
    turned = AlignedClassifier(model, rotation(1.0))
    assert turned.predict(new).tolist() == turned.predict(points).tolist()


def test_points_of_the_right_encoder_are_taken_and_others_are_not(model, encoder):
    new = make_cells(60, seed=4)
    tl.poincare(new, encoder=encoder)
    new.obsm["X_poincare"] = -new.obsm["X_poincare"]
    assert model.predict(new).tolist() == model.predict(-encoder.transform(new)).tolist()
    new.uns["poincare"]["encoder_hash"] = "cd" * 32
    assert model.predict(new).tolist() == model.predict(encoder.transform(new)).tolist()
    model.encoder_file_ = None
    with pytest.raises(InvalidInput, match=f"from the encoder {encoder.hash}.*encoder.npz"):
        model.predict(new)
    model.encoder_ = None
    assert model.predict(new).tolist() == model.predict(new.obsm["X_poincare"]).tolist()
    del new.obsm["X_poincare"]
    with pytest.raises(InvalidInput, match="does not say which encoder"):
        model.predict(new)


def test_values_that_are_no_counts_are_refused_for_an_encoder_of_counts(model):
    new = make_cells()
    new.layers["raw"] = new.X.copy()
    new.X = np.log1p(new.X)
    with pytest.raises(InvalidInput, match=r"raw counts.*--layer"):
        model.predict(new)
    tl.predict(new, model, layer="raw")
    assert (new.obs["fedhull_label"] == new.obs["kind"]).mean() > 0.9


def test_a_file_carries_encoder_and_provenance_and_keeps_them(model, encoder, tmp_path):
    model.provenance_ = PROVENANCE
    new = make_cells(60, seed=4)
    for name, each in (("m.json", model), ("own.json", AlignedClassifier(model, rotation(1.0)))):
        save_model(each, tmp_path / name)
        again = load_model(tmp_path / name)
        assert again.provenance_ == PROVENANCE
        assert again.encoder_file_ == encoder.to_bytes()
        assert again.predict(new).tolist() == each.predict(new).tolist()
        save_model(again, tmp_path / "again.json")
        assert (tmp_path / "again.json").read_bytes() == (tmp_path / name).read_bytes()
    again.provenance_ = again.encoder_file_ = None
    save_model(again, tmp_path / "bare.json")
    assert (
        not {"provenance", "encoder_file"} & json.loads((tmp_path / "bare.json").read_text()).keys()
    )


def test_an_encoder_that_is_too_large_is_left_out():
    large = Carried(encoder_file=bytes(MOST_BYTES + 1))
    assert large.added_to({}) == {}


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"encoder_file": base64.b64encode(b"other").decode()}, "its encoder is not the one"),
        ({"encoder_file": "%"}, "encoder_file"),
        ({"provenance": {"study": "x"}}, "provenance"),
        ({"provenance": []}, "provenance"),
    ],
)
def test_a_file_whose_extras_are_damaged_is_refused(model, tmp_path, change, words):
    save_model(model, tmp_path / "m.json")
    content = json.loads((tmp_path / "m.json").read_text()) | change
    (tmp_path / "m.json").write_text(json.dumps(content))
    with pytest.raises(InvalidInput, match=f"m.json is damaged: .*{words}"):
        load_model(tmp_path / "m.json")


def test_a_server_can_publish_neither(model, tmp_path):
    model.classes_ = np.arange(3)
    model.provenance_ = PROVENANCE
    save_model(model, tmp_path / "m.json")
    with pytest.raises(InvalidInput, match=r"unknown field `(provenance|encoder_file)`"):
        published_model((tmp_path / "m.json").read_bytes())


def test_predictions_are_written_into_the_object(model, encoder):
    new = make_cells(60, seed=4)
    assert tl.predict(new, model) is None
    points = encoder.transform(new)
    assert new.obs["fedhull_label"].tolist() == model.predict(points).tolist()
    sure = new.obsm["fedhull_probabilities"]
    assert list(sure.columns) == ["a|1", "b", "c"], "a / would be a folder in an .h5ad"
    assert list(sure.index) == list(new.obs_names)
    np.testing.assert_array_equal(sure.to_numpy(), model.predict_proba(points))
    assert new.obs["fedhull_probability"].tolist() == sure.max(axis=1).tolist()
    assert np.array_equal(new.obsm["X_poincare"], points)
    assert new.uns["poincare"]["encoder_hash"] == encoder.hash


def test_a_copy_leaves_the_original_and_other_points_stay_in_their_place(model, tmp_path):
    new = make_cells(60, seed=4)
    new.obsm["X_poincare"] = np.zeros((60, 2))
    save_model(model, tmp_path / "m.json")
    made = tl.predict(new, tmp_path / "m.json", copy=True)
    assert "fedhull_label" not in new.obs
    assert not made.obsm["X_poincare"].any()
    assert made.obsm["X_fedhull"].any()
    assert made.uns["fedhull"]["encoder_hash"] == model.encoder_


def test_cells_that_no_class_is_probable_enough_for_are_unassigned(model):
    new = make_cells(60, seed=4)
    tl.predict(new, model, unassigned=1.0)
    assert set(new.obs["fedhull_label"]) == {"unassigned"}
    assert new.obs["fedhull_probability"].min() > 0.3, "how probable the best class is, is kept"
    with pytest.raises(InvalidInput, match="between 0 and 1, got 7"):
        tl.predict(new, model, unassigned=7)


def test_two_groups_of_one_name_are_one_column(model):
    model.classes_ = np.array(["b", "b", "c"])
    new = make_cells(60, seed=4)
    tl.predict(new, model)
    sure = new.obsm["fedhull_probabilities"]
    assert list(sure.columns) == ["b", "c"]
    np.testing.assert_allclose(sure.sum(axis=1), 1.0)


def test_simulate_takes_annotated_cells_in_the_disc_and_raw_ones():
    adata = make_cells(240)
    adata.obs["donor"] = np.repeat(["n", "s"], 120)
    raw = simulate(adata, label="kind", clients=2, epsilon=0.1, partition="column:donor")
    assert (raw.model.predict(adata) == adata.obs["kind"]).mean() > 0.8
    assert raw.settings["frame"] == "pooled"
    tl.poincare(adata, curvature=4.0, steps=50)
    placed = simulate(adata, label="kind", clients=3, epsilon=0.1)
    assert placed.settings["curvature"] == 4.0
    same = simulate(
        adata.obsm["X_poincare"],
        adata.obs["kind"].to_numpy(),
        clients=3,
        epsilon=0.1,
        curvature=4.0,
    )
    assert placed.accuracy == same.accuracy


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({}, "label must name the column of obs with the classes; there is kind"),
        ({"label": "type"}, r"no obs\['type'\], only kind"),
        ({"label": "kind", "y": ["a"] * 90}, "y must be left out"),
        ({"label": "kind", "partition": "column:x"}, r"no obs\['x'\]"),
    ],
)
def test_simulate_says_what_an_annotated_object_lacks(given, words):
    with pytest.raises(InvalidInput, match=words):
        simulate(make_cells(), clients=3, epsilon=0.1, **given)


def test_simulate_of_points_wants_labels():
    with pytest.raises(InvalidInput, match="y must hold a label for each point"):
        simulate(np.zeros((9, 2)), clients=3, epsilon=0.1)


def test_cells_given_as_such_are_placed_as_well(model, encoder):
    adata = make_cells(60, seed=4)
    cells = Cells(adata.X, GENES)
    assert model.predict(encoder.transform(cells)).tolist() == model.predict(adata).tolist()
