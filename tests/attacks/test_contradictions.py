"""A study that cannot succeed is refused when it is made, before anything is sent."""

import time

import pytest
from commands import fedhull

from fedhull.errors import InvalidInput
from fedhull.study.draft import draft_study
from fedhull.study.kinds import study_from_toml

QUICK = 2.0  # seconds


def study_file(sites=3, labels="classes = 3", geometry="epsilon = 0.1\nradius = 0.9", rest=""):
    roster = "\n".join(f'site-{i:04d} = "{i:064x}"' for i in range(sites))
    tables = f"[geometry]\n{geometry}\n[labels]\n{labels}\n{rest}\n[clients]\n{roster}\n"
    return f'name = "A study"\n{tables}'


def refused(**settings) -> str:
    """The sentence with which a study is refused, soon."""
    begin = time.process_time()
    with pytest.raises(InvalidInput) as refusal:
        study_from_toml(study_file(**settings))
    assert time.process_time() - begin < QUICK
    return str(refusal.value)


def test_the_study_that_all_others_differ_from_can_succeed():
    assert study_from_toml(study_file()).labels.classes == 3


def test_a_site_may_not_have_more_classes_than_all_sites_together():
    sentence = refused(labels="classes = 11", rest="[learning]\nclasses = 9")
    assert "[labels] classes = 11" in sentence
    assert "[learning] classes = 9" in sentence
    assert study_from_toml(study_file(labels="classes = 9", rest="[learning]\nclasses = 11"))


def test_provision_refuses_what_would_fail_after_the_sum_is_open(tmp_path):
    draft = tmp_path / "study.toml"
    draft.write_text(study_file(labels="classes = 11", rest="[learning]\nclasses = 9"))
    run = fedhull("provision", draft, "--out", tmp_path / "kits", "--engine", "files")
    assert run.returncode == 2
    assert "lower the first or raise the second" in " ".join(run.stderr.split())
    assert not list((tmp_path / "kits").iterdir())


def test_there_are_classes_to_tell_apart_and_no_more_than_sites_can_hold():
    assert "at least two classes" in refused(labels="classes = 1", rest="[learning]\nclasses = 1")
    many = refused(labels="classes = 2", rest="[learning]\nclasses = 7")
    assert "[learning] classes = 7" in many
    assert "[labels] classes = 2" in many


def test_a_grouping_for_two_classes_is_for_two():
    halves = "[learning]\ngrouping = 'kernighan-lin'\nclasses = 2"
    assert study_from_toml(study_file(labels="classes = 2", rest=halves)).n_classes == 2
    sentence = refused(rest=halves.replace("classes = 2", "classes = 3"))
    assert "kernighan-lin" in sentence
    assert "classes = 3" in sentence


@pytest.mark.parametrize("grouping", ["kernighan-lin", "spectral"])
def test_a_grouping_that_cannot_count_is_told_how_many_classes_there_are(grouping):
    assert "has to know how many classes" in refused(rest=f"[learning]\ngrouping = '{grouping}'")


@pytest.mark.parametrize(
    ("labels", "sites", "words"),
    [
        ('classes = 1_000_000\ncode = "binary"', 10, "code = 'binary' is for at most"),
        ('classes = 3\ncode = "bose-chowla:999"', 10, "bose-chowla:999"),
        ('classes = 1000\ncode = "bose-chowla:2"', 10, "bose-chowla:2"),
        ('classes = 30\ncode = "bose-chowla:12"', 30, "bose-chowla:12"),
        ('classes = 10\ncode = "pairs"', 3000, "a message holds at most"),
        ('classes = 1_000_000\ncode = "pairs"', 3000, "too many for the label code 'pairs'"),
    ],
)
def test_codes_that_cannot_be_built_or_sent_are_refused_at_once(labels, sites, words):
    geometry = "epsilon = 0.1\nradius = 0.9"
    rest = "[protocol]\nmost_bins = 1_000_000" if sites == 3000 else ""
    assert words in refused(labels=labels, sites=sites, geometry=geometry, rest=rest)


def test_too_many_bins_for_a_code_are_refused_with_the_way_out():
    fine = "epsilon = 1e-7\nradius = 0.9"
    sentence = refused(labels='classes = 100_000\ncode = "pairs"', sites=100, geometry=fine)
    assert "larger epsilon" in sentence
    sentence = refused(labels="classes = 100_000", sites=100, geometry=fine)
    assert "make epsilon larger" in sentence


@pytest.mark.parametrize(
    ("geometry", "words"),
    [
        ("epsilon = 0.1\nradius = 1.0", "radius must be below the disc's own"),
        ("epsilon = 0.1\nradius = 0.9\ncurvature = 4", "radius must be below the disc's own"),
        ("epsilon = 1e-300\nradius = 0.9", "needs too many bins"),
        ("epsilon = 5e-324\nradius = 5e-324", "is too small for curvature"),
        ("epsilon = 50\nradius = 0.9", "epsilon = 50 is too large for radius = 0.9"),
        ("epsilon = nan\nradius = 0.9", "epsilon must be a number"),
        ("epsilon = inf\nradius = 0.9", "epsilon must be a number"),
        ("epsilon = 0.1\nradius = 0.9\ncurvature = 1e200", "curvature must be"),
    ],
)
def test_bins_that_do_not_fit_the_disc_are_refused(geometry, words):
    assert words in refused(geometry=geometry)


@pytest.mark.parametrize(
    ("rest", "words"),
    [
        ("[protocol]\nthreshold = 1", "threshold must be more than half"),
        ("[protocol]\nthreshold = 4", "threshold must be more than half and at most all"),
        ("[protocol]\nmost_bins = 0", "most_bins must be"),
        ("[protocol]\nspare_sums = 1", "spare_sums must be"),
        ("[learning]\nholdout = 1.0", "holdout must be"),
        ("[learning]\nholdout = nan", "holdout must be"),
        ("[learning]\nstrength = inf", "strength must be"),
        ("[learning]\nmethod = 'forest'", "method must be one of"),
        ("[learning]\nmethod = 1979-05-27", "method must be the name of a part"),
        ("[learning]\ngrouping = 'guess'", "grouping must be one of"),
        ("[learning]\nguard = 'trim:2'", "guard must be"),
    ],
)
def test_settings_out_of_their_range_are_refused(rest, words):
    assert words in refused(rest=rest)


def test_thousands_of_sites_are_read_quickly_or_refused():
    begin = time.process_time()
    assert len(study_from_toml(study_file(sites=5000)).clients) == 5000
    assert time.process_time() - begin < QUICK
    assert "at most 1,000,000" in refused(sites=100_000)


def test_a_rehearsal_of_any_size_can_be_drafted():
    for sites in (2, 300, 3000):
        study = draft_study(sites, classes=2, epsilon=0.1, radius=0.9)
        assert study.coding.field.packed_size(study.sums_for(study.most_corners)) <= 2_000_000_000
