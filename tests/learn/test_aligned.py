"""A site's own classifier: cells are moved, then the study's model is asked; and a site that comes
after the study fits one of its own."""

import json

import numpy as np
import pytest

import fedhull
from fedhull import LorentzClassifier, load_model, save_model
from fedhull.disc.isometry import Isometry, rotation, translation
from fedhull.disc.maps import distance
from fedhull.errors import InvalidInput, OutsideDisc
from fedhull.learn.aligned import AlignedClassifier
from fedhull.learn.centres import class_centres
from fedhull.learn.model import model_from_json, model_to_json, published_model
from fedhull.learn.moment_classifier import MomentClassifier
from fedhull.learn.site_alignment import align_newcomer
from fedhull.learn.svm import EuclideanSVC

MOVE = translation([0.3, -0.1]) @ rotation(0.4)


@pytest.fixture(scope="module")
def data():
    made = fedhull.make_tree(600, lineages=3, seed=0)
    return 0.8 * made.x, made.y


def aligned(x, y, model=None, curvature=1.0):
    inner = (model or MomentClassifier(32, curvature=curvature)).fit(x, y)
    columns = np.searchsorted(inner.classes_, y)
    inner.aligned_to_ = class_centres(x, columns, len(inner.classes_), curvature)
    return AlignedClassifier(inner, MOVE, "lab-a", "ab" * 32)


# The classifier


@pytest.mark.parametrize("model", [MomentClassifier(32), LorentzClassifier(), EuclideanSVC()])
def test_it_is_the_model_after_the_isometry(data, model):
    x, y = data
    own = aligned(x, y, model)
    there = MOVE.inverse().apply(x)
    assert (own.predict(there) == own.model.predict(x)).mean() > 0.999
    for name in ("predict_proba", "decision_function"):
        assert hasattr(own, name) == hasattr(own.model, name)
        if hasattr(own, name):
            given = getattr(own.model, name)(own.moved(there))
            np.testing.assert_array_equal(getattr(own, name)(there), given)
    assert own.score(there, y) > 0.9
    assert (own.n_features_in_, own.curvature) == (2, 1.0)


def test_what_the_model_cannot_do_it_cannot_either(data):
    class Plain:
        classes_, n_features_in_ = np.array([0, 1]), 2

    assert not hasattr(AlignedClassifier(Plain(), MOVE), "predict_proba")


def test_isometry_and_model_must_be_of_one_ball(data):
    model = MomentClassifier(16, curvature=2.0).fit(data[0] / 2.0, data[1])
    with pytest.raises(InvalidInput, match="curvature 2, got 1"):
        AlignedClassifier(model, MOVE)
    with pytest.raises(InvalidInput, match="2 coordinates, got 3"):
        AlignedClassifier(model, Isometry(np.zeros(3), np.eye(3), 2.0))


def test_points_that_are_not_the_models_are_refused(data):
    own = aligned(*data)
    with pytest.raises(OutsideDisc):
        own.predict([[2.0, 0.0]])
    with pytest.raises(InvalidInput):
        own.predict([[0.1, 0.2, 0.3]])


# Its file


def test_its_file_says_for_whose_cells_it_is_and_gives_it_back(data, tmp_path):
    x, y = data
    own = aligned(x, y)
    save_model(own, tmp_path / "model.json", encoder="cd" * 32)
    content = json.loads((tmp_path / "model.json").read_text())
    assert (content["kind"], content["site"], content["study"]) == ("aligned", "lab-a", "ab" * 32)
    again = load_model(tmp_path / "model.json")
    assert (again.site, again.study, again.encoder_) == ("lab-a", "ab" * 32, "cd" * 32)
    np.testing.assert_array_equal(again.predict_proba(x), own.predict_proba(x))
    assert (again.aligned_to_.packed() == own.aligned_to_.packed()).all()
    save_model(again, tmp_path / "again.json")
    assert (tmp_path / "again.json").read_bytes() == (tmp_path / "model.json").read_bytes()


def test_what_is_inside_is_the_file_of_a_model(data):
    own = aligned(*data)
    content = model_to_json(own)
    inner = model_from_json(content["model"])
    assert (inner.predict(data[0]) == own.model.predict(data[0])).all()
    assert "isometry" not in content["model"]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"isometry": {}}, "exactly curvature, shift and turn"),
        (
            {"isometry": {"curvature": 1.0, "shift": [2.0, 0.0], "turn": [[1, 0], [0, 1]]}},
            "damaged",
        ),
        ({"isometry": {"curvature": 2.0, "shift": [0.0, 0.0], "turn": [[1, 0], [0, 1]]}}, "curvat"),
        ({"isometry": {"curvature": 1.0, "shift": "x", "turn": [[1, 0], [0, 1]]}}, "damaged"),
        ({"isometry": 3}, "damaged"),
        ({"site": 3}, "damaged"),
        ({"more": 3}, "damaged"),
        ({"version": 2}, "version 2"),
        ({"format": "x"}, "not a fedhull model"),
        ({"model": {}}, "not a fedhull model"),
    ],
)
def test_damaged_files_are_refused_in_a_sentence(data, change, words):
    with pytest.raises(InvalidInput, match=words):
        model_from_json(model_to_json(aligned(*data)) | change, "model.json")


def test_it_cannot_be_nested_nor_published(data):
    content = model_to_json(aligned(*data))
    with pytest.raises(InvalidInput, match="kind"):
        model_from_json(content | {"model": content})
    with pytest.raises(InvalidInput, match="kind"):
        published_model(json.dumps(content).encode())


@pytest.mark.parametrize(
    "centres",
    [[], [[1, 2]], [[1, 2, 3, 4]], [[5, 0, 0, 0]] * 4, [[-1, 0, 0, 0]] * 4, [[2**63, 0, 0, 0]] * 4,
     [[0, 1, 0, 0]] * 4, "x"],
)  # fmt: skip
def test_centres_that_no_cells_have_are_refused(data, centres):
    own = aligned(*data)
    content = model_to_json(own.model, centres=own.aligned_to_)
    assert model_from_json(content).aligned_to_.counts.sum() == len(data[1])
    with pytest.raises(InvalidInput, match="damaged"):
        model_from_json(content | {"aligned_to": centres}, "model.json")


# A site that comes after the study


def few(data, per_class, seed=0):
    """Some cells of each class, as the new site has measured them."""
    x, y = data
    rng = np.random.default_rng(seed)
    chosen = [rng.choice(np.flatnonzero(y == c), per_class, replace=False) for c in np.unique(y)]
    which = np.concatenate(chosen)
    return MOVE.inverse().apply(x[which]), y[which]


@pytest.mark.parametrize("own", [True, False])
def test_a_new_site_finds_its_isometry_from_a_few_labelled_cells(data, own):
    model = aligned(*data)
    x, y = few(data, 25)
    found = align_newcomer(x, y, model if own else model.model)
    assert found.misfit < 0.5 * found.before
    assert found.classes == tuple(np.unique(y))
    apart = distance(found.isometry.apply(x), MOVE.apply(x))
    assert apart.mean() < 0.25
    assert not found.isometry.reflects
    there = MOVE.inverse().apply(data[0])
    fitted = AlignedClassifier(model.model, found.isometry)
    assert fitted.score(there, data[1]) > model.model.score(there, data[1]) + 0.05


def test_more_cells_than_the_study_had_are_as_good(data):
    model = aligned(*data)
    there = MOVE.inverse().apply(data[0])
    x, y = np.vstack((there, there)), np.concatenate((data[1], data[1]))
    found = align_newcomer(x, y, model)
    assert distance(found.isometry.apply(x), MOVE.apply(x)).mean() < 0.05


def test_numbers_as_names_are_recognised_however_a_file_writes_them(data):
    _, numbers = np.unique(data[1], return_inverse=True)
    x, y = few((data[0], numbers), 10)
    model = aligned(data[0], numbers)
    assert align_newcomer(x, y.astype(str), model).classes == ("0", "1", "2", "3")


@pytest.mark.parametrize(
    ("labels", "words"),
    [
        (["alpha"] * 8, "labels must be classes of the model, .*, but 'alpha' is not"),
        (["stem"] * 8, "at least 2 classes .* got 1: stem"),
        (["stem"] * 6 + ["lineage-1"] * 2, "3 labelled cells or more, got 'lineage-1 2, stem 6'"),
    ],
)
def test_labels_that_fix_nothing_are_refused_in_a_sentence(data, labels, words):
    with pytest.raises(InvalidInput, match=words):
        align_newcomer(data[0][:8], labels, aligned(*data))


def test_a_model_without_centres_is_refused_in_a_sentence(data):
    model = MomentClassifier(16).fit(*data)
    with pytest.raises(InvalidInput, match="no class centres to align to"):
        align_newcomer(*few(data, 5), model)
    with pytest.raises(InvalidInput, match="2 coordinates"):
        align_newcomer([[0.1, 0.2, 0.3]] * 8, ["stem"] * 8, aligned(*data))
