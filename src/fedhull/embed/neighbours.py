"""A fast embedder in the manner of Poincaré maps: a graph of nearest neighbours, laid out in the
disc.

New cells are placed between *anchors*, averages of five cells each, or a few more: what is kept,
and shipped with a study, holds no single cell.
"""

from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

import msgspec
import numpy as np
from sklearn.neighbors import NearestNeighbors

from fedhull.disc.maps import centroid, centroids
from fedhull.disc.points import as_ball_points, check_curvature
from fedhull.embed.cells import Cells, Preparation, as_cells
from fedhull.embed.embedder import CellEmbedder, divisors, numbers, settings_as
from fedhull.embed.features import (
    NO_CORRECTION,
    Axes,
    Correction,
    Products,
    Standardisation,
    choose_genes,
    corrected,
)
from fedhull.embed.layout import accessibility, layout, small_groups
from fedhull.errors import InvalidInput
from fedhull.progress import Report, ignore

SMALLEST_GROUP = 5
_NEAREST_ANCHORS = 3
_START_RADIUS = 0.3
# A correction is written only if there is one: files keep the hash that they had before.
_SETTINGS = (
    "curvature", "n_genes", "n_components", "n_neighbors", "max_cells", "steps", "seed", "counts",
)  # fmt: skip


@dataclass(eq=False)
class NeighbourEmbedder(CellEmbedder):
    """Principal components → nearest neighbours → relative forest accessibilities → the disc.

    At most `max_cells` cells, drawn at random, are laid out; the others are placed like new ones.
    A `correction` is for encoders that several sites have made together (see `corrected`).
    """

    method: ClassVar[str] = "neighbours"

    curvature: float = 1.0
    n_genes: int = 2000
    n_components: int = 30
    n_neighbors: int = 15
    max_cells: int = 4000
    steps: int = 200
    seed: int = 0
    counts: bool | None = None
    correction: Correction = NO_CORRECTION
    supervised: bool = field(default=False, init=False)
    standard: Standardisation = field(init=False, repr=False)
    axes: Axes = field(init=False, repr=False)
    anchors: np.ndarray = field(init=False, repr=False)
    places: np.ndarray = field(init=False, repr=False)

    def fit_transform(
        self, cells: Any, labels: np.ndarray | None = None, report: Report = ignore
    ) -> np.ndarray:
        """Fit, and return the points; beyond `max_cells` cells, all are placed between anchors."""
        cells, labels = as_cells(cells), None if labels is None else np.asarray(labels)
        if len(cells) < 2 * SMALLEST_GROUP:
            raise InvalidInput(
                f"there must be at least {2 * SMALLEST_GROUP} cells to lay out, got {len(cells)}"
            )
        self.supervised = labels is not None
        rows = np.arange(len(cells))
        if len(cells) > self.max_cells:
            drawn = np.random.default_rng(self.seed).choice(rows, self.max_cells, replace=False)
            rows = np.sort(drawn)
        some = cells[rows]
        self.standard = choose_genes(some, self.n_genes, self.counts)
        products = Products.of(self.standard.preparation, some)
        self.axes = products.scaled(self.standard).axes(self.n_components)
        features = self.axes.features(self.standard, some)
        points = layout(
            accessibility(features, self.n_neighbors, None if labels is None else labels[rows]),
            _start(features),
            self.steps,
            report=report,
        )
        groups = small_groups(features, lambda rows: len(rows) >= SMALLEST_GROUP)
        self.anchors = np.array([features[group].mean(axis=0) for group in groups])
        self.places = np.array([centroid(points[group]) for group in groups])
        whole = len(rows) == len(cells)
        return points / np.sqrt(self.curvature) if whole else self.transform(cells)

    def fit_anchors(
        self, standard: Standardisation, axes: Axes, anchors: np.ndarray, report: Report = ignore
    ) -> Self:
        """Fit to what is known of cells that others hold: scaling, axes, and what groups of them
        have on the axes on average, (m, c). The anchors themselves are laid out."""
        self.standard, self.axes, self.anchors = standard, axes, anchors
        similarity = accessibility(anchors, self.n_neighbors)
        self.places = layout(similarity, _start(anchors), self.steps, report=report)
        return self

    def transform(self, cells: Any) -> np.ndarray:
        """Each cell's place between the three anchors that it is most like, the nearer the more."""
        if not hasattr(self, "anchors"):
            raise InvalidInput("the embedder must be fitted before it can place cells")
        return self.place(self.features(as_cells(cells)))

    def features(self, cells: Cells) -> np.ndarray:
        """Coordinates of cells on the axes, (n, c); a correction takes them for one site's."""
        return corrected(self.axes.features(self.standard, cells), self.axes, self.correction)

    def place(self, features: np.ndarray) -> np.ndarray:
        """The points (n, 2) of cells with these features (n, c)."""
        n_nearest = min(_NEAREST_ANCHORS, len(self.anchors))
        apart, which = (
            NearestNeighbors(n_neighbors=n_nearest).fit(self.anchors).kneighbors(features)
        )
        weights = 1.0 / (apart**2 + 1e-12)
        cell = np.repeat(np.arange(len(features)), n_nearest)
        places = centroids(self.places[which.ravel()], cell, weights.ravel())
        return places / np.sqrt(self.curvature)

    @property
    def preparation(self) -> Preparation:  # type: ignore[override]
        """The genes, and whether counts are normalised."""
        return self.standard.preparation

    def state(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """Settings, preparation, principal components and anchors."""
        settings = {name: getattr(self, name) for name in _SETTINGS}
        settings |= {
            "supervised": self.supervised,
            "preparation": msgspec.to_builtins(self.preparation),
        }
        arrays = {
            "mean": self.standard.mean,
            "deviation": self.standard.deviation,
            "components": self.axes.components,
            "anchors": self.anchors,
            "places": self.places,
        }
        if self.correction != NO_CORRECTION:
            settings["correction"] = self.correction
            arrays |= {"axis_mean": self.axes.mean, "axis_variance": self.axes.variance}
        return settings, arrays

    @classmethod
    def from_state(cls, settings: dict[str, Any], arrays: dict[str, np.ndarray]) -> Self:
        """The inverse of `state`."""
        content = settings_as(_Kept, settings)
        embedder = cls(**{name: getattr(content, name) for name in (*_SETTINGS, "correction")})
        embedder.supervised = content.supervised
        check_curvature(embedder.curvature)
        genes = len(content.preparation.genes)
        embedder.standard = Standardisation(
            content.preparation,
            numbers(arrays, "mean", genes),
            divisors(arrays, "deviation", genes),
        )
        components = numbers(arrays, "components", None, genes)
        mean = variance = np.zeros(len(components))
        if embedder.correction != NO_CORRECTION:
            mean = numbers(arrays, "axis_mean", len(components))
            variance = numbers(arrays, "axis_variance", len(components))
        embedder.axes = Axes(components, mean, variance)
        embedder.anchors = numbers(arrays, "anchors", None, len(components))
        embedder.places = numbers(arrays, "places", len(embedder.anchors), 2)
        as_ball_points(embedder.places, 1.0, "places of anchors")
        return embedder


class _Kept(msgspec.Struct):
    """The settings in a file, and their types."""

    curvature: float
    n_genes: int
    n_components: int
    n_neighbors: int
    max_cells: int
    steps: int
    seed: int
    counts: bool | None
    supervised: bool
    preparation: Preparation
    correction: Correction = NO_CORRECTION


def _start(features: np.ndarray) -> np.ndarray:
    """The first two principal components, laid into the disc."""
    flat = features[:, :2] - features[:, :2].mean(axis=0)
    flat = np.pad(flat, ((0, 0), (0, 2 - flat.shape[1])))
    flat *= _START_RADIUS / max(flat[:, 0].std(), 1e-12)
    radius = np.hypot(*flat.T)
    return flat * (np.tanh(radius) / np.maximum(radius, 1e-12))[:, None]
