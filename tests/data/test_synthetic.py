"""The paper's two-class data: the right side, the right margin, no lonely class."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import curvatures, examples, seeds

import fedhull
from fedhull.errors import InvalidInput


@given(seeds, curvatures, st.sampled_from([0.0, 0.2, 0.8]), st.sampled_from([0.0, 0.01, 0.5]))
@examples(50)
def test_two_classes_on_either_side_of_the_geodesic_with_margin(seed, curvature, mu, gamma):
    radius = 0.95 / np.sqrt(curvature)
    gamma = gamma / np.sqrt(curvature)
    data = fedhull.make_two_class(
        500, mu=mu, gamma=gamma, radius=radius, curvature=curvature, seed=seed
    )
    signed = fedhull.hyperplane_distance(data.x, data.p, data.w, curvature)
    assert len(data.x) == len(data.y) == 500
    assert (np.sign(signed) == data.y).all()
    assert np.abs(signed).min() > gamma
    assert np.bincount(data.y + 1)[[0, 2]].min() >= 25
    np.testing.assert_allclose(np.linalg.norm(data.p), mu * radius, rtol=1e-12)
    np.testing.assert_allclose(np.linalg.norm(data.w), 1.0)


def test_same_seed_same_data():
    a, b = (fedhull.make_two_class(100, seed=3) for _ in range(2))
    assert a.x.tolist() == b.x.tolist()
    assert a.y.tolist() == b.y.tolist()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"n": 1}, "n must be a whole number of at least 2"),
        ({"mu": 1.0}, "mu must be"),
        ({"gamma": -1}, "gamma must be"),
        ({"gamma": 50.0}, "try a smaller gamma"),
        ({"mu": "a"}, "mu must be at least 0"),
        ({"gamma": None}, "gamma must be a distance"),
        ({"n": 100, "mu": 0.4, "gamma": 3.65}, "no geodesic with mu = 0.4 and gamma = 3.65"),
    ],
)
def test_bad_input_is_refused_in_a_sentence(options, words):
    with pytest.raises(InvalidInput, match=words):
        fedhull.make_two_class(**{"n": 50, **options})
