"""The autoencoder's settings and weights, its encoder in NumPy alone, and its training.

Weights are a dictionary of float32 arrays. JAX is loaded when training starts, and only then.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from math import ceil, cos, nan, pi
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_matrix, issparse

from fedhull import exp_map
from fedhull.errors import InvalidInput, MissingExtra
from fedhull.extend import Preparation, Progress, Report, check_curvature, ignore

Matrix = Any  # (n, g), a NumPy array or a SciPy CSR matrix
Weights = dict[str, np.ndarray]
LIKELIHOODS = ("negative-binomial", "gaussian")
DIMENSION = 2
# Points stay where ‖x‖√k ≤ 0.99: hulls, grids and float32 have room there, and 0.99 is already at
# a distance of 5.3/√k from the origin.
FARTHEST = 2.0 * float(np.arctanh(0.99))
_LEAST = {
    "n_genes": 2,
    "hidden": 1,
    "batch": 1,
    "steps": 0,
    "seed": 0,
    "kl_weight": 0.0,
    "label_weight": 0.0,
}


@dataclass
class Settings:
    """Settings of an autoencoder and its training.

    `counts` and `likelihood` are the data's choice when None: raw counts get the negative binomial,
    other features the Gaussian. `steps` gradient steps are made in `fit`, rounded up to whole
    epochs: small data need as many as large. `dropout` is the share of features that the encoder
    does not see in a step, so that it places cells it was not fitted to as well.
    """

    n_genes: int = 2000
    counts: bool | None = None
    likelihood: str | None = None
    hidden: int = 300
    curvature: float = 1.0
    learn_curvature: bool = False
    kl_weight: float = 2.0
    label_weight: float = 10.0
    steps: int = 1500
    batch: int = 64
    learning_rate: float = 1e-3
    dropout: float = 0.3
    seed: int = 0

    def __post_init__(self) -> None:
        self.curvature = check_curvature(self.curvature)
        for name, least in _LEAST.items():
            if getattr(self, name) < least:
                raise InvalidInput(f"{name} must be at least {least}, got {getattr(self, name)}")
        if self.learning_rate <= 0:
            raise InvalidInput(f"learning_rate must be > 0, got {self.learning_rate}; try 0.001")
        if not 0 <= self.dropout < 1:
            raise InvalidInput(f"dropout must be in [0, 1), got {self.dropout}; try 0.3")
        if self.likelihood not in (None, *LIKELIHOODS):
            raise InvalidInput(
                f"likelihood must be one of {', '.join(LIKELIHOODS)}, got {self.likelihood!r}"
            )


class Scaling(NamedTuple):
    """Mean and deviation of each gene's feature, (g,): the encoder sees (x − mean)/scale."""

    mean: np.ndarray
    scale: np.ndarray

    @classmethod
    def of(cls, features: Matrix) -> "Scaling":
        """Such that these features have mean 0 and deviation 1."""
        mean = np.asarray(features.mean(axis=0), dtype=np.float64).ravel()
        square = features.multiply(features) if issparse(features) else np.square(features)
        variance = np.asarray(square.mean(axis=0), dtype=np.float64).ravel() - mean**2
        return cls(mean, np.sqrt(np.where(variance > 1e-12, variance, 1.0)))


@dataclass(frozen=True)
class Observations:
    """Training data of n cells.

    features : (n, g) as `Preparation.apply` gives them; counts : (n, g) of the same genes, and
    totals : (n,) over all genes, for the negative binomial, or both None for the Gaussian;
    labels : (n,) numbers of classes, or None; scaling : of the features.
    """

    features: Matrix
    scaling: Scaling
    counts: Matrix | None = None
    totals: np.ndarray | None = None
    labels: np.ndarray | None = None

    def __len__(self) -> int:
        return int(self.features.shape[0])


def initial_weights(
    preparation: Preparation, settings: Settings, seed: int, classes: int = 0
) -> Weights:
    """Weights before any training: He's normal initialisation, the same for the same seed.

    With `classes` there is a classifier of the latent mean; with `settings.learn_curvature`, k.

    >>> weights = initial_weights(Preparation(["a", "b"], True), Settings(hidden=3), seed=0)
    >>> sorted(weights)[:3]
    ['decoder_hidden', 'decoder_hidden_bias', 'decoder_output']
    """
    rng = np.random.default_rng(seed)
    genes, hidden = len(preparation.genes), settings.hidden

    def normal(inputs: int, outputs: int, share: float) -> np.ndarray:
        return rng.normal(0.0, share * np.sqrt(2.0 / inputs), (inputs, outputs))

    weights = {
        "encoder_hidden": normal(genes, hidden, 1.0),
        "encoder_hidden_bias": np.zeros(hidden),
        "encoder_mean": normal(hidden, DIMENSION, 0.5),
        "encoder_mean_bias": np.zeros(DIMENSION),
        "encoder_log_sigma": normal(hidden, DIMENSION, 0.1),
        # a narrow posterior at first: the decoder learns from the mean before it learns to blur
        "encoder_log_sigma_bias": np.full(DIMENSION, -1.0),
        "decoder_hidden": normal(DIMENSION, hidden, 1.0),
        "decoder_hidden_bias": np.zeros(hidden),
        "decoder_output": normal(hidden, genes, 0.3),
        "decoder_output_bias": np.zeros(genes),
        "log_dispersion": np.zeros(genes),
    }
    if classes:
        weights["label"] = np.zeros((DIMENSION + 1, classes))
        weights["label_bias"] = np.zeros(classes)
    if settings.learn_curvature:
        weights["log_curvature"] = np.array(np.log(settings.curvature))
    return {key: weights[key].astype(np.float32) for key in sorted(weights)}


def encode(
    weights: Weights, features: Matrix, scaling: Scaling, curvature: float = 1.0
) -> np.ndarray:
    """The points of features (n, g) in the disc, (n, 2); sparse features stay sparse.

    The network's output t (n, 2) becomes the tangent vector u = b·tanh(‖t‖/b)·t/‖t‖ at the origin
    with b = 2·artanh(0.99), and the point tanh(‖u‖/2)·u/‖u‖/√k: nothing is cut off, and all points
    have ‖x‖√k < 0.99.
    """
    w = {key: np.asarray(array, dtype=np.float64) for key, array in weights.items()}
    # the scaling is taken into the first layer: (x−m)/s·W + b = x·(W/s) + (b − (m/s)·W)
    first = w["encoder_hidden"] / scaling.scale[:, None]
    hidden = np.maximum(features @ first + (w["encoder_hidden_bias"] - scaling.mean @ first), 0.0)
    t = hidden @ w["encoder_mean"] + w["encoder_mean_bias"]
    r = np.hypot.reduce(t, axis=1)[:, None] / FARTHEST
    u = t * np.where(r > 0.0, np.tanh(r) / np.where(r > 0.0, r, 1.0), 1.0)
    # `exp_map` measures vectors by their Euclidean length, half the Riemannian one at the origin
    return exp_map(np.zeros(DIMENSION), u / (2.0 * np.sqrt(curvature)), curvature)


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

        from fedhull_lab.autoencoder.loss import Batch, Plan, fresh_moments, step
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
    """Number of passes over the cells that make at least `steps` steps.

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
    """The dense batch of some rows; no more of the data is ever dense."""
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
