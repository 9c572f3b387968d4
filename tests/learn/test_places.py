"""Places of classes: they move with isometries, and what no cells can make is refused."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import curvatures, examples, seeds

import fedhull
from fedhull.disc.isometry import rotation, translation
from fedhull.errors import InvalidInput
from fedhull.learn.places import LENGTH, class_place, slot_places
from fedhull.learn.sketch import class_sketch, slot_means


def cells(seed, n=40, spread=(0.5, 0.2), where=0.8):
    rng = np.random.default_rng(seed)
    x = fedhull.exp_map(np.zeros(2), rng.normal(size=(n, 2)) * spread / 2.0)
    return fedhull.mobius_add(fedhull.sample_uniform(1, where, seed=seed)[0], x)


@given(seeds, st.floats(0.0, 1.0), st.floats(-3.0, 3.0), st.integers(2, 40))
def test_places_move_with_isometries(seed, length, turn, n):
    x = cells(seed, n)
    f = translation([0.0, np.tanh(length / 2.0)]) @ rotation(turn)
    moved = slot_places([class_place(x)]).moved(f)
    direct = slot_places([class_place(f.apply(x))])
    # numbers are rounded to multiples of 2⁻¹⁰, and an isometry of this length stretches by up to 3
    np.testing.assert_allclose(moved.centres, direct.centres, atol=3 * 2.0**-10)
    np.testing.assert_allclose(moved.scatter, direct.scatter, atol=5 * 1.5**2 * 2.0**-10)


@given(seeds, curvatures)
def test_the_unit_of_length_does_not_matter(seed, curvature):
    x = cells(seed)
    there = class_place(x / np.sqrt(curvature), curvature)
    assert np.abs(there - class_place(x)).max() <= 2**14  # one step of rounding


@given(seeds)
@examples(20)
def test_cells_far_off_hardly_move_a_place(seed):
    x = cells(seed, 60)
    centre, far = (slot_places([class_place(c)]).centres[0] for c in (x, np.vstack((x, x[:1]))))
    x[0] = fedhull.mobius_add(x[0], [0.999, 0.0])
    off = slot_places([class_place(x)]).centres[0]
    seen = abs((off - centre) / (1.0 - np.conj(centre) * off))
    assert 2.0 * np.arctanh(seen) < 4 * 1.5 / 60
    assert abs(far - centre) < 0.1


@given(seeds)
@examples(20)
def test_the_sketch_of_a_place_is_that_of_normal_cells_there(seed):
    x = cells(seed, 20_000)
    sketch = slot_means([class_sketch(x, seed=3)], [len(x)])
    np.testing.assert_allclose(slot_places([class_place(x)]).sketches(3), sketch, atol=0.04)


@given(seeds, st.integers(1, 10))
def test_every_number_lies_between_minus_one_and_one(seed, n):
    x = 0.9999999 * fedhull.sample_uniform(n, 0.9999, seed=seed)
    place = class_place(x)
    assert place.shape == (LENGTH,)
    assert (np.abs(place) <= 2**24).all()
    slot_places([place])


@pytest.mark.parametrize(
    "numbers",
    [[1.0, 0.1, 0.1, 0.0, 0.1], [0.0, 0.0, 0.1, 0.5, 0.1], [0.0, 0.0, 0.9, 0.0, 0.9]],
)
def test_what_no_cells_can_make_is_refused(numbers):
    with pytest.raises(InvalidInput, match="no cells have the place of slot 0"):
        slot_places([np.round(np.array(numbers) * 2**24).astype(int)])


def test_places_are_of_the_disc():
    with pytest.raises(InvalidInput, match="shape \\(n, 2\\)"):
        class_place(np.zeros((5, 3)))
    with pytest.raises(InvalidInput, match="shape \\(n, 5\\)"):
        slot_places(np.zeros((5, 3)))
