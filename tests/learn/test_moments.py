"""Moments add up exactly, and their classifier does not depend on who held which cell."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.linear_model import Ridge
from sklearn.utils.estimator_checks import parametrize_with_checks
from strategies import examples, seeds

import fedhull
from fedhull import HorocycleFeatures, MomentClassifier
from fedhull.errors import InvalidInput
from fedhull.learn.moments import BITS, MOST_CELLS, Extent, Moments

# scikit-learn's checks use points far outside the unit disc; with this curvature they are inside
WIDE = 1e-8


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@parametrize_with_checks([MomentClassifier(curvature=WIDE)])
def test_the_moment_classifier_passes_the_checks_of_scikit_learn(estimator, check):
    check(estimator)


def cells(seed, n=300, classes=3):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, classes, n)
    angle = 2 * np.pi * y / classes
    centres = 0.6 * np.column_stack((np.cos(angle), np.sin(angle)))
    return fedhull.exp_map(centres, 0.15 * rng.standard_normal((n, 2))), y


def moments_of(x, y, n_classes=3, **settings):
    features = HorocycleFeatures(**settings).fit_transform(x)
    return Moments.of(features, y, n_classes)


def same(a, b):
    return all((u == v).all() for u, v in zip(vars(a).values(), vars(b).values(), strict=True))


@given(seeds, st.integers(1, 6))
@examples(30)
def test_moments_of_parts_add_up_exactly_to_those_of_the_whole(seed, parts):
    x, y = cells(seed)
    part = np.random.default_rng(seed).integers(0, parts, len(y))
    total = Moments.none(20, 3)
    for p in range(parts):
        if (part == p).any():
            total += moments_of(x[part == p], y[part == p], n_features=20, seed=seed)
    assert same(total, moments_of(x, y, n_features=20, seed=seed))


@given(seeds, st.integers(2, 8))
@examples(20)
def test_the_model_of_summed_moments_is_that_of_pooled_cells_bit_for_bit(seed, sites):
    x, y = cells(seed)
    owner = np.random.default_rng(seed).integers(0, sites, len(y))
    total = Moments.none(32, 3)
    for site in np.unique(owner):
        total += moments_of(x[owner == site], y[owner == site], n_features=32, seed=5)
    pooled = MomentClassifier(32, seed=5).fit(x, y)
    summed = MomentClassifier.from_moments(total, [0, 1, 2], dimension=2, seed=5)
    assert (summed.coef_ == pooled.coef_).all()
    assert (summed.predict_proba(x) == pooled.predict_proba(x)).all()


def test_cells_in_chunks_give_the_model_of_all_cells():
    x, y = cells(0, n=20_000)
    whole = MomentClassifier(24).fit(x, y)
    chunks = MomentClassifier(24)
    for begin in range(0, len(x), 3_333):
        chunks.partial_fit(x[begin : begin + 3_333], y[begin : begin + 3_333], classes=[0, 1, 2])
    assert (whole.coef_ == chunks.coef_).all()


def test_weights_are_those_of_ridge_regression_on_the_features():
    x, y = cells(1)
    model = MomentClassifier(20, alpha=0.5, seed=2).fit(x, y)
    features = HorocycleFeatures(20, seed=2).fit_transform(x)
    ridge = Ridge(alpha=0.5, fit_intercept=False).fit(features, np.eye(3)[y])
    np.testing.assert_allclose(model.coef_, ridge.coef_.T, atol=1e-4)


def test_separable_classes_are_learned_and_probabilities_are_probabilities():
    x, y = cells(2)
    names = np.array(["a", "b", "c"])[y]
    model = MomentClassifier(64).fit(x, names)
    assert model.score(x, names) > 0.97
    probabilities = model.predict_proba(x)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0)
    assert (probabilities > 0.0).all()
    assert (model.classes_[probabilities.argmax(axis=1)] == model.predict(x)).all()


@pytest.mark.parametrize("width", [0.1, 0.2, 0.3])
def test_probabilities_are_about_as_certain_as_they_are_right(width):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 6000)
    angle = 2 * np.pi * y / 3
    centres = 0.4 * np.column_stack((np.cos(angle), np.sin(angle)))
    x = fedhull.exp_map(centres, width * rng.standard_normal((6000, 2)))
    model = MomentClassifier().fit(x[:3000], y[:3000])
    certain = model.predict_proba(x[3000:]).max(axis=1)
    right = model.predict(x[3000:]) == y[3000:]
    assert abs(certain.mean() - right.mean()) < 0.06


def test_sums_of_as_many_cells_as_allowed_stay_in_the_range_that_the_field_has():
    assert 2 * (MOST_CELLS << 2 * BITS) + 1 <= 2**61 - 1
    full = Moments.of(np.ones((3, 2)), np.zeros(3, dtype=int), 1)
    assert full.gram.max() == 3 << 2 * BITS


@given(seeds, st.integers(1, 12), st.integers(1, 4))
def test_packing_is_undone_by_unpacking(seed, n_features, n_classes):
    x, y = cells(seed, n=30, classes=n_classes)
    moments = moments_of(x, y, n_classes, n_features=n_features)
    extent = Extent.of(moments.counts, n_features, dimension=2)
    cut = moments.cut(extent)
    packed = cut.packed(extent)
    assert packed.shape == (extent.size,)
    assert same(Moments.unpacked(packed, extent), cut)
    moments.check()
    cut.check(extent)


@given(
    st.lists(st.integers(0, 400), min_size=1, max_size=12),
    st.integers(1, 128),
    st.integers(2, 5),
    st.integers(1, 8),
)
def test_of_cells_never_as_many_numbers_are_known_as_they_have_coordinates(
    counts, most, dimension, least
):
    extent = Extent.of(counts, most, dimension, least)
    known = [n for n in counts if n >= least]
    for n, m in zip(counts, extent.of_class, strict=True):
        assert m < dimension * n if n >= least else m == 0
        assert m <= extent.features <= most
    if sum(known) >= 3:
        sums = extent.features * (extent.features + 1) // 2 + sum(extent.of_class)
        assert sums < dimension * sum(known) or extent.features == 1
    # fewer cells never allow more
    fewer = Extent.of([n // 2 for n in counts], most, dimension, least)
    assert fewer.features <= extent.features
    assert all(a <= b for a, b in zip(fewer.of_class, extent.of_class, strict=True))


def changed(moments, **values):
    return Moments(**(vars(moments) | values))


def test_moments_that_no_cells_have_are_refused():
    x, y = cells(3)
    good = moments_of(x, y, n_features=8)
    good.check()
    less = good.gram.copy()
    less[2, 2] = 0
    lopsided = good.gram.copy()
    lopsided[0, 1] += 1
    for bad, words in [
        (changed(good, counts=good.counts - 200), "counts must be ≥ 0"),
        (changed(good, counts=good.counts * 0), "counts must be ≥ 0"),
        (changed(good, sums=good.sums + (400 << BITS)), "sums must not exceed"),
        (changed(good, gram=good.gram * 4), "gram must be symmetric"),
        (changed(good, gram=lopsided), "gram must be symmetric"),
        (changed(good, gram=less), "contradict each other"),
        (changed(good, sums=good.sums[:, :3]), r"sums \(J, D\)"),
    ]:
        with pytest.raises(InvalidInput, match=words):
            bad.check()
    with pytest.raises(InvalidInput, match="contradict"):
        MomentClassifier.from_moments(changed(good, gram=less), ["a", "b", "c"], dimension=2)
    with pytest.raises(InvalidInput, match="are 63 numbers"):
        Moments.unpacked(np.zeros(5, dtype=np.int64), Extent(8, (8, 8, 8)))
    with pytest.raises(InvalidInput, match="name each of the 3"):
        MomentClassifier.from_moments(good, ["a", "b"], dimension=2)


def test_what_cannot_be_fitted_is_refused():
    x, y = cells(4)
    with pytest.raises(InvalidInput, match="alpha must be a number > 0"):
        MomentClassifier(alpha=0.0).fit(x, y)
    with pytest.raises(InvalidInput, match="classes must be given"):
        MomentClassifier().partial_fit(x, y)
    with pytest.raises(InvalidInput, match="none but the classes"):
        MomentClassifier(8).partial_fit(x, y, classes=[0, 1])


def test_a_model_file_keeps_every_prediction(tmp_path):
    x, y = cells(5)
    model = MomentClassifier(16, seed=3, scales=(0.5, 1.0, 2.0)).fit(
        x, np.array(["a", "b", "c"])[y]
    )
    fedhull.save_model(model, tmp_path / "model.json")
    again = fedhull.load_model(tmp_path / "model.json")
    assert isinstance(again, MomentClassifier)
    assert (again.predict_proba(x) == model.predict_proba(x)).all()
