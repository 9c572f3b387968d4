"""The autoencoder's settings and weights, what it is shown, and its encoder, in NumPy alone.

Weights are a dictionary of float32 arrays.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.sparse import issparse

from fedhull.disc.maps import exp_map
from fedhull.disc.points import check_curvature
from fedhull.embed.cells import Matrix, Preparation
from fedhull.errors import InvalidInput

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
    """How an autoencoder is built and trained.

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
    """What training is shown of n cells.

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
