"""The ballot: what is opened is the sum of what sites count, it decides, and it is said if not."""

import json
from functools import cache
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.neighbors import KNeighborsClassifier

from fedhull import load_model, make_tree, save_model, simulate
from fedhull.learn.model import model_from_json
from fedhull.learn.moments import Extent
from fedhull.learn.prediction import unassigned
from fedhull.learn.tally import TEMPERATURES, decide
from fedhull.rounds.ballot import (
    MOST_CANDIDATES,
    Ballot,
    Proposed,
    ballot_layout,
    log_probabilities,
    most_candidates,
)
from fedhull.rounds.outcome import NOT_ASKED, TOO_FEW
from fedhull.rounds.round import Votes
from fedhull.rounds.run import Coordinator
from fedhull.study.draft import draft_study, site_name, with_names
from fedhull.study.kinds import task_of
from fedhull.study.rehearsal import rehearse

TREE = make_tree(1800, lineages=4, seed=3)
SITES = 4


def rehearsed(summary="hulls", agreed=False, vanish=None, tree=TREE, **settings):
    study = draft_study(
        SITES, len(np.unique(tree.y)), summary=summary, radius=0.999, epsilon=0.05, **settings
    )
    if agreed:
        study = with_names(study, np.unique(tree.y).tolist())
    task = task_of(study)
    owner = np.arange(len(tree.y)) % SITES
    holdings = {}
    for i in range(SITES):
        mine = owner == i
        holdings[site_name(i)] = task.hold(tree.x[mine], tree.y[mine], np.unique(tree.y[mine]))
    return rehearse(study, holdings, vanish=vanish)


@cache
def shared(**settings):
    """A study that several tests look at: nobody changes it."""
    return rehearsed(**settings)


KINDS = [
    {"summary": "hulls"},
    {"summary": "moments", "align": 0},
    {"summary": "moments"},
    {"summary": "hulls", "agreed": True},
    {"summary": "moments", "agreed": True, "align": 0},
    {"summary": "hulls", "method": "poincare-svm"},
]


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_what_is_opened_is_the_sum_of_what_sites_count_and_it_decides(kind, monkeypatch):
    cast = []
    choose = Coordinator.choose

    def remember(self, votes):
        cast.append((votes, len(self._proposal.draft.candidates)))
        return choose(self, votes)

    monkeypatch.setattr(Coordinator, "choose", remember)
    made = rehearsed(**kind)
    [(votes, n)] = cast
    tallies = [site.outcome.tally.packed() for site in made.sites.values()]
    assert votes.judged == [sum(tallies).tolist()]
    judged = made.outcome.vote.judged
    total = type(made.sites["site-0001"].outcome.tally).unpacked(votes.judged[0], n, 5)
    assert (judged.chosen, TEMPERATURES.tolist().index(judged.temperature)) == decide(total)
    assert judged.cells == sum(site.finding.tested for site in made.sites.values())
    assert 1 < judged.candidates <= MOST_CANDIDATES
    assert judged.accuracy > 85
    counts = made.outcome.counts
    assert (counts.correct, counts.tested) == (judged.correct, judged.cells)
    assert counts.evaluators == sorted(made.sites)


def test_every_site_has_the_chosen_model_and_its_figures_in_its_file():
    made = rehearsed("moments", align=0)
    [ours] = made.outcome.files().values()
    for site in made.sites.values():
        [raw] = site.files().values()
        content = json.loads(raw)
        assert content["judged"] == json.loads(ours)["judged"]
        model = model_from_json(content)
        assert model.judged_ == made.outcome.vote.judged
        assert (model.predict_proba(TREE.x) == made.outcome.model.predict_proba(TREE.x)).all()


def test_a_site_that_does_not_answer_leaves_the_default_and_that_islog_probabilities():
    made = rehearsed(vanish={"propose": ["site-0002"]})
    vote = made.outcome.vote
    assert vote.judged is None
    told = made.outcome.to_json()
    why = "site-0002 did not answer when candidates were proposed"
    assert told["ballot"] == {"held": False, "why_not": why}
    # who is left says how well it does
    assert made.outcome.counts.evaluators == ["site-0001", "site-0003", "site-0004"]
    assert made.outcome.counts.accuracy > 85
    assert "not calibrated" in task_of(made.study).summarize(told)


def test_without_a_ballot_nobody_is_asked_before_and_all_afterwards():
    made = shared(ballot=False)
    assert made.outcome.vote.missed == NOT_ASKED
    assert all(site.outcome.tally is None for site in made.sites.values())
    assert made.outcome.counts.tested == sum(site.finding.tested for site in made.sites.values())
    assert "propose" not in made.outcome.record.seconds
    assert shared().outcome.record.seconds.keys() >= {"propose", "publish"}


def test_a_site_with_too_few_held_out_cells_abstains_and_nobody_can_tell():
    made = shared()
    site = made.sites["site-0001"]
    held, judged = site.holdings, made.outcome.vote.judged
    asked = Proposed([made.outcome.model] * 3, judged.marks, {}, b"")
    numbers = made.outcome.model.predict(held.test_x)
    for least, counted in ((5, len(numbers)), (len(numbers) + 1, 0)):
        study = draft_study(SITES, 5, radius=0.999, epsilon=0.05, min_cells=least)
        tally = Ballot(study).tally(asked, held.test_x, numbers, held.x)
        assert tally.n_cells == counted
        # zeros under masks look like any other numbers, and there are as many
        assert len(tally.packed()) == asked.layout.parts[0][1]
    assert not tally.packed().any()


def test_of_very_many_held_out_cells_a_sample_is_judged(monkeypatch):
    monkeypatch.setattr("fedhull.rounds.ballot._MOST_CELLS", 40)
    made = rehearsed()
    # without those of classes of which too few are in the sample
    assert all(30 <= site.outcome.tally.n_cells <= 40 for site in made.sites.values())
    assert all(len(site.holdings.test_y) > 40 for site in made.sites.values())


def test_where_no_site_holds_cells_out_the_default_is_published_and_nothing_is_held_back():
    small = make_tree(300, lineages=2, seed=0)
    made = rehearsed(tree=small)
    assert made.outcome.vote.missed == TOO_FEW
    assert all(not site.holdings.test.any() for site in made.sites.values())
    assert not any(site.outcome.tally.packed().any() for site in made.sites.values())


@pytest.mark.parametrize("summary", ["hulls", "moments"])
def test_probabilities_of_the_published_model_are_right_about_as_often_as_they_say(summary):
    test = make_tree(3000, lineages=4, seed=3)
    train = SimpleNamespace(x=test.x[:2000], y=test.y[:2000])
    made = rehearsed(summary, tree=train)
    model, site = made.outcome.model, made.sites["site-0001"].outcome
    names = np.array([str(site.names[c]) for c in model.classes_])
    said = model.predict_proba(test.x[2000:])
    right = names[said.argmax(axis=1)] == test.y[2000:]
    assert abs(said.max(axis=1).mean() - right.mean()) < 0.03


def test_cells_far_from_all_classes_are_unassigned_and_few_others():
    made = shared()
    model = made.outcome.model
    assert unassigned(model, TREE.x).mean() < 0.03
    assert unassigned(model, [[0.0, 0.99999999]]).all()
    plain = shared(ballot=False).outcome.model
    assert not unassigned(plain, [[0.0, 0.99999999]]).any()


def test_learning_again_comes_to_the_same_verdict():
    made = shared()
    task, outcome = task_of(made.study), made.outcome
    tallies = sum(site.outcome.tally.packed() for site in made.sites.values())
    votes = Votes([tallies.tolist()], sorted(made.sites)).to_bytes()
    kept = task.coordinator().kept(outcome.opened[-1])
    again = task.learn(kept, votes)
    assert again.files() == outcome.files()
    other = task.learn(kept, votes, method="poincare-svm")
    assert other.vote.judged is None


def test_a_classifier_that_says_nothing_of_probabilities_is_judged_all_the_same():
    class Plain(KNeighborsClassifier):
        predict_proba = property(doc="not there")

    model = Plain(3).fit(TREE.x, TREE.y)
    said = log_probabilities(model, TREE.x[:50])
    assert (model.classes_[said.argmax(axis=1)] == model.predict(TREE.x[:50])).all()
    assert np.exp(said).sum(axis=1) == pytest.approx(1.0)


def test_a_simulation_leaves_its_test_points_alone_and_says_what_was_chosen(tmp_path):
    result = simulate(TREE.x, TREE.y, clients=4, epsilon=0.05, seed=1)
    trial = result.trials[0]
    held = sum(len(site.holdings.x) for site in trial.session.sites.values())
    assert held == len(TREE.x) - len(trial.test)
    told = result.to_json()
    assert told["ballot"]["held"]
    assert told["ballot"]["cells"] < 0.16 * held
    assert told["calibration_error"] < 0.05
    save_model(result.model, tmp_path / "model.json")
    loaded = load_model(tmp_path / "model.json")
    assert loaded.judged_ == result.model.judged_
    assert (loaded.predict_proba(TREE.x) == result.model.predict_proba(TREE.x)).all()


def test_the_smallest_group_of_a_simulation_is_also_that_of_its_ballot():
    settings = {"clients": 4, "epsilon": 0.05, "summary": "moments", "align": 0}
    judged = simulate(TREE.x, TREE.y, **settings)
    rows = [site.outcome.tally.smallest_row for site in judged.trials[0].session.sites.values()]
    assert judged.leakage["smallest_group"] == min(rows) >= 5
    plain = simulate(TREE.x, TREE.y, ballot=False, **settings)
    assert plain.leakage["smallest_group"] > min(rows)


def test_with_the_papers_settings_there_is_no_ballot_unless_asked_for():
    settings = {"clients": 3, "epsilon": 0.1, "min_cells": 1, "guard": "none"}
    assert not simulate(TREE.x, TREE.y, **settings).study.learning.ballot
    assert simulate(TREE.x, TREE.y, ballot=True, **settings).study.learning.ballot
    plain = simulate(TREE.x, TREE.y, clients=3, epsilon=0.1, ballot=False)
    assert plain.study.learning.holdout == 0.0


@pytest.mark.parametrize("n_classes", [2, 10, 30, 100, 250, 900, 2000])
def test_ballots_stay_small_whatever_the_number_of_classes(n_classes):
    most = most_candidates(n_classes)
    assert 0 <= most <= MOST_CANDIDATES
    assert (most == 0) == (n_classes > 999)
    assert (most == MOST_CANDIDATES) == (n_classes < 250)
    if most:
        assert ballot_layout(most, n_classes).packed_size < 4_000_000


def test_a_study_of_too_many_classes_goes_without(monkeypatch):
    monkeypatch.setattr("fedhull.rounds.ballot.most_candidates", lambda n: 0)
    made = rehearsed()
    assert made.outcome.vote.missed.startswith("there are too many classes")
    assert made.outcome.counts.accuracy > 85


def test_sites_judge_strengths_methods_and_intercepts():
    study = shared().study
    words = list(task_of(study).summary.others({}))
    assert sum("with intercept" in w for w in words) == 5
    assert sum("without intercept" in w for w in words) == 5
    assert sum("poincare-svm" in w for w in words) == 1
    of_moments = task_of(draft_study(SITES, 5, summary="moments")).summary
    moments = of_moments.other_settings(Extent(24, (24, 24)))
    assert [settings for settings in moments.values() if "alpha" in settings]
    assert [settings["most"] for settings in moments.values() if "most" in settings] == [12, 6]
