"""Studies of moments: they give the classifier of the pooled cells, whoever held what."""

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import examples, seeds

from fedhull import MomentClassifier
from fedhull.data.generated import make_tree
from fedhull.errors import InvalidInput
from fedhull.learn.moments import Extent
from fedhull.study.draft import draft_study, site_name
from fedhull.study.kinds import task_of
from fedhull.study.rehearsal import rehearse
from fedhull.study.study import Classes

NAMES = ["lineage-1", "lineage-2", "lineage-3", "stem"]


def moment_study(sites, agreed=True, **settings):
    """By default one in which all cells are summed."""
    usual = {"align": 0, "ballot": False, "holdout": 0.0}
    study = draft_study(sites, len(NAMES), summary="moments", **usual | settings)
    if not agreed:
        return study
    return msgspec.structs.replace(study, classes=Classes(names=NAMES))


def cells(seed, n=400):
    tree = make_tree(n, lineages=3, seed=seed)
    return tree.x, tree.y


def run(study, x, y, owner, vanish=None):
    task = task_of(study)
    holdings = {
        site_name(i): task.hold(x[owner == i], y[owner == i], np.unique(y[owner == i]))
        for i in range(len(study.clients))
    }
    return rehearse(study, holdings, vanish=vanish)


def dealt(seed, n, sites):
    """Whose each of n cells is; everybody has some."""
    owner = np.random.default_rng(seed).integers(0, sites, n)
    owner[:sites] = np.arange(sites)
    return owner


@given(seeds, st.integers(3, 6), st.sampled_from([None, "share", "upload", "unmask"]))
@examples(15)
def test_with_agreed_names_the_model_is_that_of_the_pooled_cells_whoever_drops_out(
    seed, sites, step
):
    x, y = cells(seed % 7)
    owner = dealt(seed, len(y), sites)
    study = moment_study(sites, features=24)
    # with three sites the default threshold lets nobody drop out
    gone = [site_name(seed % sites)] if step and sites > 3 else []
    outcome = run(study, x, y, owner, {step: gone} if gone else None).outcome
    kept = np.isin(owner, [i for i in range(sites) if site_name(i) in outcome.survivors])
    assert kept.all() == (not gone or step == "unmask")
    pooled = MomentClassifier(24).fit(x[kept], y[kept])
    assert [NAMES[n] for n in outcome.model.classes_] == pooled.classes_.tolist()
    np.testing.assert_allclose(outcome.model.coef_, pooled.coef_, rtol=1e-6, atol=1e-12)
    everywhere = np.random.default_rng(seed).uniform(-0.65, 0.65, (500, 2))
    numbers = outcome.model.predict(everywhere)
    assert (np.array(NAMES)[numbers] == pooled.predict(everywhere)).all()


@pytest.mark.parametrize("agreed", [True, False])
def test_where_all_sites_are_measured_alike_aligning_them_changes_nothing_to_the_last_bit(agreed):
    x, y = cells(1, n=1500)
    owner = dealt(0, len(y), 4)
    still, aligned = (
        run(moment_study(4, agreed, align=align), x, y, owner).outcome.model for align in (0, 2)
    )
    assert (still.classes_ == aligned.classes_).all() or not agreed
    assert sorted(still.coef_.T.tolist()) == sorted(aligned.coef_.T.tolist())


def test_with_own_names_the_model_is_that_of_the_pooled_cells_if_classes_are_matched_rightly():
    x, y = cells(1, n=1500)
    owner = dealt(0, len(y), 4)
    rehearsal = run(moment_study(4, agreed=False), x, y, owner)
    outcome = rehearsal.outcome
    pooled = MomentClassifier().fit(x, y)
    site = rehearsal.sites["site-0001"].outcome
    assert site.model.classes_.tolist() == [site.names[n] for n in outcome.model.classes_]
    order = np.argsort(site.model.classes_)
    np.testing.assert_allclose(outcome.model.coef_[:, order], pooled.coef_, rtol=1e-6, atol=1e-12)
    assert (site.model.predict(x) == pooled.predict(x)).all()
    assert outcome.is_exact(rehearsal.sites)
    assert all(entry.sites == 4 for entry in site.entries)


def test_a_class_with_too_few_cells_over_all_sites_leaves_nothing_at_all():
    x, y = cells(2, n=600)
    rare = np.flatnonzero(y == "stem")[4:]
    x, y = np.delete(x, rare, axis=0), np.delete(y, rare)
    owner = dealt(0, len(y), 4)
    outcome = run(moment_study(4), x, y, owner).outcome
    number = NAMES.index("stem")
    assert outcome.total.moments.counts[number] == 0
    assert not outcome.total.moments.sums[number].any()
    assert number not in outcome.model.classes_
    without = y != "stem"
    expected = MomentClassifier().fit(x[without], y[without])
    np.testing.assert_allclose(outcome.model.coef_, expected.coef_, rtol=1e-6, atol=1e-12)


@given(seeds, st.integers(3, 5))
@examples(10)
def test_whatever_is_opened_is_fewer_numbers_than_the_cells_behind_it_have_coordinates(seed, sites):
    x, y = cells(seed % 5, n=200 + seed % 300)
    outcome = run(moment_study(sites), x, y, dealt(seed, len(y), sites)).outcome
    moments, extent = outcome.total.moments, outcome.total.extent
    assert extent == Extent.of(moments.counts, 128, 2, least=5)
    d = len(moments.gram)
    assert d * (d + 1) // 2 + np.count_nonzero(moments.sums) < 2 * moments.counts.sum()
    for n, row in zip(moments.counts, moments.sums, strict=True):
        assert np.count_nonzero(row) < 2 * n or n == 0


def test_a_class_that_stands_for_several_is_counted_as_each_and_never_tested():
    x, y = cells(3, n=900)
    study = moment_study(3)
    task, owner = task_of(study), dealt(1, len(y), 3)
    holdings = {}
    for i in range(3):
        mine, own, several = owner == i, y[owner == i].copy(), {}
        if i == 0:
            own[np.isin(own, NAMES[:2])] = "either"
            several = {"either": NAMES[:2]}
        holdings[site_name(i)] = task.prepare(x[mine], own, several=several)
    outcome = rehearse(study, holdings).outcome
    first = holdings["site-0001"]
    assert "either" not in first.test_y
    either = int((first.y == "either").sum())
    others = [
        sum(int((held.y[~held.test] == name).sum()) for held in holdings.values())
        for name in NAMES[:2]
    ]
    assert outcome.total.moments.counts[:2].tolist() == [n + either for n in others]


def test_a_site_that_drops_out_between_the_sums_is_in_the_first_only_and_can_still_name_the_model():
    x, y = cells(4, n=900)
    study = moment_study(4, agreed=False)
    task, owner = task_of(study), dealt(2, len(y), 4)
    holdings = {site_name(i): task.prepare(x[owner == i], y[owner == i]) for i in range(4)}
    gone = "site-0003"
    rehearsal = rehearse(study, holdings, vanish={"2/share": [gone]})
    outcome, site = rehearsal.outcome, rehearsal.sites[gone]
    assert gone in outcome.matched_sites
    assert gone not in outcome.survivors
    again = task_of(outcome.study).site(gone, site._identity, holdings[gone])
    again.take_late(outcome.published(), site.receipt)
    assert set(again.outcome.model.classes_) == set(NAMES)


def test_consent_words_say_what_goes_into_which_sum():
    x, y = cells(5, n=300)
    for agreed, sums in ((True, 1), (False, 2)):
        task = task_of(moment_study(3, agreed))
        assert task.sums == sums
        words = " ".join(task.explain("site-0001", task.prepare(x, y)))
        assert "No cell's position leaves" in words
        assert ("sketch" in words) == (not agreed)


@pytest.mark.parametrize("grouping", ["spectral", "kernighan-lin"])
def test_groupings_of_hulls_are_refused_when_the_study_is_made(grouping):
    with pytest.raises(InvalidInput, match="sorts hulls, and with summary = 'moments'"):
        moment_study(3, agreed=False, grouping=grouping)


def test_hulls_need_a_radius_and_moments_do_not():
    with pytest.raises(InvalidInput, match="must say which radius"):
        draft_study(3, 2)
    assert draft_study(3, 2, summary="moments").geometry.radius == 0.0


@pytest.mark.parametrize("agreed", [True, False])
def test_the_plan_says_to_the_byte_what_a_site_sends(agreed):
    x, y = cells(6, n=240)
    study = moment_study(4, agreed)
    holdings = {name: task_of(study).hold(x, y, np.unique(y)) for name in study.clients}
    sent = rehearse(study, holdings).outcome.record.bytes_up
    # sites' names are of one length; fresh keys have the length of nobody's
    coordinated = msgspec.structs.replace(study, coordinator="0" * 64)
    plan = task_of(coordinated).plan(holdings["site-0001"], corners=0)
    assert set(sent.values()) == {plan.numbers["bytes_up_per_client"]}
