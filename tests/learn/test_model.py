"""Model files: JSON that round-trips, and names in a client's own words."""

import json

import numpy as np
import pytest

import fedhull
from fedhull import LorentzClassifier, PoincareSVC, load_model, save_model
from fedhull.errors import InvalidInput
from fedhull.learn.model import model_to_json, named_model, published_names
from fedhull.learn.svm import EuclideanSVC

MODELS = [
    LorentzClassifier(C=10.0),
    LorentzClassifier(C=10.0, fit_intercept=False),
    PoincareSVC(C=10.0),
    EuclideanSVC(),
]


@pytest.mark.parametrize("model", MODELS, ids=str)
@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("names", [int, str])
def test_save_and_load_round_trip(model, n_classes, names, tmp_path):
    data = fedhull.make_tree(300, lineages=n_classes - 1, seed=0)
    _, y = np.unique(data.y, return_inverse=True)
    model.fit(data.x, y.astype(names))
    save_model(model, tmp_path / "model.json")
    again = load_model(tmp_path / "model.json")
    assert again.predict(data.x).tolist() == model.predict(data.x).tolist()
    np.testing.assert_array_equal(again.predict_proba(data.x), model.predict_proba(data.x))
    json.loads((tmp_path / "model.json").read_text())


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("junk", "not JSON"),
        ("[]", "not a fedhull model"),
        ('{"format": "other"}', "not a fedhull model"),
        ('{"format": "fedhull-model", "version": 99}', "version 99"),
        ('{"format": "fedhull-model", "version": 1, "kind": "lorentz"}', "damaged"),
        ('{"format": "fedhull-model", "version": 1, "kind": "os.system"}', "damaged"),
    ],
)
def test_a_bad_file_is_refused_in_a_sentence(content, words, tmp_path):
    path = tmp_path / "model.json"
    path.write_text(content)
    with pytest.raises(InvalidInput, match=words):
        load_model(path)
    with pytest.raises(InvalidInput, match="No such file"):
        load_model(tmp_path / "nothing.json")


def test_clients_name_the_global_classes_in_their_own_words():
    model = LorentzClassifier(C=10.0).fit([[0.5, 0.0], [-0.5, 0.0], [0.0, 0.5]], [0, 1, 2])
    published = json.dumps(model_to_json(model, {4: 2, 5: 0, 9: 1, 8: 0})).encode()
    # a client that sent "B cell" under label 4 and "T cell" under label 5, and has no third class
    names = published_names(published, [4, 5], ["B cell", "T cell"])
    assert names == {2: "B cell", 0: "T cell"}
    predicted = named_model(published, names).predict([[0.5, 0.0], [-0.5, 0.0], [0.0, 0.5]])
    assert predicted.tolist() == ["T cell", "class 2", "B cell"]
