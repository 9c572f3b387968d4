"""What a site does not answer: candidates that ask about fewer cells than the minimum."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import seeds

from fedhull import LorentzClassifier, make_tree
from fedhull.learn.singling import on_islands, settled

LEAST = 5


def cells(seed, n=300):
    rng = np.random.default_rng(seed)
    return 0.8 * np.sqrt(rng.uniform(size=(n, 1))) * _on_circle(rng.uniform(0, 2 * np.pi, n))


def _on_circle(angles):
    return np.column_stack((np.cos(angles), np.sin(angles)))


def lonely(predict, x):
    """Which of a site's cells lie on an island of one candidate."""
    return on_islands([predict], predict(x)[None], x, x, LEAST, 1.0)


def island(at, radius):
    """A candidate that gives class 1 to a disc, and class 0 to all the rest."""
    return lambda points: (np.hypot(*(points - at).T) < radius).astype(int)


@given(seeds, st.floats(0.01, 0.99))
def test_a_candidate_that_singles_out_a_cell_is_noticed(seed, share):
    x = cells(seed)
    target = x[0]
    nearest = np.sort(np.hypot(*(x - target).T))
    # with so few cells on it, however large it is
    radius = share * nearest[LEAST - 1]
    found = lonely(island(target, radius), x)
    assert found[0]
    # and so is one that gives another class to all but the island
    assert lonely(lambda p: 1 - island(target, radius)(p), x)[0]


@given(seeds, st.floats(0, 2 * np.pi), st.floats(-0.7, 0.7))
def test_a_boundary_that_runs_between_cells_singles_out_nobody(seed, angle, offset):
    x = cells(seed)
    normal = _on_circle(np.array([angle]))[0]
    assert not lonely(lambda p: (p @ normal > offset).astype(int), x).any()


@pytest.mark.parametrize("intercept", [True, False])
def test_honest_models_single_out_nobody_even_at_sites_that_lack_classes(intercept):
    tree = make_tree(1500, lineages=5, seed=2)
    model = LorentzClassifier(1e4, fit_intercept=intercept).fit(tree.x, tree.y)
    for lacking in np.unique(tree.y):
        x = tree.x[tree.y != lacking][::7]
        assert not lonely(model.predict, x).any()


# Candidates that are nearly the same


def said(seed, candidates=3, n=60, classes=3):
    rng = np.random.default_rng(seed)
    logits = rng.normal(size=(candidates, n, classes)) * 2.0
    return logits - np.log(np.exp(logits).sum(axis=2, keepdims=True)), rng.integers(0, classes, n)


@given(seeds, st.integers(1, LEAST - 1))
def test_candidates_that_differ_on_a_few_cells_are_answered_alike(seed, few):
    told, true = said(seed, 1)
    other = told[0].copy()
    other[:few] = np.roll(other[:few], 1, axis=1)
    made, predicted = settled(np.stack([told[0], other]), true, LEAST)
    assert (made[0] == made[1]).all()
    assert (predicted[0] == predicted[1]).all()


@given(seeds, st.integers(1, LEAST - 1))
def test_a_change_everywhere_does_not_hide_that_a_few_predictions_differ(seed, few):
    told, true = said(seed, 1)
    other = told[0] * 1.3
    other[:few] = np.roll(other[:few], 1, axis=1)
    made, predicted = settled(np.stack([told[0], other]), true, LEAST)
    assert (predicted[0] == predicted[1]).all()
    assert (made[1] == other).all()  # its probabilities are its own


@given(seeds)
def test_candidates_that_differ_widely_are_judged_as_they_are(seed):
    told, true = said(seed)
    made, predicted = settled(told, true, LEAST)
    assert (made == told).all()
    assert (predicted == told.argmax(axis=2)).all()


@given(seeds)
def test_whatever_is_answered_no_two_candidates_differ_on_a_few_cells(seed):
    rng = np.random.default_rng(seed)
    told, true = said(seed, 1)
    made = [told[0]]
    for _ in range(5):
        other = made[rng.integers(len(made))].copy()
        rows = rng.choice(60, rng.integers(0, 12), replace=False)
        other[rows] = np.roll(other[rows], 1, axis=1)
        made.append(other)
    _, predicted = settled(np.stack(made), true, LEAST)
    for a in range(6):
        apart = (predicted[:a] != predicted[a]).sum(axis=1)
        assert ((apart == 0) | (apart >= LEAST)).all()
