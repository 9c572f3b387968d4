"""The classifiers: scikit-learn's own checks, geometry, and the paper's numbers."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.utils.estimator_checks import parametrize_with_checks
from strategies import examples, seeds

import fedhull
from fedhull import HardMarginGeodesic, LorentzClassifier, PoincareSVC
from fedhull.errors import InvalidInput, OutsideDisc
from fedhull.learn.svm import EuclideanSVC, platt

# scikit-learn's checks use points far outside the unit disc; with this curvature they are inside
WIDE = 1e-8


# HardMarginGeodesic refuses classes that no geodesic separates, and there is no tag to say so. The
# data of these checks have such classes: their labels are drawn at random or their clouds overlap.
OVERLAP = "its two classes cannot be separated"
EXPECTED_FAILURES = dict.fromkeys(
    [
        "check_classifier_data_not_an_array",
        "check_classifiers_train",
        "check_dtype_object",
        "check_estimators_dtypes",
        "check_estimators_nan_inf",
        "check_fit_check_is_fitted",
        "check_fit_idempotent",
        "check_fit_score_takes_y",
        "check_n_features_in",
        "check_n_features_in_after_fitting",
        "check_supervised_y_2d",
    ],
    OVERLAP,
)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@parametrize_with_checks(
    [
        LorentzClassifier(curvature=WIDE),
        LorentzClassifier(C=10.0, curvature=WIDE, fit_intercept=False),
        PoincareSVC(curvature=WIDE),
        EuclideanSVC(),
        HardMarginGeodesic(curvature=WIDE),
    ],
    expected_failed_checks=lambda estimator: (
        EXPECTED_FAILURES if isinstance(estimator, HardMarginGeodesic) else {}
    ),
)
def test_scikit_learns_own_checks(estimator, check):
    check(estimator)


def three_classes(seed, n=300):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, n)
    centres = 0.6 * np.column_stack((np.cos(2 * np.pi * y / 3), np.sin(2 * np.pi * y / 3)))
    return fedhull.exp_map(centres, 0.1 * rng.standard_normal((n, 2))), y


@pytest.mark.parametrize(
    "model", [LorentzClassifier(), PoincareSVC(C=10.0), EuclideanSVC(C=10.0)], ids=lambda m: str(m)
)
def test_separable_classes_are_learned_and_probabilities_are_probabilities(model):
    x, y = three_classes(0)
    names = np.array(["a", "b", "c"])[y]
    model.fit(x, names)
    assert model.score(x, names) > 0.97
    probabilities = model.predict_proba(x)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0)
    assert (model.classes_[probabilities.argmax(axis=1)] == model.predict(x)).all()


@given(seeds, st.booleans(), st.sampled_from([1.0, 0.3]))
@examples(30)
def test_lorentz_boundary_is_where_two_classes_are_equally_likely(seed, intercept, curvature):
    x, y = three_classes(seed, 60)
    x = x / np.sqrt(curvature)
    model = LorentzClassifier(C=10.0, fit_intercept=intercept, curvature=curvature).fit(x, y)
    for first, second in ((0, 1), (1, 2), (2, 0)):
        found = model.boundary(first, second)
        if found is None:
            assert intercept
            continue
        p, w, offset = found
        logits = model.decision_function(x)
        difference = logits[:, first] - logits[:, second]
        away = fedhull.hyperplane_distance(x, p, w, curvature) - offset
        assert (np.sign(difference) == np.sign(away))[np.abs(away) > 1e-6].all()
        if not intercept:
            assert offset == 0.0


def test_calibration_keeps_probabilities_from_being_far_too_sure():
    # few points of overlapping classes, hardly any penalty: now and then the plain fit separates
    # them by chance, and is then certain of what it gets wrong
    def draw(n, rng):
        y = rng.integers(0, 3, n)
        angle = 2 * np.pi * y / 3
        centres = 0.3 * np.column_stack((np.cos(angle), np.sin(angle)))
        return fedhull.exp_map(centres, 0.3 * rng.standard_normal((n, 2))), y

    losses = np.empty((10, 2))
    for seed in range(10):
        rng = np.random.default_rng(seed)
        train, (x, y) = draw(30, rng), draw(1000, rng)
        plain, honest = (LorentzClassifier(C=1e6, calibrate=c).fit(*train) for c in (False, True))
        assert plain.predict(x).tolist() == honest.predict(x).tolist()
        for i, model in enumerate((plain, honest)):
            probability = model.predict_proba(x)[np.arange(1000), y]
            losses[seed, i] = -np.log(np.maximum(probability, 1e-300)).mean()
    assert losses[:, 0].max() > 5
    assert losses[:, 1].max() < 1.5
    assert losses[:, 1].mean() < losses[:, 0].mean()


def test_lorentz_without_intercept_is_invariant_under_rotation():
    x, y = three_classes(1)
    turn = np.array([[0.6, 0.8], [-0.8, 0.6]])
    a = LorentzClassifier(C=10.0).fit(x, y).predict_proba(x)
    b = LorentzClassifier(C=10.0).fit(x @ turn, y).predict_proba(x @ turn)
    np.testing.assert_allclose(a, b, atol=1e-6)


def test_class_weights_move_the_boundary():
    data = fedhull.make_two_class(400, gamma=0.0, seed=0)
    noisy = np.where(np.random.default_rng(0).random(400) < 0.3, -data.y, data.y)
    plain = LorentzClassifier(C=1.0).fit(data.x, noisy)
    heavy = LorentzClassifier(C=1.0, class_weight={1: 20.0, -1: 1.0}).fit(data.x, noisy)
    assert (heavy.predict_proba(data.x)[:, 1] > plain.predict_proba(data.x)[:, 1]).mean() > 0.95


@pytest.mark.parametrize("dimension", [1, 3, 6])
def test_other_dimensions_work(dimension):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 100)
    x = 0.1 * rng.standard_normal((100, dimension)) / dimension
    x[:, 0] += np.where(y == 1, 0.4, -0.4)
    for model in (LorentzClassifier(), PoincareSVC(C=10.0)):
        assert model.fit(x, y).score(x, y) > 0.97


def test_poincare_svc_hard_margin_separates_and_refuses():
    data = fedhull.make_two_class(300, mu=0.3, gamma=0.3, seed=2)
    model = PoincareSVC(C=np.inf, n_pairs=5).fit(data.x, data.y)
    assert model.score(data.x, data.y) == 1.0
    with pytest.raises(InvalidInput, match="no hard margin"):
        PoincareSVC(C=np.inf).fit([[0.1, 0.0], [-0.1, 0.0], [0.0, 0.1], [0.0, -0.1]], [0, 0, 1, 1])


def hull_boundary(points, steps=60):
    corners = points[fedhull.minimal_hull(points)]
    t = np.linspace(0, 1, steps)
    return np.concatenate(
        [fedhull.geodesic(a, b, t) for a, b in zip(corners, np.roll(corners, -1, 0), strict=True)]
    )


@pytest.mark.parametrize("seed", range(4))
def test_hard_margin_is_the_widest_that_a_dense_search_finds(seed):
    data = fedhull.make_two_class(40, mu=0.4, gamma=0.15, seed=seed)
    model = HardMarginGeodesic().fit(data.x, data.y)
    sides = [hull_boundary(data.x[data.y == c]) for c in (-1, 1)]

    def margin(angle, depth):
        w = np.array([np.cos(angle), np.sin(angle)])
        p = np.tanh(depth / 2) * w
        return min(
            -fedhull.hyperplane_distance(sides[0], p, w).max(),
            fedhull.hyperplane_distance(sides[1], p, w).min(),
        )

    # it reaches what it claims, and no geodesic of the whole disc does better
    reached = np.abs(model.decision_function(np.concatenate(sides))).min()
    assert model.margin_ - 1e-9 <= reached <= model.margin_ + 1e-2
    best = max(
        margin(angle, depth)
        for angle in np.linspace(0, 2 * np.pi, 60)
        for depth in np.linspace(-3, 3, 41)
    )
    # the hulls' boundaries are sampled, so that a little less of them is in the way
    assert best <= model.margin_ + 1e-2
    assert model.score(data.x, data.y) == 1.0


def test_hard_margin_of_two_points_and_of_an_edge():
    model = HardMarginGeodesic().fit([[0.5, 0.0], [-0.5, 0.0]], ["b", "a"])
    assert model.margin_ == pytest.approx(fedhull.distance([0.5, 0.0], [0.0, 0.0]))
    # a corner against the middle of an edge
    model = HardMarginGeodesic().fit([[0.3, 0.5], [0.3, -0.5], [-0.3, 0.0]], [1, 1, 0])
    edge = fedhull.geodesic_midpoint([0.3, 0.5], [0.3, -0.5])
    assert model.margin_ == pytest.approx(fedhull.distance(edge, [-0.3, 0.0]) / 2)


@pytest.mark.parametrize("dimension", [1, 3, 10])
def test_hard_margin_off_the_plane(dimension):
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 20)
    x = 0.3 * rng.uniform(-1, 1, (40, dimension)) / np.sqrt(dimension)
    x[:, 0] += np.where(y == 1, 0.4, -0.4)
    model = HardMarginGeodesic().fit(x, y)
    assert model.score(x, y) == 1.0
    # all of the hulls keep the margin, and something of each is no farther away
    away = np.abs(model.decision_function(x))
    assert away.min() >= model.margin_ - 1e-6
    if dimension == 1:
        assert [away[y == c].min() for c in (0, 1)] == pytest.approx([model.margin_] * 2)


def test_hard_margin_of_a_disc_in_space_is_that_of_the_disc():
    data = fedhull.make_two_class(60, mu=0.4, gamma=0.15, seed=0)
    turn, _ = np.linalg.qr(np.random.default_rng(0).standard_normal((3, 3)))
    raised = np.column_stack((data.x, np.zeros(60))) @ turn
    flat, solid = (HardMarginGeodesic().fit(x, data.y) for x in (data.x, raised))
    assert solid.margin_ == pytest.approx(flat.margin_, abs=1e-7)
    assert solid.predict(raised).tolist() == flat.predict(data.x).tolist()


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: LorentzClassifier().fit([[2.0, 0.0], [0.0, 0.0]], [0, 1]), OutsideDisc, "row 0"),
        (lambda: PoincareSVC().fit([[2.0, 0.0], [0.0, 0.0]], [0, 1]), OutsideDisc, "row 0"),
        (lambda: LorentzClassifier().fit([[0.1, 0.0]] * 2, [1, 1]), InvalidInput, "one class"),
        (lambda: LorentzClassifier(C=-1).fit([[0.1, 0], [0, 0]], [0, 1]), InvalidInput, "C must"),
        (
            lambda: HardMarginGeodesic().fit(
                [[0.1, 0], [-0.1, 0], [0, 0.1], [0, -0.1]], [0, 0, 1, 1]
            ),
            InvalidInput,
            "hulls meet",
        ),
        (lambda: HardMarginGeodesic().fit([[2.0], [0.2]], [0, 1]), OutsideDisc, "row 0"),
        (lambda: HardMarginGeodesic().fit([[0.1, 0]] * 3, [0, 1, 2]), InvalidInput, "two classes"),
    ],
)
def test_bad_input_is_refused_in_a_sentence(call, error, words):
    with pytest.raises(error, match=words):
        call()


def test_platt_is_the_maximum_likelihood_sigmoid():
    rng = np.random.default_rng(0)
    scores = rng.standard_normal(5000)
    positive = rng.random(5000) < 1 / (1 + np.exp(-2 * scores + 0.5))
    a, b = platt(scores, positive)
    assert a == pytest.approx(-2, abs=0.2)
    assert b == pytest.approx(0.5, abs=0.1)
    assert platt(scores, positive, shift=False)[1] == 0.0
