"""Names that sites agree on: a site's own map onto them, and nobody has to match anything."""

import msgspec
import numpy as np
import pytest
from parties import make_study

import fedhull
from fedhull.errors import InvalidInput
from fedhull.study.kinds import task_of
from fedhull.study.naming import agreed_labels, read_map
from fedhull.study.rehearsal import rehearse
from fedhull.study.study import Classes, Labels
from fedhull.study.task import Source

AGREED = ["T cell", "naive B", "memory B"]


def agreed_study(n=3):
    study = make_study(n, classes=3, epsilon=0.1)
    return msgspec.structs.replace(study, labels=Labels(classes=3), classes=Classes(names=AGREED))


def cells(names, seed=0, n=150):
    rng = np.random.default_rng(seed)
    centres = {"T cell": [0.5, 0.0], "naive B": [-0.4, 0.4], "memory B": [-0.4, -0.4],
               "B cell": [-0.4, 0.0], "T lymphocyte": [0.5, 0.0]}  # fmt: skip
    x = np.concatenate([rng.normal(centres[name], 0.04, (n, 2)) for name in names])
    return x, np.repeat(names, n)


def read(tmp_path, names, own=None):
    x, y = cells(names)
    np.savez(tmp_path / "cells.npz", x=x, y=y)
    path = None
    if own is not None:
        path = tmp_path / "map.toml"
        path.write_text(own)
    task = task_of(agreed_study())
    return task.read(Source(str(tmp_path / "cells.npz"), names=path and str(path)))


def test_equal_names_need_no_map(tmp_path):
    assert read(tmp_path, ["naive B", "T cell"]).classes == ["T cell", "naive B"]


def test_a_map_translates_a_sites_own_names(tmp_path):
    held = read(tmp_path, ["T lymphocyte", "naive B"], '"T lymphocyte" = "T cell"\n')
    assert held.classes == ["T cell", "naive B"]


def test_a_class_that_stands_for_several_makes_a_hull_of_each_and_tests_none(tmp_path):
    held = read(tmp_path, ["T cell", "B cell"], '"B cell" = ["naive B", "memory B"]\n')
    assert sorted(held.classes) == ["T cell", "memory B", "naive B"]
    hulls = dict(zip(held.classes, held.prepared.hulls, strict=True))
    assert hulls["naive B"] == hulls["memory B"] != hulls["T cell"]
    assert set(held.test_y.tolist()) == {"T cell"}


@pytest.mark.parametrize(
    ("names", "own", "words"),
    [
        (["T lymphocyte"], None, "'T lymphocyte', which is none of the names"),
        (["T cell"], '"T cell" = "T cells"\n', "did you mean 'T cell'"),
        (["T cell"], '"T cell" = 3\n', "to an agreed name, or to a list of them, got 3"),
        (["T cell"], "T cell", "not valid TOML"),
    ],
)
def test_what_cannot_be_mapped_is_said(tmp_path, names, own, words):
    with pytest.raises(InvalidInput, match=words):
        read(tmp_path, names, own)


def test_a_map_needs_names_to_map_to(tmp_path):
    x, y = cells(["T cell", "naive B"])
    np.savez(tmp_path / "cells.npz", x=x, y=y)
    task = task_of(make_study(3))
    with pytest.raises(InvalidInput, match="this one has none"):
        task.read(Source(str(tmp_path / "cells.npz"), names="map.toml"))


def test_the_coordinators_model_and_all_sites_models_speak_the_agreed_names(tmp_path):
    study = agreed_study()
    task = task_of(study)
    holdings = {}
    for i, (name, own) in enumerate(
        zip(study.clients, [AGREED, AGREED[:2], AGREED[1:]], strict=True)
    ):
        x, y = cells(own, seed=i)
        np.savez(tmp_path / f"{name}.npz", x=x, y=y)
        holdings[name] = task.read(Source(str(tmp_path / f"{name}.npz")))
    rehearsal = rehearse(study, holdings)
    (tmp_path / "model.json").write_bytes(rehearsal.outcome.files()["model.json"])
    x, y = cells(AGREED, seed=9)
    coordinators = fedhull.load_model(tmp_path / "model.json").predict(x)
    assert np.mean(coordinators == y) > 0.97
    for site in rehearsal.sites.values():
        assert site.outcome.model.predict(x).tolist() == coordinators.tolist()


def test_simulated_sites_that_agree_match_nothing_wrongly():
    data = fedhull.make_tree(900, lineages=3, seed=0)
    result = fedhull.simulate(
        data.x, data.y, clients=5, epsilon=0.1, partition="dirichlet:0.5", agreed_names=True
    )
    assert result.to_json()["grouping_correct"] == 1.0
    assert set(result.model.classes_.tolist()) <= set(data.y.tolist())


def test_labels_are_numbers_or_words_and_several_may_become_one():
    names, several = agreed_labels([1, 2, 7], ["1", "2", "3"], {"7": ["2"]})
    assert (names.tolist(), several) == (["1", "2", "2"], {})


def test_an_agreed_name_is_not_sent_twice():
    with pytest.raises(InvalidInput, match="'naive B' would be sent twice"):
        agreed_labels(["naive B", "B"], AGREED, {"B": ["naive B", "memory B"]})


def test_a_map_file_is_read(tmp_path):
    (tmp_path / "map.toml").write_text('a = "x"\nb = ["x", "y"]\n')
    assert read_map(tmp_path / "map.toml") == {"a": ["x"], "b": ["x", "y"]}
