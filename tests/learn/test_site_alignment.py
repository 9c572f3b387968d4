"""What a site makes of published centres: it moves fully, hardly, or not at all, as data say."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from strategies import examples, seeds

import fedhull
from fedhull.disc.isometry import rotation, translation
from fedhull.disc.maps import distance
from fedhull.learn.centres import Centres, class_centres
from fedhull.learn.site_alignment import align_site

SHIFT = translation([0.2, 0.1]) @ rotation(0.15)


def cells(seed, per_class, classes=10, spread=0.3):
    """Cells of classes that lie about the disc, the same classes for every seed."""
    rng = np.random.default_rng(seed)
    middles = fedhull.sample_uniform(classes, 0.8, seed=5)
    y = np.repeat(np.arange(classes), per_class)
    x = fedhull.exp_map(np.zeros(2), spread * rng.normal(size=(len(y), 2)) / 2.0)
    return fedhull.mobius_add(middles[y], x), y


def size(f):
    return float(distance(np.zeros(2), f.shift))


def published(seed, per_class, mine=None, classes=10):
    total = class_centres(*cells(seed, per_class, classes), classes)
    return total if mine is None else total + mine


@given(seeds)
@examples(10)
def test_ten_classes_of_a_hundred_cells_move_fully(seed):
    x, y = cells([seed, 1], 100)
    moved = SHIFT.apply(x)
    total = published([seed, 2], 2000, class_centres(moved, y, 10))
    found = align_site(moved, y, total)
    # one part in twenty-one of the published centres is the site's own
    assert distance(found.isometry.apply(moved), x).mean() < 0.2 * distance(moved, x).mean()


@given(seeds)
@examples(10)
def test_five_cells_of_one_class_hardly_move(seed):
    x, _ = cells([seed, 1], 5)
    x, y = SHIFT.apply(x[:5]), np.zeros(5, dtype=int)
    total = published([seed, 2], 200, class_centres(x, y, 10))
    assert size(align_site(x, y, total).isometry) < 0.1


@given(seeds)
@examples(10)
def test_one_class_hardly_moves_however_many_cells_it_has(seed):
    x, y = cells([seed, 1], 1000, classes=1)
    x = SHIFT.apply(x)
    total = published([seed, 2], 5000, class_centres(x, y, 1), classes=1)
    assert size(align_site(x, y, total).isometry) < 0.1


@given(seeds, st.sampled_from([5, 20, 200]))
@examples(20)
def test_a_site_measured_as_the_others_are_stays(seed, per_class):
    x, y = cells([seed, 1], per_class)
    total = published([seed, 2], 500, class_centres(x, y, 10))
    found = align_site(x, y, total)
    assert distance(found.isometry.apply(x), x).max() < 0.2
    assert size(found.isometry) < 0.1


def test_a_class_that_nobody_else_holds_is_no_evidence():
    x, y = cells(1, 50)
    own = class_centres(x, y, 10)
    current = translation([0.1, 0.0])
    assert align_site(x, y, own, current).isometry is current
    # with another site that holds two of them, only those count
    others = class_centres(x[:100], y[:100], 10)
    assert align_site(x, y, own + others).classes == (0, 1)


@given(seeds)
@examples(8)
def test_rounds_bring_sites_together(seed):
    rng = np.random.default_rng(seed)
    data = [cells([seed, s], 60) for s in range(4)]
    shifts = [
        translation(0.25 * np.array([np.cos(a), np.sin(a)])) @ rotation(t)
        for a, t in zip(rng.uniform(0, 6.28, 4), rng.normal(0, 0.2, 4), strict=True)
    ]
    data = [(f.apply(x), y) for f, (x, y) in zip(shifts, data, strict=True)]
    isometries, apart = [translation([0.0, 0.0])] * 4, []
    for _ in range(3):
        parts = [
            class_centres(f.apply(x), y, 10) for f, (x, y) in zip(isometries, data, strict=True)
        ]
        total = sum(parts, Centres.none(10, 2))
        apart.append(np.mean([distance(p.points(), total.points()).mean() for p in parts]))
        isometries = [
            align_site(x, y, total, f).isometry for f, (x, y) in zip(isometries, data, strict=True)
        ]
    assert apart[1] < 0.6 * apart[0]
    assert apart[2] < 0.4 * apart[0]


@given(seeds, st.sampled_from([0.25, 2.0]))
@examples(10)
def test_the_unit_of_length_does_not_matter(seed, curvature):
    x, y = cells([seed, 1], 30)
    moved, root = SHIFT.apply(x), np.sqrt(curvature)
    total = published([seed, 2], 300, class_centres(moved, y, 10))
    others = class_centres(cells([seed, 2], 300)[0] / root, cells([seed, 2], 300)[1], 10, curvature)
    scaled = others + class_centres(moved / root, y, 10, curvature)
    one = align_site(moved, y, total).isometry
    other = align_site(moved / root, y, scaled, curvature=curvature).isometry
    np.testing.assert_allclose(other.shift * root, one.shift, atol=1e-4)
    np.testing.assert_allclose(other.turn, one.turn, atol=1e-4)
