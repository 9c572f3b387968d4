"""A hyperbolic variational autoencoder: cells go where a small decoder can tell them from.

Encoder: prepared features → hidden layer → mean and σ of a wrapped normal in the disc. Decoder: log
map at the origin → hidden layer → every gene. Fitting needs JAX; placing cells does not.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar, Self

import numpy as np

from fedhull import Cells
from fedhull.errors import InvalidInput
from fedhull.extend import (
    CellEmbedder,
    Preparation,
    Report,
    as_cells,
    check_curvature,
    choose_genes,
    divisors,
    ignore,
    numbers,
    settings_as,
)
from fedhull_lab.autoencoder.network import (
    Observations,
    Scaling,
    Settings,
    Weights,
    encode,
    epochs_for,
    initial_weights,
    train,
)

_MEAN, _SCALE = "feature_mean", "feature_scale"


@dataclass(eq=False)
class AutoencoderEmbedder(Settings, CellEmbedder):
    """The autoencoder of some settings; `fit` adds preparation, scaling, weights and `curvature`.

    >>> cells = Cells(np.arange(12).reshape(4, 3), ["a", "b", "c"])
    >>> AutoencoderEmbedder(steps=0).fit(cells).transform(cells).shape
    (4, 2)
    """

    method: ClassVar[str] = "autoencoder"
    supervised: bool = field(default=False, init=False)
    classes: list[str] = field(default_factory=list, init=False, repr=False)
    preparation: Preparation = field(init=False, repr=False)
    scaling: Scaling = field(init=False, repr=False)
    weights: Weights = field(init=False, repr=False)

    def fit_transform(
        self, cells: Any, labels: np.ndarray | None = None, report: Report = ignore
    ) -> np.ndarray:
        """Learn where cells go; with `labels` (n,), classes are drawn apart as well."""
        cells = as_cells(cells)
        preparation = choose_genes(cells, self.n_genes, self.counts).preparation
        classes = [] if labels is None else sorted(set(map(str, labels)))
        self._begin(preparation, Scaling.of(preparation.apply(cells)), classes)
        data = self.observe(cells, labels)
        epochs = epochs_for(self.steps, len(cells), self.batch)
        weights, _ = train(self.weights, data, self, epochs, self.seed, report=report)
        self._take(weights)
        return self.transform(cells)

    def transform(self, cells: Any) -> np.ndarray:
        """The cells' points, (n, 2), by NumPy in float64, a few thousand cells at a time."""
        self._check_fitted()
        return np.concatenate(
            [
                encode(self.weights, self.preparation.apply(part), self.scaling, self.curvature)
                for part in as_cells(cells).chunks()
            ]
        )

    def observe(self, cells: Cells, labels: np.ndarray | None = None) -> Observations:
        """These cells as `train` takes them."""
        self._check_fitted()
        counts = totals = None
        if self._likelihood() == "negative-binomial":
            cells.check_counts()
            counts = self.preparation.select(cells)
            totals = np.asarray(cells.x.sum(axis=1), dtype=np.float64).ravel()
        return Observations(
            self.preparation.apply(cells),
            self.scaling,
            counts,
            totals,
            None if labels is None else self._numbers(labels, len(cells)),
        )

    def state(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """Settings, genes and classes; the weights of encoder and decoder, and the scaling."""
        self._check_fitted()
        settings = {setting.name: getattr(self, setting.name) for setting in fields(Settings)}
        fitted = {
            "genes": self.preparation.genes,
            "prepared_counts": self.preparation.counts,
            "classes": self.classes,
        }
        scaling = {_MEAN: self.scaling.mean, _SCALE: self.scaling.scale}
        return settings | fitted, self.weights | scaling

    @classmethod
    def from_state(cls, settings: dict[str, Any], arrays: dict[str, np.ndarray]) -> Self:
        """The embedder of a state, ready to place cells."""
        rest = dict(settings)
        prepared = {"genes": rest.pop("genes"), "counts": rest.pop("prepared_counts")}
        preparation = settings_as(Preparation, prepared)
        classes = settings_as(list[str], rest.pop("classes"))
        own = settings_as(Settings, rest)
        genes = len(preparation.genes)
        scaling = Scaling(numbers(arrays, _MEAN, genes), divisors(arrays, _SCALE, genes))
        weights = {key: array for key, array in arrays.items() if key not in (_MEAN, _SCALE)}
        for key, array in weights.items():
            numbers(weights, key, *array.shape)
        # before weights of these sizes are made, to be replaced by those of the file
        numbers(weights, "encoder_hidden", genes, own.hidden)
        if classes:
            numbers(weights, "label_bias", len(classes))
        if own.learn_curvature:
            check_curvature(float(np.exp(np.clip(numbers(weights, "log_curvature"), -500, 500))))
        return cls(**vars(own))._begin(preparation, scaling, classes)._take(weights)

    def _begin(self, preparation: Preparation, scaling: Scaling, classes: list[str]) -> Self:
        self.preparation, self.scaling, self.classes = preparation, scaling, classes
        self.supervised = bool(classes)
        self.weights = initial_weights(preparation, self, self.seed, len(classes))
        return self

    def _take(self, weights: Mapping[str, np.ndarray]) -> Self:
        shapes = {key: array.shape for key, array in self.weights.items()}
        given = {key: np.shape(weights[key]) for key in sorted(weights)}
        if given != shapes:
            raise InvalidInput(f"weights must have the shapes {shapes}, got {given}")
        self.weights = {key: np.array(weights[key], dtype=np.float32) for key in shapes}
        if self.learn_curvature:
            self.curvature = float(np.exp(np.float64(self.weights["log_curvature"])))
        return self

    def _likelihood(self) -> str:
        return self.likelihood or ("negative-binomial" if self.preparation.counts else "gaussian")

    def _numbers(self, labels: np.ndarray, cells: int) -> np.ndarray:
        names = [str(label) for label in labels]
        if len(names) != cells:
            raise InvalidInput(f"labels must hold one for each of {cells} cells, got {len(names)}")
        number = {name: i for i, name in enumerate(self.classes)}
        for name in names:
            if name not in number:
                raise InvalidInput(f"labels must be among {self.classes}, got {name!r}")
        return np.array([number[name] for name in names], dtype=np.int32)

    def _check_fitted(self) -> None:
        if not hasattr(self, "weights"):
            raise InvalidInput("the embedder is not fitted yet; call fit first")
