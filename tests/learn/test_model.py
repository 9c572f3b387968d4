"""Model files: JSON that round-trips, and names in a client's own words."""

import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import fedhull
from fedhull import LorentzClassifier, PoincareSVC, load_model, save_model
from fedhull.errors import InvalidInput
from fedhull.learn.model import model_from_json, model_to_json, published_model
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


MODELS = Path(__file__).parent.parent / "fixtures" / "models"
EXPECTED = json.loads((MODELS / "predictions.json").read_text())


@pytest.mark.parametrize("name", EXPECTED)
def test_files_give_the_predictions_that_they_were_written_with(name):
    model, expected = load_model(MODELS / f"{name}.json"), EXPECTED[name]
    assert model.predict(expected["points"]).tolist() == expected["classes"]
    np.testing.assert_allclose(
        model.predict_proba(expected["points"]), expected["probabilities"], rtol=1e-12
    )
    assert model.encoder_ == ("ab" * 32 if name == "lorentz" else None)


@pytest.mark.parametrize("name", EXPECTED)
def test_files_are_still_written_as_they_were(name, tmp_path):
    save_model(load_model(MODELS / f"{name}.json"), tmp_path / "model.json")
    assert (tmp_path / "model.json").read_bytes() == (MODELS / f"{name}.json").read_bytes()


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("junk", "not JSON"),
        ('{"format": NaN}', "not JSON"),
        ("[]", "not a fedhull model"),
        ('{"format": "other"}', "not a fedhull model"),
        ('{"format": "fedhull-model", "version": 99}', "version 99"),
        ('{"format": "fedhull-model", "version": 1}', "kind .* None; it must be one of"),
        ('{"format": "fedhull-model", "version": 1, "kind": []}', "kind .* one of"),
        (
            '{"format": "fedhull-model", "version": 1, "kind": "lorentz"}',
            "damaged.*missing required field",
        ),
        ('{"format": "fedhull-model", "version": 1, "kind": "os.system"}', "'os.system'.*lorentz"),
    ],
)
def test_a_bad_file_is_refused_in_a_sentence(content, words, tmp_path):
    path = tmp_path / "model.json"
    path.write_text(content)
    with pytest.raises(InvalidInput, match=f"^{re.escape(str(path))} .*{words}"):
        load_model(path)
    with pytest.raises(InvalidInput, match="No such file"):
        load_model(tmp_path / "nothing.json")


LORENTZ, POINCARE, EUCLIDEAN = "lorentz", "poincare-svm", "euclidean-svm"


@pytest.mark.parametrize(
    ("name", "place", "value", "words"),
    [
        (LORENTZ, ["coef"], None, "`coef`"),
        (LORENTZ, ["coef"], [[1.0]], r"coef must have shape \(3, 4\), got \(1, 1\)"),
        (LORENTZ, ["coef"], [[1.0], [2.0, 3.0]], "coef must have shape .* rows differ"),
        (LORENTZ, ["coef", 1, 2], "far", r"`float`, got `str` - at `coef\[1\]\[2\]`"),
        (LORENTZ, ["coef", 1, 2], float("nan"), "coef must be finite"),
        (LORENTZ, ["intercept"], [0.0], r"intercept must have shape \(4,\)"),
        (LORENTZ, ["intercept", 0], float("inf"), "intercept must be finite"),
        (LORENTZ, ["classes"], ["a"], "length >= 2 - at `classes`"),
        (LORENTZ, ["classes"], ["a", 1, "b", "c"], "classes must be of one type"),
        (LORENTZ, ["dimension"], 0, "`int` >= 1 - at `dimension`"),
        (LORENTZ, ["dimension"], 3, r"coef must have shape \(4, 4\)"),
        (LORENTZ, ["curvature"], 0.0, "curvature must be a number k > 0"),
        (LORENTZ, ["curvature"], float("nan"), "curvature must be a number k > 0"),
        (LORENTZ, ["encoder"], "no hash", "`encoder`"),
        (LORENTZ, ["more"], 1, "unknown field `more`"),
        (POINCARE, ["scorers"], [], "scorers must be 4 for 4 classes, got 0"),
        (POINCARE, ["scorers", 1, "p"], [0.0], r"p of scorers\[1\] must have shape \(2,\)"),
        (POINCARE, ["scorers", 1, "p"], [9.0, 0.0], "p of scorers must lie inside"),
        (POINCARE, ["scorers", 1, "curvature"], 0.5, "curvature of the model, 0.25"),
        (POINCARE, ["scorers", 0, "a"], float("inf"), r"a and b of scorers\[0\] must be finite"),
        (EUCLIDEAN, ["scorers", 3, "w"], [0.0] * 3, r"w of scorers\[3\] must have shape"),
        (EUCLIDEAN, ["scorers", 3, "intercept"], "x", "`intercept`|`scorers.*intercept`"),
    ],
)
def test_a_damaged_field_is_named(name, place, value, words):
    content = json.loads((MODELS / f"{name}.json").read_text())
    part = content
    for key in place[:-1]:
        part = part[key]
    if value is None:
        del part[place[-1]]
    else:
        part[place[-1]] = value
    with pytest.raises(InvalidInput, match=f"^model.json is damaged: .*{words}"):
        model_from_json(content, "model.json")


def test_only_classifiers_that_can_be_named_are_saved(tmp_path):
    class Mine(LorentzClassifier):
        pass

    x, y = [[0.5, 0.0], [-0.5, 0.0]], [0, 1]
    for model in (Mine(), fedhull.HardMarginGeodesic()):
        with pytest.raises(InvalidInput, match="cannot be saved as a model file: only"):
            save_model(model.fit(x, y), tmp_path / "model.json")
    assert not list(tmp_path.iterdir())


def test_a_missing_file_is_noticed_before_anything_slow_is_imported(tmp_path):
    code = (
        "import sys\nfrom fedhull.learn.model import load_model\n"
        "try:\n    load_model('nothing.json')\n"
        "except ValueError:\n    print([m for m in ('sklearn', 'scipy', 'numba') if m in "
        "sys.modules])"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"


def test_a_published_model_numbers_its_classes():
    points = [[0.5, 0.0], [-0.5, 0.0]]
    numbered = LorentzClassifier(C=10.0).fit(points, [0, 1])
    raw = json.dumps(model_to_json(numbered)).encode()
    assert published_model(raw).predict(points).tolist() == [0, 1]
    with pytest.raises(InvalidInput, match="the published model cannot be read"):
        published_model(b"{")
    named = LorentzClassifier(C=10.0).fit(points, ["a", "b"])
    with pytest.raises(InvalidInput, match="must number its classes, got 'a'"):
        published_model(json.dumps(model_to_json(named)).encode())


def test_a_model_two_of_whose_groups_have_one_name_can_be_saved(tmp_path):
    model = LorentzClassifier(C=10.0).fit([[0.5, 0.0], [-0.5, 0.0], [0.0, 0.6]], [0, 1, 2])
    model.classes_ = np.array(["b cell", "b cell", "t cell"])
    save_model(model, tmp_path / "model.json")
    assert load_model(tmp_path / "model.json").classes_.tolist() == ["b cell", "b cell", "t cell"]
