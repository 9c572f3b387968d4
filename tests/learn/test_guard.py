"""Guards: what is left out, and that no class is ever emptied."""

from dataclasses import FrozenInstanceError

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import adversarial_discs, seeds

import fedhull
from fedhull.disc.maps import centroid
from fedhull.errors import InvalidInput
from fedhull.learn.guard import Guard, outermost


def kept(guard, x, y):
    """Which of the points, all different, the guard leaves: (n,), bool."""
    left = {tuple(point) for point in Guard.parse(guard).apply(x, y).x.tolist()}
    return np.array([tuple(point) in left for point in x.tolist()])


GUARDS = ["none", "edit", "trim:0.1", "edit+trim:0.5", "trim:0.9", "edit+trim:0.1+group:5"]


@given(seeds, st.sampled_from(GUARDS), st.integers(2, 60))
def test_no_class_is_emptied(seed, guard, n):
    rng = np.random.default_rng(seed)
    x = fedhull.sample_uniform(n, 0.9, seed=rng)
    y = rng.integers(0, 4, n)
    guarded = Guard.parse(guard).apply(x, y)
    assert set(guarded.y.tolist()) == set(y.tolist())
    assert ((guarded.cells == 1) | ("group" in guard)).all()


def test_none_keeps_all_and_trim_drops_the_given_share():
    x, y = fedhull.sample_uniform(1000, 0.9, seed=0), np.repeat([0, 1], 500)
    assert (Guard.parse("none").apply(x, y).x == x).all()
    guarded = Guard.parse("trim:0.1").apply(x, y)
    assert np.bincount(guarded.y).tolist() == [450, 450]
    inside = kept("trim:0.1", x, y)
    assert (guarded.x == x[inside]).all()
    assert (guarded.y == y[inside]).all()


def test_edit_drops_what_lies_on_the_wrong_side():
    data = fedhull.make_two_class(500, gamma=0.2, seed=0)
    y = data.y.copy()
    y[:10] *= -1
    left = kept("edit", data.x, y)
    assert not left[:10].any()
    assert left[10:].mean() > 0.98


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
    left = Guard.parse("edit+trim:0.02").apply(x, y)
    guarded = left.x[left.y == 1]
    guarded = guarded[fedhull.minimal_hull(guarded)]
    assert guarded[:, 0].min() > plain[:, 0].min()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "must be one of edit, group, trim"),
        ("both", "must be one of edit, group, trim"),
        ("edit+trin:0.1", "did you mean 'trim'"),
        ("edit+none", "must be one of edit, group, trim"),
        ("edit:1", "edit takes no argument, got '1'"),
        ("trim", "0 ≤ F < 1, as in trim:0.02, got None"),
        ("trim:", "got ''"),
        ("trim:1.0", "got '1.0'"),
        ("trim:-1", "got '-1'"),
        ("trim:nan", "got 'nan'"),
        ("trim:x", "got 'x'"),
        ("group:", "a whole number K ≥ 1, as in group:5, got ''"),
        ("group:0", "got '0'"),
        ("group:-5", "got '-5'"),
        ("group:2.5", "got '2.5'"),
    ],
)
def test_an_unknown_guard_is_refused(text, words):
    with pytest.raises(
        InvalidInput, match=f"guard must be.*got {text!r}.*{words}".replace("+", r"\+")
    ):
        Guard.parse(text)


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("none", "none"),
        ("edit", "edit"),
        ("trim:.020", "trim:0.02"),
        ("trim:1e-5", "trim:0.00001"),
        ("trim:0", "trim:0"),
        ("trim:0.1+edit", "trim:0.1+edit"),
        ("edit+group:05", "edit+group:5"),
    ],
)
def test_a_guard_is_equal_by_its_parts_and_written_in_one_way(text, canonical):
    guard = Guard.parse(text)
    assert str(guard) == canonical
    assert guard == Guard.parse(canonical)
    assert hash(guard) == hash(Guard.parse(canonical))
    assert guard != Guard.parse("trim:0.7")
    assert Guard.of(guard) is guard
    assert Guard.of(text) == guard
    with pytest.raises(FrozenInstanceError):
        guard.parts = ()


def test_parts_are_applied_in_the_order_given():
    data = fedhull.make_two_class(500, gamma=0.0, seed=0)
    y = np.where(np.random.default_rng(0).random(500) < 0.1, -data.y, data.y)
    first, second = (Guard.parse(g).apply(data.x, y) for g in ("edit+trim:0.2", "trim:0.2+edit"))
    step = Guard.parse("edit").apply(*Guard.parse("trim:0.2").apply(data.x, y)[:2])
    assert (second.x == step.x).all()
    assert first.x.shape != second.x.shape or (first.x != second.x).any()


def merged(x, y, cells, curvature):
    """One point for each class."""
    groups = [y == label for label in np.unique(y)]
    return (
        np.array([centroid(x[g], cells[g], curvature) for g in groups]),
        np.unique(y),
        np.array([cells[g].sum() for g in groups]),
    )


def test_a_function_guards_and_may_make_points_of_its_own():
    x, y = fedhull.sample_uniform(60, 0.9, seed=0), np.repeat([0, 1, 2], 20)
    guard = Guard.of(merged)
    assert str(guard) == "merged"
    guarded = guard.apply(x, y)
    assert guarded.cells.tolist() == [20, 20, 20]
    np.testing.assert_allclose(guarded.x[1], centroid(x[20:40]))
    with pytest.raises(InvalidInput, match="guard must be a text"):
        Guard.of(3)


@pytest.mark.parametrize(
    ("part", "words"),
    [
        (lambda x, y, cells, k: (x[y > 0], y[y > 0], cells[y > 0]), "came or went: 0"),
        (lambda x, y, cells, k: (x, y + 1, cells), "came or went: 0, 2"),
        (lambda x, y, cells, k: (x, y, cells[:1]), "as many labels and cells as points"),
        (lambda x, y, cells, k: (x[:, :1], y, cells), "as many labels and cells as points"),
    ],
)
def test_a_part_is_held_to_its_contract(part, words):
    with pytest.raises(InvalidInput, match=words):
        Guard.of(part).apply(np.array([[0.1, 0.0], [0.2, 0.0]]), np.array([0, 1]))


@given(adversarial_discs(), st.integers(1, 7), seeds)
def test_whatever_is_grouped_is_the_mean_of_enough_cells(drawn, size, seed):
    k, x = drawn
    y = np.random.default_rng(seed).choice(["a", "b", "c"], len(x))
    _, labels, cells = Guard.parse(f"group:{size}").apply(x, y, k)
    for label, held in zip(*np.unique(y, return_counts=True), strict=True):
        mine = cells[labels == label]
        assert mine.sum() == held
        assert mine.min() >= min(size, held)
        assert (mine[:-1] == size).all()


@given(adversarial_discs(), st.integers(2, 7), seeds)
def test_a_grouping_guard_does_not_look_at_the_order_of_rows(drawn, size, seed):
    k, x = drawn
    rng = np.random.default_rng(seed)
    y, turned = rng.integers(0, 3, len(x)), rng.permutation(len(x))
    guard = Guard.parse(f"group:{size}")
    for first, second in zip(
        guard.apply(x, y, k), guard.apply(x[turned], y[turned], k), strict=True
    ):
        assert (first == second).all()


def test_a_class_of_few_cells_is_one_group_and_cells_add_up():
    x, y = fedhull.sample_uniform(49, 0.9, seed=0), np.repeat([0, 1, 2], [40, 6, 3])
    guarded = Guard.parse("group:5").apply(x, y)
    assert guarded.cells[guarded.y == 0].tolist() == [5] * 8
    assert guarded.cells[guarded.y != 0].tolist() == [6, 3]
    np.testing.assert_allclose(guarded.x[-1], centroid(x[-3:]), rtol=1e-12)
    twice = Guard.parse("group:5+group:3").apply(x, y)
    assert twice.cells[twice.y == 0].tolist() == [15, 25]


def test_points_that_stand_for_more_cells_weigh_more():
    x = fedhull.sample_uniform(40, 0.9, seed=0)
    guarded = Guard.parse("group:3+group:40").apply(x, np.zeros(40))
    by_cells = Guard.parse("group:3").apply(x, np.zeros(40))
    np.testing.assert_allclose(guarded.x[0], centroid(by_cells.x, by_cells.cells), rtol=1e-12)


@given(seeds, st.integers(3, 6))
def test_a_grouped_hull_lies_inside_the_hull_of_the_cells(seed, size):
    x = fedhull.sample_uniform(60, 0.95, seed=seed)
    grouped = Guard.parse(f"group:{size}").apply(x, np.zeros(60)).x
    assert (fedhull.minimal_hull(np.vstack((x, grouped))) < 60).all()


@pytest.mark.parametrize("gap", [1e-6, 1e-9, 1e-12])
def test_tight_classes_at_the_rim_are_grouped(gap):
    rng = np.random.default_rng(0)
    angle, radius = gap * rng.standard_normal(60), 1 - gap * rng.uniform(1, 2, 60)
    x = radius[:, None] * np.column_stack((np.cos(angle), np.sin(angle)))
    guarded = Guard.parse("group:5").apply(x, np.zeros(60))
    assert guarded.cells.tolist() == [5] * 12
    apart = fedhull.distance(guarded.x[:, None], x[None])
    assert apart.min(axis=1).max() < 2.0


@pytest.mark.parametrize("gap", [1e-6, 1e-9, 1e-12])
def test_tight_classes_at_the_rim_are_guarded(gap):
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1, 2], 100)
    angle = 2 * np.pi * y / 3 + gap * rng.standard_normal(300)
    radius = 1 - gap * rng.uniform(1, 2, 300)
    x = radius[:, None] * np.column_stack((np.cos(angle), np.sin(angle)))
    guarded = Guard.parse("edit+trim:0.02").apply(x, y)
    assert np.bincount(guarded.y).tolist() == [98, 98, 98]
