"""The turn of three points is never wrong: the filter may abstain, the integers may not."""

import numpy as np
from hypothesis import assume, given
from hypothesis import strategies as st
from oracles import klein_fractions, turn
from strategies import adversarial_discs, curvatures, examples

from fedhull.disc.orientation import UNDECIDED, ExactDisc, turn_filtered, unit_scale

coordinates = st.floats(-0.7, 0.7, allow_subnormal=True)


def both_answers(points, curvature):
    scale, unit_curvature = unit_scale(curvature)
    filtered = turn_filtered(points * scale, 0, 1, 2, unit_curvature)
    return filtered, ExactDisc(points, curvature).turn(0, 1, 2)


@given(adversarial_discs(largest=3))
@examples(500)
def test_filter_abstains_or_agrees_with_exact_rationals(drawn):
    curvature, points = drawn
    assume(len(points) == 3)
    filtered, exact = both_answers(points, curvature)
    truth = turn(*klein_fractions(points, curvature))
    assert exact == truth
    assert filtered in (truth, UNDECIDED)


@given(st.lists(coordinates, min_size=6, max_size=6), curvatures)
@examples(500)
def test_any_floats_are_decided_exactly(values, curvature):
    points = np.array(values).reshape(3, 2) / np.sqrt(curvature)
    filtered, exact = both_answers(points, curvature)
    truth = turn(*klein_fractions(points, curvature))
    assert exact == truth
    assert filtered in (truth, UNDECIDED)


@given(curvatures)
def test_filter_decides_ordinary_triples(curvature):
    rng = np.random.default_rng(0)
    triples = rng.uniform(-0.7, 0.7, (1000, 3, 2)) / np.sqrt(curvature)
    assert UNDECIDED not in {both_answers(t, curvature)[0] for t in triples}


@given(st.floats(1e-100, 1e100))
def test_unit_scale_brings_every_disc_to_a_radius_of_at_most_one(curvature):
    scale, unit_curvature = unit_scale(curvature)
    assert 1.0 <= unit_curvature < 4.0
    assert unit_curvature * scale**2 == curvature


def test_nearer_compares_hyperbolic_distances():
    points = np.array([[0.5, 0.0], [0.9, 0.0], [0.0, 0.0]])
    # d(.5,.9) = 1.846 > d(.5,0) = 1.099, though .9 is the nearer one to the eye
    assert ExactDisc(points, 1.0).nearer(0, 1, 2) == -1
