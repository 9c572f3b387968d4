"""A study file: strict, readable, hashed by what it says."""

import pytest
from parties import identity, make_study

from fedhull.errors import InvalidInput
from fedhull.study.study import Study


def test_toml_round_trip_keeps_study_and_hash():
    study = make_study(4, code="bose-chowla:3", threshold=3)
    again = Study.from_toml(study.to_toml())
    assert again == study
    assert again.hash == study.hash


def test_layout_and_comments_do_not_change_the_hash():
    study = make_study(3)
    text = "# our study\n" + study.to_toml().replace("\n\n", "\n\n\n").replace(" = ", "   =  ")
    assert Study.from_toml(text).hash == study.hash


def test_every_setting_changes_the_hash():
    text = make_study(4).to_toml()
    changes = [
        ('name = "test"', 'name = "rest"'),
        ("epsilon = 0.5", "epsilon = 0.25"),
        ("radius = 0.9", "radius = 0.8"),
        ("curvature = 1.0", "curvature = 1.1"),
        ("classes = 2", "classes = 3"),
        ('code = "auto"', 'code = "binary"'),
        ("threshold = 0", "threshold = 4"),
        ("spare_sums = 4", "spare_sums = 6"),
        ("most_bins = 20000", "most_bins = 10000"),
        (identity("site-b").public, identity("somebody").public),
    ]
    hashes = {Study.from_toml(text.replace(old, new)).hash for old, new in changes}
    assert len(hashes | {Study.from_toml(text).hash}) == len(changes) + 1


@pytest.mark.parametrize(("n", "threshold"), [(3, 3), (4, 3), (5, 4), (6, 4), (10, 7), (100, 67)])
def test_default_threshold_is_two_thirds_and_at_least_three(n, threshold):
    keys = {f"c{i}": f"{i:064x}" for i in range(n)}
    text = make_study(3).to_toml().split("[clients]")[0] + "[clients]\n"
    text += "".join(f'{name} = "{key}"\n' for name, key in keys.items())
    assert Study.from_toml(text).threshold == threshold


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("epsilon = 0.5", "epsilon = -1", "geometry.epsilon"),
        ("epsilon = 0.5", "epsilonn = 0.5", "epsilon"),
        ("epsilon = 0.5", "epsilon = ", "not valid TOML"),
        ("epsilon = 0.5", "epsilon = inf", "epsilon"),
        ("epsilon = 0.5", "epsilon = 1e-300", "needs too many bins"),
        ("radius = 0.9", "radius = 1.5", "radius must be below"),
        ('code = "auto"', 'code = "nonsense"', "label code must be"),
        (identity("site-a").public, identity("site-b").public + "\\n", "clients"),
        ("classes = 2", "classes = 0", "labels.classes"),
        ("classes = 2", 'classes = "two"', "labels.classes"),
        ("version = 2", "version = 1", "speaks version 2"),
        ("threshold = 0", "threshold = 1", "more than half"),
        ("threshold = 0", "threshold = 9", "at most all of the 4"),
        ("site-a", "Site-A", "clients"),
        (identity("site-a").public, "abc", "clients"),
        (identity("site-a").public, identity("site-b").public, "different identity keys"),
    ],
)
def test_a_bad_study_is_refused_in_a_sentence(old, new, words):
    text = make_study(4).to_toml()
    assert old in text
    with pytest.raises(InvalidInput, match=words):
        Study.from_toml(text.replace(old, new, 1))


def test_two_clients_are_refused_unless_forced():
    with pytest.raises(InvalidInput, match="allow_small_cohort"):
        make_study(2)
    assert make_study(2, allow_small_cohort=True).threshold == 2
