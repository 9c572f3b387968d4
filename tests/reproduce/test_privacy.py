"""The price of privacy and membership inference: shadow studies are studies, attacks find what is
there and nothing where there is nothing."""

import numpy as np
import pytest

from fedhull.data.generated import make_tree
from fedhull.reproduce.membership import (
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
from fedhull.reproduce.privacy import PROMISES, _memberships, _prices, price
from fedhull.reproduce.released import KINDS, features_of, opened, study_for
from fedhull.study.draft import site_name
from fedhull.study.kinds import task_of
from fedhull.study.rehearsal import rehearse


def pool_of(n, lineages=2):
    tree = make_tree(n, lineages=lineages, seed=0)
    return Pool.of(tree.x, tree.y)


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_opened_is_what_a_rehearsal_opens(kind):
    pool = pool_of(900)
    study, owner = study_for(kind, pool.names, pool.radius), np.arange(900) % 3
    labels, task = np.array(pool.names)[pool.number], task_of(study)
    held = {site_name(i): task.prepare(pool.x[owner == i], labels[owner == i]) for i in range(3)}
    session = rehearse(study, held)
    keys = [site.noise_key("moments") for site in session.sites.values()]
    made, outcome = opened(study, pool.x, pool.number, owner, keys), session.outcome
    assert made.model.classes_.tolist() == outcome.model.classes_.tolist()
    assert (made.model.predict_proba(pool.x) == outcome.model.predict_proba(pool.x)).all()
    if study.has_bins:
        sent = [tuple(corner) for corners in made.corners for corner in corners.tolist()]
        read = outcome.learned.corners[0].tolist()
        assert sorted(sent) == sorted(map(tuple, read))
    else:
        extent = outcome.extent
        assert made.total.extent == extent
        assert (made.total.moments.packed(extent) == outcome.moments.packed(extent)).all()


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
