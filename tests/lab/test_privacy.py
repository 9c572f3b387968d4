"""The price of privacy and membership inference: shadow studies are studies, attacks find what is
there and nothing where there is nothing."""

import numpy as np
import pytest

from fedhull.data.generated import make_tree
from fedhull.rounds import noise
from fedhull.rounds.noise import noise_of
from fedhull.study.draft import site_name
from fedhull.study.kinds import task_of
from fedhull.study.rehearsal import rehearse
from fedhull_lab.reproduce import privacy
from fedhull_lab.reproduce.membership import (
    MODEL,
    READ,
    SOLVED,
    Pool,
    Sizes,
    attack,
    draw,
    likelihood_ratios,
    solved,
    summary,
)
from fedhull_lab.reproduce.privacy import PROMISES, _memberships, _prices, price
from fedhull_lab.reproduce.released import KINDS, Total, features_of, opened, study_for


def pool_of(n, lineages=2):
    tree = make_tree(n, lineages=lineages, seed=0)
    return Pool.of(tree.x, tree.y)


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_opened_is_what_a_rehearsal_opens(kind):
    pool = pool_of(900)
    study, owner = study_for(kind, pool.names, pool.radius), np.arange(900) % 3
    made = opened(study, pool.x, pool.number, owner)
    labels, task = np.array(pool.names)[pool.number], task_of(study)
    held = {site_name(i): task.prepare(pool.x[owner == i], labels[owner == i]) for i in range(3)}
    outcome = rehearse(study, held).outcome
    assert made.model.classes_.tolist() == outcome.model.classes_.tolist()
    if noise_of(study) is None:
        assert (made.model.predict_proba(pool.x) == outcome.model.predict_proba(pool.x)).all()
    if study.has_bins:
        sent = [tuple(corner) for corners in made.corners for corner in corners.tolist()]
        read = outcome.learned.more.corners[0].tolist()
        assert sorted(sent) == sorted(map(tuple, read))
    else:
        assert made.total.of_class == outcome.total.extent.of_class
        assert len(made.total.gram) == outcome.total.extent.features


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind.startswith("moments")])
def test_totals_are_those_of_all_cells_features_and_of_the_promised_noise(kind):
    pool = pool_of(900)
    study, owner = study_for(kind, pool.names, pool.radius), np.arange(900) % 3
    total, promised = opened(study, pool.x, pool.number, owner).total, noise_of(study)
    phi = features_of(study, pool.x)[:, : len(total.gram)]
    member = pool.number == np.arange(len(pool.names))[:, None]
    off = np.triu(total.gram - phi.T @ phi), total.sums - member @ phi
    if promised is None:
        assert all((np.abs(each) < 1e-9).all() for each in off)
        assert total.counts.tolist() == member.sum(axis=1).tolist()
    else:
        for each, deviation in zip(off, promised.total_deviations(3), strict=False):
            assert np.std(each[each != 0]) == pytest.approx(deviation, rel=0.2)


@pytest.mark.parametrize("kind", ["moments, ε = 1"])
def test_totals_are_read_even_if_no_model_comes_of_them(kind):
    pool = pool_of(30)
    made = opened(study_for(kind, pool.names, pool.radius), pool.x, pool.number, np.arange(30) % 3)
    assert made.model is None
    assert made.total.gram.any()


def test_totals_are_compared_as_far_as_both_are_known():
    few = Total(np.ones((2, 2)), np.ones((2, 2)), np.array([3, 3]), (2, 2))
    many = Total(np.full((3, 3), 2.0), np.full((2, 3), 2.0), np.array([9, 9]), (3, 1))
    assert many.within(few).gram.tolist() == [[2.0, 2.0], [2.0, 2.0]]
    assert few.within(many).gram.tolist() == [[1.0, 1.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, 0.0]]
    assert few.within(many).sums.tolist() == [[1.0, 1.0, 0.0], [1.0, 0.0, 0.0]]


def test_the_share_of_a_promise_that_matching_costs_is_the_studys():
    assert privacy.ON_SLOTS == noise.ON_SLOTS


def test_few_totals_are_solved_for_who_is_in_them_unless_there_is_noise():
    pool, found = pool_of(300), {}
    for kind in ("moments", "moments, ε = 1"):
        study = study_for(kind, pool.names, pool.radius)
        drawn = draw(study, pool, 3, 0, 1)
        totals = [made.total for made in drawn.made]
        scores = solved(study, totals, features_of(study, pool.x), pool.number)
        found[kind] = summary(scores, drawn.inside, 0)["advantage"]["value"]
    assert found["moments"] > 50
    # what ε = 1 allows any attacker, and some room for chance
    assert abs(found["moments, ε = 1"]) < 14 + 10


def test_likelihood_ratios_tell_shifted_statistics_apart_and_others_not():
    rng = np.random.default_rng(0)
    inside, truth = rng.random((200, 50)) < 0.5, rng.random((20, 50)) < 0.5
    shadow, seen = rng.standard_normal((200, 50)), rng.standard_normal((20, 50))
    alike = summary(likelihood_ratios(shadow, inside, seen), truth, 0)["advantage"]
    apart = summary(likelihood_ratios(shadow + 2 * inside, inside, seen + 2 * truth), truth, 0)
    assert alike["low"] < 0 < alike["high"]
    # normal distributions two standard deviations apart: 2Φ(√2) − 1
    assert apart["advantage"]["low"] < 84.3 < apart["advantage"]["high"]
    assert apart["true_alarms"]["value"] > 25


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_an_attack_looks_at_the_model_and_at_what_is_read(kind):
    sizes = Sizes(targets=40, shadows=12, attacked=3)
    found = attack(kind, pool_of(400), sizes, 0)
    assert set(found) == ({MODEL, READ} if kind.startswith("hulls") else {MODEL, READ, SOLVED})
    for look in found.values():
        for rate in look.values():
            assert rate["low"] <= rate["high"]
    row = {"data": "a tree", "kind": kind, "looks": found}
    assert len(_memberships([row], sizes).rows[0]) == len(_memberships([row], sizes).columns)


@pytest.mark.slow
def test_prices_are_of_all_promises_or_say_that_no_model_came_of_it():
    tree = make_tree(1500, lineages=2, seed=0)
    rows = [price("a tree", tree.x, tree.y, agreed, 1, 0) for agreed in (False, True)]
    for row in rows:
        assert len(row["accuracy"]) + len(row["problems"]) == len(PROMISES)
        assert row["accuracy"]["no noise"]["mean"] > 80
    table = _prices(rows)
    assert [row[2] for row in table.rows] == ["switched", "agreed"]
    assert all(len(row) == len(table.columns) for row in table.rows)
