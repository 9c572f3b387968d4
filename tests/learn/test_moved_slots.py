"""Matching slots of sites that are moved and turned against each other."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import examples, seeds

import fedhull
from fedhull.disc.isometry import rotation, translation
from fedhull.errors import InvalidInput
from fedhull.learn.grouping import share_matched
from fedhull.learn.moved_slots import match_moved_slots
from fedhull.learn.places import class_place, slot_places
from fedhull.learn.registration import Template, register, slot_weights


def study(seed, shift, sites=4, classes=6, held=0.8, cells=60):
    """Slots of sites moved by `shift`: places, counts, owners, true classes, isometries."""
    rng = np.random.default_rng(seed)
    middles = fedhull.exp_map(np.zeros(2), rng.normal(size=(classes, 2)))
    scatter = rng.uniform(0.1, 0.4, classes)
    places, counts, owners, truth, moves = [], [], [], [], []
    for site in range(sites):
        angle, turn = rng.uniform(0.0, 2.0 * np.pi), rng.normal(0.0, 0.4 * shift)
        way = np.tanh(shift / 2.0) * np.array([np.cos(angle), np.sin(angle)])
        moves.append(translation(way) @ rotation(turn))
        for c in rng.permutation(classes):
            if rng.random() < held:
                x = fedhull.exp_map(np.zeros(2), scatter[c] * rng.normal(size=(cells, 2)) / 2.0)
                x = moves[-1].apply(fedhull.mobius_add(middles[c], x))
                places.append(class_place(x))
                counts.append(cells)
                owners.append(site)
                truth.append(int(c))
    return places, counts, owners, truth, moves


@pytest.mark.parametrize(("shift", "seed"), [(0.2, 0), (0.5, 1)])
def test_slots_of_moved_sites_are_matched(shift, seed):
    places, counts, owners, truth, _ = study(seed, shift, sites=3)
    found = match_moved_slots(places, counts, owners, 6)
    assert share_matched(found.groups, truth) > 0.9
    assert found.certainty.mean() > 0.6


def test_sites_that_were_measured_alike_are_not_moved():
    places, counts, owners, truth, _ = study(0, 0.0, sites=3)
    found = match_moved_slots(places, counts, owners, 6)
    assert share_matched(found.groups, truth) == 1.0
    for f in found.isometries:
        assert not f.shift.any()


def test_isometries_bring_slots_of_a_class_together():
    places, counts, owners, truth, moves = study(7, 0.5, sites=3, held=1.0)
    found = match_moved_slots(places, counts, owners, 6)
    assert share_matched(found.groups, truth) == 1.0
    assert len(found.isometries) == len(moves)
    there = [
        slot_places([p]).moved(found.isometries[o]).centres[0]
        for p, o in zip(places, owners, strict=True)
    ]
    here = slot_places(places).centres
    for centres, bound in ((here, np.inf), (there, 0.1)):
        spread = [np.std(np.array(centres)[np.array(truth) == c]) for c in range(6)]
        assert np.mean(spread) < bound


@given(seeds, st.integers(1, 8))
@examples(4)
def test_two_slots_of_a_site_are_never_of_one_class(seed, n):
    rng = np.random.default_rng(seed)
    places = [class_place(rng.uniform(-0.6, 0.6, (6, 2))) for _ in range(n)]
    owners = rng.integers(0, 3, n)
    found = match_moved_slots(places, np.full(n, 6), owners)
    pairs = list(zip(owners.tolist(), found.groups.tolist(), strict=True))
    assert len(set(pairs)) == len(pairs)
    assert ((found.certainty >= 0.0) & (found.certainty <= 1.0)).all()
    assert len(found.isometries) == len(set(owners.tolist()))


def test_where_an_isometry_explains_two_matches_neither_is_certain():
    # two classes alike, a step apart: a site with one of them may hold either
    rng = np.random.default_rng(0)
    blob = fedhull.exp_map(np.zeros(2), 0.1 * rng.normal(size=(100, 2)))
    places, owners = [], []
    for site in range(3):
        for step in (-0.15, 0.15):
            places.append(class_place(fedhull.mobius_add([step, 0.0], blob)))
            owners.append(site)
    places.append(class_place(fedhull.mobius_add([0.01, 0.0], blob)))
    found = match_moved_slots(places, np.full(7, 100), [*owners, 3], 2)
    assert found.doubtful[-1]


@given(seeds, st.floats(0.0, 0.5), st.floats(-0.3, 0.3))
@examples(5)
def test_registration_undoes_an_isometry(seed, length, turn):
    rng = np.random.default_rng(seed)
    z = fedhull.exp_map(np.zeros(2), rng.normal(size=(6, 2)))
    blob = fedhull.exp_map(np.zeros(2), 0.1 * rng.normal(size=(50, 2)))
    places = slot_places([class_place(fedhull.mobius_add(c, blob)) for c in z])
    weights = slot_weights(np.full(6, 50.0))
    f = translation([np.tanh(length / 2.0), 0.0]) @ rotation(turn)
    best = register(places.moved(f), weights, Template(places, weights))[0]
    together = places.moved(f).moved(best.isometry)
    seen = np.abs(together.centres - places.centres[best.classes])
    assert (best.classes >= 0).all()
    assert seen.max() < 0.2


def test_counts_and_owners_are_asked_for_each_slot():
    places, counts, owners, _, _ = study(0, 0.0)
    with pytest.raises(InvalidInput, match="counts and owners"):
        match_moved_slots(places, counts[1:], owners)
