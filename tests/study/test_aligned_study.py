"""Studies whose sites align themselves: what is summed are moved cells, and what stays are model
files that know of it."""

import json

import numpy as np
import pytest

from fedhull import make_tree
from fedhull.disc.isometry import rotation, translation
from fedhull.learn.centres import Centres
from fedhull.learn.model import model_from_json
from fedhull.rounds.centres import class_numbers, isometry_of, n_classes
from fedhull.rounds.round import Known
from fedhull.study.draft import draft_study, with_names
from fedhull.study.kinds import task_of
from fedhull.study.rehearsal import rehearse

STUDIES = ["moments", "hulls", "by_name", "hulls_by_name"]
MOVES = [
    translation([0.2, 0.0]),
    rotation(0.3),
    translation([-0.1, 0.15]) @ rotation(-0.2),
    translation([0.0, -0.15]),
]


def rehearsed(summary, agreed, align=2):
    tree = make_tree(1200, lineages=3, seed=2)
    study = draft_study(4, 4, summary=summary, features=24, align=align, radius=0.999)
    if agreed:
        study = with_names(study, sorted(set(tree.y.tolist())))
    task = task_of(study)
    return rehearse(
        study,
        {
            name: task.prepare(move.apply(0.7 * tree.x[i::4]), tree.y[i::4])
            for i, (name, move) in enumerate(zip(sorted(study.clients), MOVES, strict=True))
        },
    )


@pytest.fixture(scope="module")
def moments():
    return rehearsed("moments", agreed=False)


@pytest.fixture(scope="module")
def by_name():
    return rehearsed("moments", agreed=True)


@pytest.fixture(scope="module")
def hulls_by_name():
    return rehearsed("hulls", agreed=True)


@pytest.fixture(scope="module")
def hulls():
    return rehearsed("hulls", agreed=False)


def file_of(party):
    return json.loads(party.files()["model.json"])


def own_centres(site, name):
    """Count of a class at a site among all sites' centres, by the site's own name for it."""
    number = class_numbers(site.study, site.own)[site.holdings.classes.index(name)][0]
    packed = np.array(site.own.last("centres").memory.centres)
    n = n_classes(site.study, site.known)
    return Centres.unpacked(packed, n).packed().reshape(-1, 4)[number].tolist()


def test_moments_are_those_of_moved_cells(moments):
    for site in moments.sites.values():
        totals = site.session.totals
        held, numbers = site.holdings, class_numbers(site.study, site.own)
        last = site.rounds[-1]
        extent = last.extent(totals, n_classes(site.study, site.known))
        moved = last.moments_held(held, numbers, extent, isometry_of(site.own))
        assert (moved.sums != last.moments_held(held, numbers, extent).sums).any()
        assert (last.own_moments(site.known, site.own, totals).gram == moved.gram).all()
    assert moments.outcome.is_exact(moments.sites)


def test_aligned_sites_do_better_than_sites_as_measured(moments, by_name):
    unaligned = rehearsed("moments", agreed=True, align=0).outcome.counts.accuracy
    assert moments.outcome.counts.accuracy > unaligned + 1.0
    assert by_name.outcome.counts.accuracy > unaligned + 1.0


@pytest.mark.parametrize("which", STUDIES)
def test_a_sites_file_is_right_as_often_as_the_site_was(which, request):
    made = request.getfixturevalue(which)
    for name, site in made.sites.items():
        content = file_of(site)
        model, held = model_from_json(content), site.holdings
        assert (content["site"], content["study"]) == (name, made.study.hash.hex())
        assert (model.predict(held.test_x) == held.test_y).sum() == site.finding.correct


@pytest.mark.parametrize("which", STUDIES)
def test_a_sites_file_has_the_published_centre_of_each_of_its_classes(which, request):
    for site in request.getfixturevalue(which).sites.values():
        model = file_of(site)["model"]
        found = dict(zip(model["classes"], model["aligned_to"], strict=True))
        for name in site.outcome.sent_classes:
            assert found[name] == own_centres(site, name)
            assert found[name][0] > 100


def test_the_coordinators_file_has_centres_and_no_isometry(moments, by_name, hulls_by_name):
    for made in (moments, by_name, hulls_by_name):
        content, last = file_of(made.outcome), made.outcome.centres[-1]
        assert content["aligned_to"] == last.packed().reshape(-1, 4).tolist()
        assert "isometry" not in content


def test_the_coordinator_of_hulls_without_agreed_names_has_none_in_its_file(hulls):
    assert "aligned_to" not in file_of(hulls.outcome)


def test_without_alignment_files_are_as_they_were():
    made = rehearsed("moments", agreed=True, align=0)
    for party in (made.outcome, *made.sites.values()):
        content = file_of(party)
        assert content["kind"] == "moments"
        assert not {"aligned_to", "site", "isometry"} & content.keys()


def test_a_site_that_fetches_its_model_late_has_the_same_file(moments):
    site = next(iter(moments.sites.values()))
    again = task_of(site.study).site(site.name, site._identity, site.holdings)
    again.take_late(moments.outcome.published(), site.receipt)
    assert again.files() == site.files()


def test_what_is_learned_again_from_the_kept_sum_has_the_same_centres(moments):
    outcome, task = moments.outcome, task_of(moments.study)
    coordinator = task.coordinator()
    coordinator.known = Known(outcome.known.raw[:-1], outcome.known.news[:-1])
    *coordinator.opened, last = outcome.opened
    again = task.learn(coordinator.kept(last))
    assert again.scatter == outcome.scatter
    centres, before = (json.loads(o.files()["model.json"])["aligned_to"] for o in (again, outcome))
    assert centres == before


@pytest.mark.parametrize("which", STUDIES)
def test_consent_says_that_centres_leave_and_are_published(which, request):
    made = request.getfixturevalue(which)
    task = task_of(made.study)
    site = next(iter(made.sites.values()))
    words = " ".join(task.explain(site.name, site.holdings))
    assert ": twice, the number of cells and the sum of their positions" in words
    assert "published as the centres of all classes" in words
    assert "Read by the coordinator and all sites" in words
    if which == "moments":
        assert "its place, five numbers" in words
        assert "of 8 cells or more also a sketch, eight sums over them" in words
    assert "nothing of a class that one site has alone" in words
