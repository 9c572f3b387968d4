"""A fast embedder in the manner of Poincaré maps: a graph of nearest neighbours, laid out in the
disc.

New cells are placed between *anchors*, averages of five to nine cells each: what is kept, and
shipped with a study, holds no single cell.
"""

from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

import msgspec
import numpy as np
from scipy.sparse import issparse
from sklearn.decomposition import PCA
from sklearn.neighbors import NearestNeighbors

from fedhull.disc.centroid import centroid, centroids
from fedhull.disc.points import as_ball_points, check_curvature
from fedhull.embed.cells import Cells, Preparation
from fedhull.embed.embedder import CellEmbedder
from fedhull.embed.graph import accessibility, small_groups
from fedhull.embed.layout import layout
from fedhull.embed.stored import divisors, numbers, settings_as
from fedhull.errors import InvalidInput
from fedhull.progress import Report, ignore

SMALLEST_GROUP = 5
_CLIP = 10.0
_NEAREST_ANCHORS = 3
_START_RADIUS = 0.3


@dataclass(eq=False)
class NeighbourEmbedder(CellEmbedder):
    """Principal components → nearest neighbours → relative forest accessibilities → the disc.

    At most `max_cells` cells, drawn at random, are laid out; the others are placed like new ones.
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
    supervised: bool = field(default=False, init=False)
    preparation: Preparation = field(init=False, repr=False)
    mean: np.ndarray = field(init=False, repr=False)
    deviation: np.ndarray = field(init=False, repr=False)
    components: np.ndarray = field(init=False, repr=False)
    anchors: np.ndarray = field(init=False, repr=False)
    places: np.ndarray = field(init=False, repr=False)

    def fit_transform(
        self, cells: Cells, labels: np.ndarray | None = None, report: Report = ignore
    ) -> np.ndarray:
        """Fit, and return the points of these cells; with more than `max_cells`, all are placed
        between anchors."""
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
        self.preparation = Preparation.choose(some, self.n_genes, self.counts)
        self._learn_features(_dense(self.preparation.apply(some)))
        features = self._features(some)
        points = layout(
            accessibility(features, self.n_neighbors, None if labels is None else labels[rows]),
            _start(features),
            self.steps,
            report=report,
        )
        groups = small_groups(features, SMALLEST_GROUP)
        self.anchors = np.array([features[group].mean(axis=0) for group in groups])
        self.places = np.array([centroid(points[group]) for group in groups])
        whole = len(rows) == len(cells)
        return points / np.sqrt(self.curvature) if whole else self.transform(cells)

    def transform(self, cells: Cells) -> np.ndarray:
        """Each cell's place between the three anchors that it is most like, the nearer the more."""
        if not hasattr(self, "anchors"):
            raise InvalidInput("the embedder must be fitted before it can place cells")
        n_nearest = min(_NEAREST_ANCHORS, len(self.anchors))
        nearest = NearestNeighbors(n_neighbors=n_nearest).fit(self.anchors)
        places = []
        for chunk in cells.chunks():
            apart, which = nearest.kneighbors(self._features(chunk))
            weights = 1.0 / (apart**2 + 1e-12)
            cell = np.repeat(np.arange(len(chunk)), n_nearest)
            places.append(centroids(self.places[which.ravel()], cell, weights.ravel()))
        return np.concatenate(places) / np.sqrt(self.curvature)

    def _learn_features(self, prepared: np.ndarray) -> None:
        self.mean = prepared.mean(axis=0)
        # what is no count has been scaled by whoever prepared it
        deviation = prepared.std(axis=0) if self.preparation.counts else np.ones(len(self.mean))
        self.deviation = np.where(deviation > 0, deviation, 1.0)
        standard = self._standardise(prepared)
        pca = PCA(min(self.n_components, *standard.shape), random_state=self.seed)
        self.components = pca.fit(standard).components_

    def _standardise(self, prepared: np.ndarray) -> np.ndarray:
        standard = (prepared - self.mean) / self.deviation
        return np.clip(standard, -_CLIP, _CLIP) if self.preparation.counts else standard

    def _features(self, cells: Cells) -> np.ndarray:
        """The cells' principal components (n, c), not centred: only differences count."""
        return self._standardise(_dense(self.preparation.apply(cells))) @ self.components.T

    def state(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """Settings, preparation, principal components and anchors."""
        arrays = {name: getattr(self, name) for name in _ARRAYS}
        settings = {name: getattr(self, name) for name in _SETTINGS}
        settings |= {
            "supervised": self.supervised,
            "preparation": msgspec.to_builtins(self.preparation),
        }
        return settings, arrays

    @classmethod
    def from_state(cls, settings: dict[str, Any], arrays: dict[str, np.ndarray]) -> Self:
        """The inverse of `state`."""
        kept = settings_as(_Kept, settings)
        made = cls(**{name: getattr(kept, name) for name in _SETTINGS})
        made.supervised, made.preparation = kept.supervised, kept.preparation
        check_curvature(made.curvature)
        genes = len(made.preparation.genes)
        made.mean = numbers(arrays, "mean", genes)
        made.deviation = divisors(arrays, "deviation", genes)
        made.components = numbers(arrays, "components", None, genes)
        made.anchors = numbers(arrays, "anchors", None, len(made.components))
        made.places = numbers(arrays, "places", len(made.anchors), 2)
        as_ball_points(made.places, 1.0, "places of anchors")
        return made


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


_ARRAYS = ("mean", "deviation", "components", "anchors", "places")
_SETTINGS = (
    "curvature", "n_genes", "n_components", "n_neighbors", "max_cells", "steps", "seed", "counts",
)  # fmt: skip


def _dense(x: Any) -> np.ndarray:
    return x.toarray() if issparse(x) else np.asarray(x, dtype=np.float64)


def _start(features: np.ndarray) -> np.ndarray:
    """The first two principal components, laid into the disc."""
    flat = features[:, :2] - features[:, :2].mean(axis=0)
    flat = np.pad(flat, ((0, 0), (0, 2 - flat.shape[1])))
    flat *= _START_RADIUS / max(flat[:, 0].std(), 1e-12)
    radius = np.hypot(*flat.T)
    return flat * (np.tanh(radius) / np.maximum(radius, 1e-12))[:, None]
