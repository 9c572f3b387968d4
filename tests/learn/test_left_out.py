"""What candidates are tried on: whole sites, nothing that was fitted to, and hulls inside out."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from strategies import adversarial_discs, seeds

import fedhull
from fedhull import LorentzClassifier, PoincareSVC
from fedhull.disc.hull import minimal_hull
from fedhull.errors import InvalidInput
from fedhull.learn.left_out import insides, leave_out
from fedhull.learn.model import fit_to_corners


def corners_of_sites(data, n_sites, epsilon, radius=0.95):
    """The corners of the quantized hulls of equal sites, their classes and sites."""
    quantizer = fedhull.Quantizer(epsilon, radius)
    site = np.arange(len(data.x)) % n_sites
    hulls = [
        (
            quantizer.decode(fedhull.epsilon_hull(data.x[(site == s) & (data.y == c)], quantizer)),
            c,
            s,
        )
        for s in range(n_sites)
        for c in (-1, 1)
    ]
    sizes = [len(hull) for hull, _, _ in hulls]
    return (
        np.concatenate([hull for hull, _, _ in hulls]),
        np.repeat([c for _, c, _ in hulls], sizes),
        np.repeat([s for _, _, s in hulls], sizes),
    )


@given(seeds, st.integers(2, 12), st.integers(2, 5), st.integers(20, 120))
def test_a_site_is_never_tried_by_what_was_fitted_to_it(seed, n_sites, n_classes, n):
    rng = np.random.default_rng(seed)
    x = fedhull.sample_uniform(n, 0.9, seed=rng)
    y, site = rng.integers(0, n_classes, n), rng.integers(0, n_sites, n)
    found = leave_out(x, y, site, 1.0, 0)
    # where single points are left out, all weigh alike
    assume(found is not None and np.ptp(found.weights) > 0)
    site_of = {tuple(point): s for point, s in zip(x.tolist(), site.tolist(), strict=True)}
    assert found.weights.sum() == pytest.approx(1.0)
    for number, rows in enumerate(found.fitted):
        tried = found.fold == number
        corners = set(map(tuple, found.points[tried].tolist())) & site_of.keys()
        assert not {site_of[corner] for corner in corners} & set(site[rows].tolist())
        # every class that is asked for was there to be learned
        assert set(found.targets[tried].tolist()) <= set(y[rows].tolist())


@pytest.mark.parametrize(
    "site", [None, np.zeros(60), np.repeat([0, 1, 2], 20)], ids=["none", "one", "a class each"]
)
def test_points_are_left_out_where_sites_cannot_be(site):
    x, y = fedhull.sample_uniform(60, 0.9, seed=0), np.repeat([0, 1, 2], 20)
    found = leave_out(x, y, site if site is None else site.astype(int), 1.0, 0)
    assert sorted(map(tuple, found.points.tolist())) == sorted(map(tuple, x.tolist()))
    for number, rows in enumerate(found.fitted):
        fitted = set(map(tuple, x[rows].tolist()))
        assert not fitted & set(map(tuple, found.points[found.fold == number].tolist()))


def test_a_class_of_one_site_is_learned_and_not_asked_for():
    rng = np.random.default_rng(0)
    x, y = fedhull.sample_uniform(90, 0.9, seed=0), np.repeat([0, 1, 2], 30)
    site = np.where(y == 2, 0, rng.integers(0, 3, 90))
    found = leave_out(x, y, site, 1.0, 0)
    assert set(found.targets.tolist()) == {0, 1}
    model = LorentzClassifier().fit(x, y, groups=site)
    assert model.classes_.tolist() == [0, 1, 2]
    assert np.isfinite(model.coef_).all()


def test_nothing_is_left_out_of_two_points():
    assert leave_out(np.array([[0.1, 0.0], [0.2, 0.0]]), np.array([0, 1]), None, 1.0, 0) is None


@given(adversarial_discs(), seeds)
def test_insides_lie_inside_their_hulls(drawn, seed):
    k, points = drawn
    points = points * 0.9
    hulls = np.random.default_rng(seed).integers(0, 3, len(points))
    inner = insides(points, hulls, k).reshape(4, *points.shape)
    for hull in np.unique(hulls):
        middle, *others = inner[:, hulls == hull]
        assert np.ptp(middle, axis=0).max() == 0.0
        corners = points[hulls == hull]
        away = fedhull.distance(corners, middle, k)
        for share, place in zip((0.25, 0.5, 0.75), others, strict=True):
            np.testing.assert_allclose(
                fedhull.distance(place, middle, k), share * away, rtol=1e-6, atol=1e-9 / np.sqrt(k)
            )


def test_insides_make_no_hull_larger():
    points = fedhull.sample_uniform(40, 0.95, seed=0)
    inner = insides(points, np.zeros(40, dtype=int), 1.0)
    assert (minimal_hull(np.vstack((points, inner))) < 40).all()


@pytest.mark.parametrize("epsilon", [2.0, 4.0])
def test_wide_bins_cost_little_where_a_geodesic_separates(epsilon):
    # with an intercept, and folds over corners, five to twenty points of these are lost
    for seed in range(3):
        data = fedhull.make_two_class(4000, gamma=0.01, radius=0.95, seed=seed)
        model = fit_to_corners(LorentzClassifier(), *corners_of_sites(data, 10, epsilon))
        assert model.score(data.x, data.y) > 0.985


def test_an_intercept_is_kept_where_one_class_lies_inside_the_other():
    rng = np.random.default_rng(0)
    angle = 2 * np.pi * rng.random(600)
    y = np.arange(600) % 2
    radius = np.where(y == 1, 0.8, 0.3) + 0.05 * rng.random(600)
    x = radius[:, None] * np.column_stack((np.cos(angle), np.sin(angle)))
    model = LorentzClassifier().fit(x, y)
    assert model.fit_intercept_
    assert model.score(x, y) == 1.0


def test_the_order_of_corners_and_the_names_of_sites_hardly_matter():
    data = fedhull.make_two_class(2000, gamma=0.1, radius=0.95, seed=0)
    x, y, site = corners_of_sites(data, 5, 0.5)
    first = LorentzClassifier().fit(x, y, site)
    named = LorentzClassifier().fit(x, y, np.array(list("abcde"))[site])
    assert (first.coef_ == named.coef_).all()


def test_a_classifier_hears_of_sites_only_if_it_asks():
    x, y, site = corners_of_sites(fedhull.make_two_class(500, gamma=0.2, seed=0), 3, 0.1)
    assert fit_to_corners(PoincareSVC(C=10.0), x, y, site).score(x, y) > 0.9
    with pytest.raises(InvalidInput, match=r"groups must name the site of each of the \d+ points"):
        LorentzClassifier().fit(x, y, groups=site[:-1])
    with pytest.raises(InvalidInput, match="fit_intercept must be True, False or 'auto'"):
        LorentzClassifier(fit_intercept="yes").fit(x, y)


def test_what_is_left_of_one_class_only_decides_nothing():
    # without the second site there is a single class, and nothing to fit
    rng = np.random.default_rng(0)
    x = np.concatenate(
        [rng.normal([-0.4, 0.0], 0.05, (8, 2)), rng.normal([0.4, 0.0], 0.05, (8, 2))]
    )
    y, site = np.repeat([0, 1], 8), np.repeat([0, 1, 2], [4, 4, 8])
    y[:2] = 0
    model = LorentzClassifier().fit(x, y, groups=site)
    assert model.score(x, y) == 1.0
