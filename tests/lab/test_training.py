import jax.numpy as jnp
import numpy as np
import pytest
from scipy.special import gammaln
from scipy.stats import nbinom

from fedhull.embed.cells import Cells, Preparation
from fedhull.errors import InvalidInput
from fedhull_lab.autoencoder.embedder import AutoencoderEmbedder
from fedhull_lab.autoencoder.loss import Batch, Plan, loss, negative_binomial, step
from fedhull_lab.autoencoder.network import Settings, epochs_for, initial_weights, train

GENES = [f"gene{i}" for i in range(12)]
SETTINGS = {"hidden": 8, "batch": 10}


@pytest.fixture(scope="module")
def cells() -> Cells:
    return Cells(np.random.default_rng(0).poisson(2.0, (33, 12)), GENES)


@pytest.fixture(scope="module")
def embedder(cells) -> AutoencoderEmbedder:
    return AutoencoderEmbedder(steps=0, **SETTINGS).fit(cells, np.resize(["a", "b"], len(cells)))


@pytest.fixture(scope="module")
def data(embedder, cells):
    return embedder.observe(cells)


def flatten(weights) -> np.ndarray:
    return np.concatenate([np.ravel(weights[key]) for key in sorted(weights)])


def test_zero_epochs_return_the_weights(embedder, data):
    after, _ = train(embedder.weights, data, embedder, epochs=0, seed=0)
    np.testing.assert_array_equal(flatten(after), flatten(embedder.weights))


def test_training_depends_on_its_arguments_alone_and_changes_none(embedder, data):
    before = flatten(embedder.weights)
    once, twice, other = (train(embedder.weights, data, embedder, 2, seed)[0] for seed in (0, 0, 1))
    np.testing.assert_array_equal(flatten(once), flatten(twice))
    np.testing.assert_array_equal(flatten(embedder.weights), before)
    assert (flatten(once) != flatten(other)).any()


def test_trained_weights_have_the_keys_shapes_and_kinds_of_the_first(embedder, data):
    after, _ = train(embedder.weights, data, embedder, 1, 0)
    assert list(after) == list(embedder.weights) == sorted(after)
    for key, array in after.items():
        assert array.shape == embedder.weights[key].shape
        assert array.dtype == np.float32


def test_weights_are_the_same_for_the_same_seed():
    preparation = Preparation(GENES, counts=True)
    once, twice, other = (initial_weights(preparation, Settings(), seed) for seed in (0, 0, 1))
    np.testing.assert_array_equal(flatten(once), flatten(twice))
    assert (flatten(once) != flatten(other)).any()


def test_only_labels_move_the_classifier(embedder, cells):
    labels = np.resize(["a", "b"], len(cells))
    without, _ = train(embedder.weights, embedder.observe(cells), embedder, 1, 0)
    with_labels, _ = train(embedder.weights, embedder.observe(cells, labels), embedder, 1, 0)
    assert not without["label"].any()
    assert with_labels["label"].any()


def test_labels_without_a_classifier_are_refused(embedder, cells):
    plain = initial_weights(embedder.preparation, embedder, seed=0)
    data = embedder.observe(cells, np.resize(["a", "b"], len(cells)))
    with pytest.raises(InvalidInput, match="the weights have no classifier"):
        train(plain, data, embedder, 1, 0)


def test_negative_epochs_are_refused(embedder, data):
    with pytest.raises(InvalidInput, match="epochs must be at least 0, got -1"):
        train(embedder.weights, data, embedder, -1, 0)


def test_every_epoch_is_reported_and_the_last_loss_is_returned(embedder, data):
    heard = []
    _, last = train(embedder.weights, data, embedder, 3, 0, report=heard.append)
    assert [(progress.done, progress.total) for progress in heard] == [(1, 3), (2, 3), (3, 3)]
    assert heard[-1].step == f"loss {last:.1f}"


def test_a_site_with_one_cell_can_train(embedder, cells):
    few = embedder.observe(cells[:1])
    after, _ = train(embedder.weights, few, embedder, 2, 0)
    assert (flatten(after) != flatten(embedder.weights)).any()


def test_an_empty_cell_harms_nobody(embedder):
    empty = embedder.observe(Cells(np.zeros((33, 12), dtype=int), GENES))
    assert np.isfinite(flatten(train(embedder.weights, empty, embedder, 2, 0)[0])).all()


def test_training_lowers_the_loss(embedder, data):
    batch = Batch(
        jnp.asarray((data.features - data.scaling.mean) / data.scaling.scale, jnp.float32),
        jnp.asarray(data.counts, jnp.float32),
        jnp.asarray(data.totals, jnp.float32),
    )
    plan = Plan(0.0, 1.0, 0.0, 1.0)
    noise = jnp.zeros((len(data), 2))
    after, _ = train(embedder.weights, data, embedder, 30, 0)
    assert loss(after, noise, batch, plan) < loss(embedder.weights, noise, batch, plan)


def test_the_end_of_a_training_moves_weights_less_than_its_beginning(embedder, data, monkeypatch):
    plans, moves = [], []

    def watched(weights, moments, noise, batch, plan):
        before = flatten(weights)
        after = step(weights, moments, noise, batch, plan)
        plans.append(plan)
        moves.append(abs(flatten(after[0]) - before).sum())
        return after

    monkeypatch.setattr("fedhull_lab.autoencoder.loss.step", watched)
    train(embedder.weights, data, embedder, 10, 0)
    assert sum(moves[-3:]) < sum(moves[:3])
    rates, kl_weights = ([float(getattr(plan, n)) for plan in plans] for n in ("rate", "kl_weight"))
    assert rates == sorted(rates, reverse=True)
    assert kl_weights[0] == 0.0
    assert kl_weights == sorted(kl_weights)
    assert set(kl_weights[len(plans) // 2 :]) == {embedder.kl_weight}


def test_small_data_get_as_many_steps_as_large():
    assert epochs_for(1000, cells=64, batch=64) == 1000
    assert epochs_for(1000, cells=64_000, batch=64) == 1
    assert epochs_for(0, cells=64, batch=64) == 0


def test_negative_binomial_is_scipys_without_the_factorial():
    rng = np.random.default_rng(0)
    x = rng.poisson(3.0, (5, 12))
    logits, log_theta = rng.normal(size=(5, 12)), rng.normal(size=12)
    totals = x.sum(axis=1).astype(float)
    rates = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True) * totals[:, None]
    theta = np.exp(log_theta)
    ours = negative_binomial(*(jnp.asarray(a, jnp.float32) for a in (x, totals, logits, log_theta)))
    theirs = nbinom.logpmf(x, theta, theta / (theta + rates)).sum(axis=1)
    np.testing.assert_allclose(ours - gammaln(x + 1).sum(axis=1), theirs, rtol=1e-4)
