"""A study file: strict, readable, hashed by what it says."""

from datetime import date

import msgspec
import pytest
from parties import identity, make_study

from fedhull.errors import InvalidInput
from fedhull.protocol.agreement import about_words
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
        ("epsilon = 0.5", "epsilonn = 0.5", "did you mean 'epsilon'"),
        ("[geometry]", "[geometri]", "did you mean 'geometry'"),
        ("version = 3", 'valid_until = "soon"', "valid_until must be a date"),
        ("[labels]\nclasses = 2", "[labels]", r"\[labels\] must have the setting 'classes'"),
        ("epsilon = 0.5", "epsilon = ", "not valid TOML"),
        ("epsilon = 0.5", "epsilon = inf", "epsilon"),
        ("epsilon = 0.5", "epsilon = 1e-300", "needs too many bins"),
        ("radius = 0.9", "radius = 1.5", "radius must be below"),
        ('code = "auto"', 'code = "nonsense"', "label code must be"),
        (identity("site-a").public, identity("site-b").public + "\\n", "public key of site-a"),
        ("classes = 2", "classes = 0", "labels.classes"),
        ("classes = 2", 'classes = "two"', "labels.classes"),
        ("version = 3", "version = 1", "speaks version 3"),
        ("threshold = 0", "threshold = 1", "more than half"),
        ("threshold = 0", "threshold = 9", "at most all of the 4"),
        ("site-a", "Site-A", "clients"),
        (identity("site-a").public, "abc", "public key of site-a must be 64 hexadecimal"),
        (identity("site-a").public, identity("site-b").public, "site-a and site-b have the same"),
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


def test_what_a_study_is_for_is_part_of_its_hash_and_of_its_file():
    study = make_study(4)
    told = msgspec.structs.replace(
        study, purpose="A common atlas", contact="Ada", valid_until=date(2027, 1, 31)
    )
    assert told.hash != study.hash
    assert Study.from_toml(told.to_toml()) == told
    assert about_words(told) == [
        "Purpose: A common atlas.",
        "Contact: Ada.",
        "Valid until: 2027-01-31.",
    ]
    assert about_words(study) == []


def test_a_study_takes_dates_of_toml_and_is_over_on_the_day_after():
    text = make_study(4).to_toml().replace("version = 3", "version = 3\nvalid_until = 2027-01-31")
    study = Study.from_toml(text)
    study.check_valid(date(2027, 1, 31))
    with pytest.raises(InvalidInput, match="valid until 2027-01-31, and today is 2027-02-01"):
        study.check_valid(date(2027, 2, 1))
