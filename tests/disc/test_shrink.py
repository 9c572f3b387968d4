"""Shrunk alignment: exact where pairs are, nothing where they say nothing, and laws between."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracles import reflection
from strategies import curvatures, examples, seeds

from fedhull.disc.align import align_shrunk
from fedhull.disc.isometry import rotation, translation
from fedhull.disc.maps import distance, geodesic
from fedhull.errors import InvalidInput

PAIRS = st.integers(3, 10)


def pairs(seed, n, length=0.5, turn=0.2, curvature=1.0):
    """Points about the disc, an isometry about as large as told, and the points after it."""
    rng = np.random.default_rng(seed)
    angle, where = rng.uniform(0.0, 2.0 * np.pi, (2, n))
    radius = np.tanh(rng.uniform(0.3, 1.5, n) / np.sqrt(curvature) * np.sqrt(curvature) / 2.0)
    x = radius[:, None] * np.column_stack((np.cos(angle), np.sin(angle))) / np.sqrt(curvature)
    way = np.array([np.cos(where[0]), np.sin(where[0])])
    f = translation(np.tanh(length / 2.0) * way / np.sqrt(curvature), curvature)
    f = f @ rotation(turn * rng.choice([-1.0, 1.0]), curvature)
    return x, f, f.apply(x)


def size(f):
    """How far it moves the origin, and by how much it turns."""
    moved = float(distance(np.zeros(2), f.shift, f.curvature)) * np.sqrt(f.curvature)
    return moved, abs(float(np.arctan2(f.turn[1, 0], f.turn[0, 0])))


@given(seeds, PAIRS, st.floats(0.0, 1.0), st.floats(0.0, 0.8), curvatures)
@examples(40)
def test_exact_pairs_are_recovered(seed, n, length, turn, curvature):
    x, f, y = pairs(seed, n, length, turn, curvature)
    found = align_shrunk(x, y, np.full(n, 1e-9) / curvature, curvature=curvature)
    probes = rotation(1.0, curvature).apply(x)
    apart = distance(found.isometry.apply(probes), f.apply(probes), curvature)
    assert (np.sqrt(curvature) * apart < 1e-3).all()
    assert np.sqrt(curvature) * found.misfit < 1e-3
    assert not found.isometry.reflects


@given(seeds, PAIRS, st.floats(0.0, 2.0 * np.pi), st.floats(-4.0, 0.0))
@examples(40)
def test_turning_both_sides_turns_the_isometry(seed, n, angle, deep):
    x, _, y = pairs(seed, n)
    q, v = rotation(angle), np.full(n, 10.0**deep)
    plain = align_shrunk(x, y, v, scales=[0.3]).isometry
    turned = align_shrunk(q.apply(x), q.apply(y), v, scales=[0.3]).isometry
    expected = (q @ plain @ q.inverse()).apply(x)
    # the prior's four points make a square, which is round but for the fourth order
    assert (distance(turned.apply(x), expected) < 0.03).all()


@given(seeds, PAIRS, st.floats(-4.0, 0.0))
@examples(40)
def test_mirroring_both_sides_mirrors_the_isometry(seed, n, deep):
    x, _, y = pairs(seed, n)
    m, v = reflection(), np.full(n, 10.0**deep)
    plain, mirrored = align_shrunk(x, y, v), align_shrunk(m.apply(x), m.apply(y), v)
    expected = (m @ plain.isometry @ m).apply(x)
    assert (distance(mirrored.isometry.apply(x), expected) < 1e-4).all()


@given(seeds, PAIRS, st.floats(-4.0, 0.0))
@examples(40)
def test_source_and_target_swapped_give_the_inverse(seed, n, deep):
    x, _, y = pairs(seed, n)
    v = np.full(n, 10.0**deep)
    there = align_shrunk(x, y, v, scales=[0.3]).isometry
    back = align_shrunk(y, x, v, scales=[0.3]).isometry
    assert (distance((back @ there).apply(x), x) < 1e-4).all()


@given(seeds, PAIRS, curvatures, st.floats(-4.0, 0.0))
@examples(40)
def test_the_unit_of_length_does_not_matter(seed, n, curvature, deep):
    x, _, y = pairs(seed, n)
    v, root = np.full(n, 10.0**deep), np.sqrt(curvature)
    one = align_shrunk(x, y, v).isometry
    other = align_shrunk(x / root, y / root, v / curvature, curvature=curvature).isometry
    np.testing.assert_allclose(other.shift * root, one.shift, atol=1e-5)
    np.testing.assert_allclose(other.turn, one.turn, atol=1e-5)


@given(seeds, PAIRS)
@examples(25)
def test_the_less_certain_the_pairs_the_smaller_the_isometry(seed, n):
    x, _, y = pairs(seed, n)
    costs = []
    for v in (1e-4, 1e-2, 1.0, 100.0):
        moved, turned = size(align_shrunk(x, y, np.full(n, v), scales=[0.3]).isometry)
        costs.append(moved**2 + (2.0 * turned) ** 2)
    assert all(b <= a * 1.05 + 1e-6 for a, b in pairwise(costs))
    assert costs[-1] < 0.01


@given(seeds)
@examples(25)
def test_one_pair_with_the_scatter_of_five_cells_hardly_moves(seed):
    x, _, far = pairs(seed, 1)
    y = geodesic(x, far, 0.3 / distance(x, far))
    moved, _ = size(align_shrunk(x, y, [0.2 / 5 * 2.0 + 0.01]).isometry)
    assert moved < 0.05


def test_pairs_that_differ_by_chance_alone_set_nothing_in_motion():
    moves = []
    for seed in range(40):
        x, _, _ = pairs(seed, 6)
        noise = 0.1 * np.random.default_rng(seed).standard_normal((6, 2))
        y = np.array([translation(p).apply(v / 2.0) for p, v in zip(x, noise, strict=True)])
        moves.append(size(align_shrunk(x, y, np.full(6, 0.01)).isometry)[0])
    assert np.median(moves) < 0.02


@pytest.mark.parametrize(
    ("variances", "scales", "words"),
    [
        ([1.0, 0.0, 1.0], [0.3], "variances must be"),
        ([1.0, np.nan, 1.0], [0.3], "variances must be"),
        ([1.0, 1.0], [0.3], "variances \\(n,\\)"),
        ([1.0, 1.0, 1.0], [], "scales must be"),
        ([1.0, 1.0, 1.0], [0.3, -1.0], "scales must be"),
    ],
)
def test_what_makes_no_sense_is_refused(variances, scales, words):
    x, _, y = pairs(0, 3)
    with pytest.raises(InvalidInput, match=words):
        align_shrunk(x, y, variances, scales=scales)
