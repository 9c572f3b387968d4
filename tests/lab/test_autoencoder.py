import subprocess
import sys
import textwrap

import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_matrix

from fedhull.embed.cells import Cells
from fedhull.embed.embedder import EMBEDDERS, embedder_from_bytes, load_embedder
from fedhull.errors import InvalidInput
from fedhull_lab.autoencoder import loss
from fedhull_lab.autoencoder.embedder import AutoencoderEmbedder
from fedhull_lab.autoencoder.network import Scaling, train

GENES = [f"gene{i}" for i in range(40)]
SMALL = {"hidden": 16, "steps": 60, "batch": 20}


@pytest.fixture(scope="module")
def labels() -> np.ndarray:
    return np.repeat(["b", "a", "c"], 40)


@pytest.fixture(scope="module")
def cells(labels) -> Cells:
    """Three kinds of cells, each with genes of its own."""
    rng = np.random.default_rng(0)
    kind = np.unique(labels, return_inverse=True)[1]
    rate = np.where(np.arange(40) % 3 == kind[:, None], 3.0, 0.3)
    return Cells(csr_matrix(rng.poisson(rate)), GENES)


@pytest.fixture(scope="module")
def continuous(cells) -> Cells:
    noise = np.random.default_rng(1).normal(0, 0.1, cells.x.shape)
    return Cells(np.log1p(cells.x.toarray()) - 0.5 + noise, GENES)


@pytest.fixture(scope="module")
def fitted(cells) -> AutoencoderEmbedder:
    return AutoencoderEmbedder(**SMALL).fit(cells)


@pytest.fixture(scope="module")
def supervised(cells, labels) -> AutoencoderEmbedder:
    return AutoencoderEmbedder(**SMALL).fit(cells, labels)


def spread(points: np.ndarray, labels: np.ndarray) -> float:
    """Variance between the kinds of cells as a share of all variance."""
    between = sum(
        (labels == name).mean() * (points[labels == name].mean(0) - points.mean(0)) ** 2
        for name in np.unique(labels)
    )
    return float(between.sum() / points.var(0).sum())


def test_commands_and_files_know_it_by_name():
    assert EMBEDDERS["autoencoder"] is AutoencoderEmbedder


def test_kinds_of_cells_come_apart(cells, labels):
    points = AutoencoderEmbedder(**SMALL | {"steps": 400}).fit(cells).transform(cells)
    assert points.shape == (120, 2)
    assert spread(points, labels) > 0.7


def test_kinds_come_apart_in_features_that_are_no_counts(continuous, labels):
    embedder = AutoencoderEmbedder(**SMALL | {"steps": 400}).fit(continuous)
    assert spread(embedder.transform(continuous), labels) > 0.7


def test_transform_equals_the_encoder_that_was_trained(fitted, cells):
    weights = {key: jnp.asarray(array) for key, array in fitted.weights.items()}
    features = fitted.preparation.apply(cells).toarray()
    scaled = (features - fitted.scaling.mean) / fitted.scaling.scale
    mean, _ = loss.encode(weights, jnp.asarray(scaled, dtype=jnp.float32))
    r = np.linalg.norm(mean, axis=1, keepdims=True)
    np.testing.assert_allclose(fitted.transform(cells), np.tanh(r / 2) * mean / r, atol=1e-4)


def test_dense_and_sparse_cells_get_the_same_points(fitted, cells):
    dense = Cells(cells.x.toarray(), GENES)
    np.testing.assert_allclose(fitted.transform(dense), fitted.transform(cells), atol=1e-12)


def test_order_of_genes_and_extra_genes_do_not_matter_after_fitting(continuous):
    embedder = AutoencoderEmbedder(**SMALL).fit(continuous)
    order = np.random.default_rng(2).permutation(40)
    extra = np.random.default_rng(3).normal(size=(120, 5))
    other = Cells(
        np.hstack((extra, continuous.x[:, order])),
        ["x1", "x2", "x3", "x4", "x5", *(GENES[i] for i in order)],
    )
    np.testing.assert_allclose(embedder.transform(other), embedder.transform(continuous), atol=1e-9)


def test_a_cells_point_does_not_depend_on_the_other_cells(fitted, cells):
    np.testing.assert_allclose(
        fitted.transform(cells[7:9]), fitted.transform(cells)[7:9], atol=1e-12
    )


@given(size=st.floats(1, 1e6), k=st.sampled_from([0.3, 1.0, 2.5]))
def test_points_stay_clearly_inside_the_disc(size, k):
    rng = np.random.default_rng(0)
    embedder = AutoencoderEmbedder(steps=0, counts=False, hidden=4, curvature=k)
    embedder.fit(Cells(rng.normal(0, 1, (20, 40)), GENES))
    x = rng.normal(0, size, (20, 40))
    points = embedder.transform(Cells(x, GENES))
    assert (np.linalg.norm(points, axis=1) * np.sqrt(k) <= 0.99 + 1e-12).all()


def test_same_seed_same_embedder(fitted, cells):
    assert AutoencoderEmbedder(**SMALL).fit(cells).hash == fitted.hash
    assert AutoencoderEmbedder(**SMALL, seed=1).fit(cells).hash != fitted.hash


def test_a_file_gives_back_the_same_bytes_and_points(supervised, cells, tmp_path):
    supervised.save(tmp_path / "embedder.npz")
    again = load_embedder(tmp_path / "embedder.npz")
    assert again.to_bytes() == supervised.to_bytes()
    np.testing.assert_array_equal(again.transform(cells), supervised.transform(cells))


def test_training_goes_on_from_a_file(fitted, cells):
    again = embedder_from_bytes(fitted.to_bytes())
    assert isinstance(again, AutoencoderEmbedder)
    one, two = (train(e.weights, e.observe(cells), e, epochs=1, seed=5)[0] for e in (fitted, again))
    assert all(np.array_equal(one[key], two[key]) for key in fitted.weights)
    assert any((one[key] != fitted.weights[key]).any() for key in fitted.weights)


def test_only_supervised_embedders_say_so_in_the_file(fitted, supervised):
    for embedder, said in ((fitted, False), (supervised, True)):
        assert embedder_from_bytes(embedder.to_bytes()).supervised is embedder.supervised is said
    assert embedder_from_bytes(supervised.to_bytes()).classes == ["a", "b", "c"]


def test_labels_draw_classes_apart(fitted, supervised, cells, labels):
    assert spread(supervised.transform(cells), labels) > spread(fitted.transform(cells), labels)


def test_curvature_is_learned_only_when_asked(fitted, cells):
    learner = AutoencoderEmbedder(**SMALL, learn_curvature=True).fit(cells)
    assert fitted.curvature == 1.0 != learner.curvature
    again = embedder_from_bytes(learner.to_bytes())
    assert again.curvature == learner.curvature
    np.testing.assert_array_equal(again.transform(cells), learner.transform(cells))


def test_fitting_again_forgets_the_first_fit(cells, continuous, fitted):
    embedder = AutoencoderEmbedder(**SMALL).fit(continuous)
    assert embedder.fit(cells).hash == fitted.hash


def test_a_likelihood_can_be_chosen(cells):
    embedder = AutoencoderEmbedder(steps=0, likelihood="gaussian").fit(cells)
    assert embedder.observe(cells).counts is None


def test_scaling_gives_mean_zero_and_deviation_one(continuous, cells):
    for x in (continuous.x, cells.x.astype(float)):
        scaling = Scaling.of(x)
        dense = x if isinstance(x, np.ndarray) else x.toarray()
        scaled = (dense - scaling.mean) / scaling.scale
        np.testing.assert_allclose(scaled.mean(0), 0, atol=1e-9)
        np.testing.assert_allclose(scaled.std(0), 1, atol=1e-9)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"hidden": 0}, "hidden must be at least 1, got 0"),
        ({"steps": -1}, "steps must be at least 0, got -1"),
        ({"learning_rate": 0.0}, "learning_rate must be > 0, got 0.0"),
        ({"dropout": 1.0}, r"dropout must be in \[0, 1\), got 1.0"),
        ({"likelihood": "poisson"}, "likelihood must be one of"),
        ({"curvature": 0}, "curvature must be a number k > 0"),
    ],
)
def test_settings_are_checked_at_the_door(settings, words):
    with pytest.raises(InvalidInput, match=words):
        AutoencoderEmbedder(**settings)


def test_what_cannot_be_embedded_is_said(cells, continuous, labels, supervised):
    with pytest.raises(InvalidInput, match="call fit first"):
        AutoencoderEmbedder().transform(cells)
    with pytest.raises(InvalidInput, match="labels must hold one for each of 120 cells, got 3"):
        AutoencoderEmbedder().fit(cells, labels[:3])
    with pytest.raises(InvalidInput, match="labels must be among"):
        supervised.observe(cells, np.repeat("d", 120))
    with pytest.raises(InvalidInput, match="must hold raw counts"):
        AutoencoderEmbedder(likelihood="negative-binomial").fit(continuous)


def test_a_damaged_file_is_refused(fitted):
    settings, arrays = fitted.state()
    arrays["encoder_mean"] = arrays["encoder_mean"][:-1]
    with pytest.raises(InvalidInput, match="weights must have the shapes"):
        AutoencoderEmbedder.from_state(settings, arrays)


def test_without_jax_fitting_says_how_to_get_it_and_placing_cells_works(fitted, tmp_path):
    fitted.save(tmp_path / "embedder.npz")
    code = f"""
        import sys
        sys.modules["jax"] = sys.modules["optax"] = None
        import numpy as np
        from fedhull.embed.cells import Cells
        from fedhull.embed.embedder import load_embedder
        from fedhull.errors import MissingExtra
        embedder = load_embedder({str(tmp_path / "embedder.npz")!r})
        cells = Cells(np.arange(1600).reshape(40, 40) % 7, [f"gene{{i}}" for i in range(40)])
        print(embedder.transform(cells).shape)
        try:
            embedder.fit(cells)
        except MissingExtra as problem:
            print(problem)
    """
    run = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, check=True
    )
    assert run.stdout.splitlines() == [
        "(40, 2)",
        "fitting the autoencoder needs JAX: pip install 'fedhull[embed]'",
    ]
