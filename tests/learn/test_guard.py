"""Guards: what is left out, and that no class is ever emptied."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import seeds

import fedhull
from fedhull.errors import InvalidInput
from fedhull.learn.guard import Guard, outermost

GUARDS = ["none", "edit", "trim:0.1", "edit+trim:0.5", "trim:0.9"]


@given(seeds, st.sampled_from(GUARDS), st.integers(2, 60))
def test_no_class_is_emptied(seed, guard, n):
    rng = np.random.default_rng(seed)
    x = fedhull.sample_uniform(n, 0.9, seed=rng)
    y = rng.integers(0, 4, n)
    kept = Guard.parse(guard).keep(x, y)
    assert set(y[kept].tolist()) == set(y.tolist())


def test_none_keeps_all_and_trim_drops_the_given_share():
    x, y = fedhull.sample_uniform(1000, 0.9, seed=0), np.repeat([0, 1], 500)
    assert Guard.parse("none").keep(x, y).all()
    kept = Guard.parse("trim:0.1").keep(x, y)
    assert [int(kept[y == c].sum()) for c in (0, 1)] == [450, 450]


def test_edit_drops_what_lies_on_the_wrong_side():
    data = fedhull.make_two_class(500, gamma=0.2, seed=0)
    y = data.y.copy()
    y[:10] *= -1
    kept = Guard.parse("edit").keep(data.x, y)
    assert not kept[:10].any()
    assert kept[10:].mean() > 0.98


def test_the_outermost_points_are_the_outer_hulls():
    x = fedhull.sample_uniform(300, 0.9, seed=0)
    hull = fedhull.minimal_hull(x)
    assert set(outermost(x, len(hull), 1.0).tolist()) == set(hull.tolist())
    some = outermost(x, 5, 1.0)
    assert set(some.tolist()) <= set(hull.tolist())
    more = outermost(x, len(hull) + 3, 1.0)
    assert set(hull.tolist()) < set(more.tolist())
    assert len(more) == len(hull) + 3


def test_guarded_hulls_overlap_less():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 2000)
    x = fedhull.exp_map(
        np.where(y[:, None] == 1, [0.4, 0.0], [-0.4, 0.0]), 0.25 * rng.standard_normal((2000, 2))
    )
    plain = x[y == 1][fedhull.minimal_hull(x[y == 1])]
    kept = Guard.parse("edit+trim:0.02").keep(x, y)
    guarded = x[kept & (y == 1)]
    guarded = guarded[fedhull.minimal_hull(guarded)]
    assert guarded[:, 0].min() > plain[:, 0].min()


@pytest.mark.parametrize("text", ["", "edit:1", "trim", "trim:1.0", "trim:-1", "trim:x", "both"])
def test_an_unknown_guard_is_refused(text):
    with pytest.raises(InvalidInput, match="guard must be"):
        Guard.parse(text)


@pytest.mark.parametrize("gap", [1e-6, 1e-9, 1e-12])
def test_tight_classes_at_the_rim_are_guarded(gap):
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1, 2], 100)
    angle = 2 * np.pi * y / 3 + gap * rng.standard_normal(300)
    radius = 1 - gap * rng.uniform(1, 2, 300)
    x = radius[:, None] * np.column_stack((np.cos(angle), np.sin(angle)))
    kept = Guard.parse("edit+trim:0.02").keep(x, y)
    assert [int(kept[y == c].sum()) for c in range(3)] == [98, 98, 98]
