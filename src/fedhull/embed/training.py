"""Training an autoencoder's weights: from weights and observations to weights, nothing kept.

JAX is loaded when training starts, and only then.
"""

from collections.abc import Iterator
from math import ceil, cos, nan, pi

import numpy as np
from scipy.sparse import csr_matrix, issparse

from fedhull.embed.cells import Matrix
from fedhull.embed.network import DIMENSION, Observations, Settings, Weights
from fedhull.errors import InvalidInput, MissingExtra
from fedhull.progress import Progress, Report, ignore


def train(
    weights: Weights,
    data: Observations,
    settings: Settings,
    epochs: int,
    seed: int,
    report: Report = ignore,
) -> tuple[Weights, float]:
    """The weights after `epochs` passes over the data, by Adam from a fresh state, and the mean
    loss of a cell in the last of them (NaN without any).

    The learning rate falls along half a cosine and β rises to `kl_weight` in the first half of the
    training. What comes out depends on the arguments alone; none of them is changed.
    """
    if epochs < 0:
        raise InvalidInput(f"epochs must be at least 0, got {epochs}")
    if data.labels is not None and "label" not in weights:
        raise InvalidInput(
            "labels were given, but the weights have no classifier; make them with classes > 0"
        )
    if epochs == 0:
        same = {key: np.array(weights[key], dtype=np.float32) for key in sorted(weights)}
        return same, nan
    try:
        import jax.numpy as jnp

        from fedhull.embed.loss import Batch, Plan, fresh_moments, step
    except ImportError as problem:
        raise MissingExtra(
            "fitting the autoencoder needs JAX: pip install 'fedhull[embed]'"
        ) from problem

    batches = _batches(len(data), settings.batch)
    total, losses = epochs * batches, np.zeros(batches)
    rng = np.random.default_rng([seed, 1])
    now = {name: jnp.asarray(w, dtype=np.float32) for name, w in weights.items()}
    moments = fresh_moments(now)
    for i, rows in enumerate(_shuffled(len(data), settings.batch, epochs, seed)):
        done = i / total
        plan = Plan(
            rate=np.float32(settings.learning_rate * (1.0 + cos(pi * done)) / 2.0),
            kl_weight=np.float32(settings.kl_weight * min(1.0, 2.0 * done)),
            label_weight=np.float32(settings.label_weight),
            curvature=np.float32(settings.curvature),
        )
        batch = Batch(*_rows(data, rows, settings.dropout, rng))
        # NumPy's noise is the same in all versions of JAX, and JAX's takes seconds to compile
        noise = rng.standard_normal((len(rows), DIMENSION), dtype=np.float32)
        now, moments, value = step(now, moments, noise, batch, plan)
        losses[i % batches] = value
        if (i + 1) % batches == 0:
            report(Progress(f"loss {losses.mean():.1f}", (i + 1) // batches, epochs))
    trained = {name: np.array(now[name]) for name in sorted(now)}
    if not all(np.isfinite(array).all() for array in trained.values()):
        raise InvalidInput(
            f"training has diverged to NaN or infinity; use a learning_rate smaller than "
            f"{settings.learning_rate}, or scale the features to similar sizes"
        )
    return trained, float(losses.mean())


def epochs_for(steps: int, cells: int, batch: int) -> int:
    """The passes over so many cells that make at least so many steps.

    >>> epochs_for(1500, cells=3314, batch=64)
    29
    """
    return ceil(steps / _batches(cells, batch))


def _batches(cells: int, batch: int) -> int:
    return max(1, round(cells / batch))


def _shuffled(cells: int, batch: int, epochs: int, seed: int) -> Iterator[np.ndarray]:
    """Row numbers of the batches. All are of one size, which is compiled once; the few cells that
    are left over in an epoch are others in the next."""
    rng = np.random.default_rng(seed)
    batches = _batches(cells, batch)
    size = cells // batches
    for _ in range(epochs):
        order = rng.permutation(cells)
        yield from order[: batches * size].reshape(batches, size)


def _rows(
    data: Observations, rows: np.ndarray, dropout: float, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray, np.ndarray | None, np.ndarray | None]:
    """The dense batch of some rows; only so much of the data is ever dense."""
    scaled = (_dense(data.features, rows) - data.scaling.mean) / data.scaling.scale
    scaled = scaled.astype(np.float32)
    # a share of the features is hidden from the encoder, never from the decoder's likelihood
    seen = rng.random(scaled.shape, dtype=np.float32) >= dropout
    return (
        scaled * seen / np.float32(1.0 - dropout),
        scaled if data.counts is None else _dense(data.counts, rows).astype(np.float32),
        None if data.totals is None else data.totals[rows].astype(np.float32),
        None if data.labels is None else data.labels[rows].astype(np.int32),
    )


def _dense(x: Matrix, rows: np.ndarray) -> np.ndarray:
    return csr_matrix(x[rows]).toarray() if issparse(x) else np.asarray(x[rows])
