"""Sources of a simulation's points: given, or placed anew in each trial by an encoder that is
fitted to training cells only."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from fedhull.data.files import check_data
from fedhull.disc.points import as_ball_points
from fedhull.embed.cells import Cells
from fedhull.embed.embedder import CellEmbedder
from fedhull.errors import InvalidInput
from fedhull.simulation.experiment import FRAMES
from fedhull.study.study import Study

if TYPE_CHECKING:
    from anndata import AnnData

# Which site each of some rows belongs to, given a seed.
OwnerOf = Callable[[np.ndarray, int], np.ndarray]
# Encoders place no cell farther out, in the disc of radius 1.
_MOST_RADIUS = 0.99
_COLUMN = "column:"


@dataclass(frozen=True, repr=False)
class GivenPoints:
    """Points (n, 2) that lie in one disc already, and their labels (n,)."""

    x: np.ndarray
    y: np.ndarray
    frame = None

    @property
    def labels(self) -> np.ndarray:
        """Every point has one."""
        return self.y

    @property
    def rows(self) -> np.ndarray:
        """All of them."""
        return np.arange(len(self.y))

    def largest_radius(self, curvature: float) -> float:
        """Radius of the farthest point."""
        return float(np.hypot(*self.x.T).max())

    def encoder(
        self, train: np.ndarray, owner: np.ndarray, owner_of: OwnerOf, study: Study, seed: int
    ) -> None:
        """None is needed."""

    def points(self, encoder: CellEmbedder | None) -> np.ndarray:
        """They stay where they are."""
        return self.x


@dataclass(frozen=True, repr=False)
class RawPoints:
    """Cells with labels, "" for none. Sites hold these too, and encoders are fitted to them."""

    cells: Cells
    labels: np.ndarray
    frame: str

    @cached_property
    def rows(self) -> np.ndarray:
        """The n cells with a label."""
        return np.flatnonzero(self.labels != "")

    @property
    def y(self) -> np.ndarray:
        """Their labels, (n,)."""
        return self.labels[self.rows]

    def largest_radius(self, curvature: float) -> float:
        """Upper bound on the radius of a placed cell."""
        return _MOST_RADIUS / float(np.sqrt(curvature))

    def encoder(
        self, train: np.ndarray, owner: np.ndarray, owner_of: OwnerOf, study: Study, seed: int
    ) -> CellEmbedder:
        """An encoder that has seen those in `train`, of `owner`, and the cells without label."""
        others = np.setdiff1d(np.arange(len(self.cells)), self.rows)
        rows = np.concatenate((self.rows[train], others))
        if len(others):
            owner = np.concatenate((owner, owner_of(others, seed)))
        return fit_encoder(self.cells[rows], owner, self.frame, study)

    def points(self, encoder: CellEmbedder | None) -> np.ndarray:
        """Points (n, 2) of the cells with a label, by the encoder."""
        assert encoder is not None
        return encoder.transform(self.cells[self.rows])


class Annotated(NamedTuple):
    """Content of an AnnData object: points or raw cells, labels, curvature and partition."""

    x: Any
    y: np.ndarray
    curvature: float | None
    partition: Any


def read_annotated(
    adata: "AnnData", label: str | None, frame: str | None, partition: Any
) -> Annotated:
    """The points in ``obsm['X_poincare']``, or the raw cells if there are none or a `frame` is
    given, with labels from a column of ``obs``; another may give the partition."""
    from fedhull.embed.cells import KEY, cells_of, column_of

    if label is None:
        raise InvalidInput(
            f"label must name the column of obs with the classes; there is "
            f"{', '.join(map(str, adata.obs)) or 'none'}"
        )
    y = column_of(adata, label)
    if isinstance(partition, str) and partition.startswith(_COLUMN):
        partition = column_of(adata, partition.removeprefix(_COLUMN))
    if frame is not None or KEY not in adata.obsm:
        return Annotated(cells_of(adata), y, None, partition)
    facts = adata.uns.get(KEY.removeprefix("X_"), {})
    curvature = facts.get("curvature") if hasattr(facts, "get") else None
    points = np.asarray(adata.obsm[KEY])
    return Annotated(points, y, None if curvature is None else float(curvature), partition)


def source_of(
    x: ArrayLike | Cells, y: ArrayLike, frame: str | None, curvature: float
) -> GivenPoints | RawPoints:
    """Points or cells with these labels, and by which frame cells are placed."""
    if isinstance(x, Cells):
        labels = np.asarray(y)
        if labels.shape != (len(x),):
            raise InvalidInput(f"y must have shape ({len(x)},), got {labels.shape}")
        return RawPoints(x, labels, frame or FRAMES[0])
    if frame is not None:
        raise InvalidInput(f"frame = {frame!r} says how raw cells are placed, but x are points")
    given, labels = check_data(x, y, "data")
    points, _ = as_ball_points(given, curvature, "x")
    if points.shape[1] != 2:
        raise InvalidInput(f"x must lie in the disc, shape (n, 2), got shape {points.shape}")
    return GivenPoints(points, labels)


def fit_encoder(
    cells: Cells, owner: np.ndarray, frame: str, study: Study, **settings: Any
) -> CellEmbedder:
    """The encoder of a frame, from cells that belong to sites (n,), with the study's curvature.
    Sites with too few cells take no part in an encoder from sums."""
    # scikit-learn takes longer to import than all the rest
    from fedhull.embed.neighbours import NeighbourEmbedder
    from fedhull.study.federated import rehearse_neighbours

    settings |= {"curvature": study.geometry.curvature}
    if frame == "reference":
        cells = cells[np.flatnonzero(owner == np.bincount(owner).argmax())]
    if frame != "sums":
        return NeighbourEmbedder(**settings).fit(cells)
    least = 2 * study.disclosure.group_size
    sites = [np.flatnonzero(owner == site) for site in np.unique(owner)]
    held = [cells[rows] for rows in sites if len(rows) >= least]
    if len(held) < 2:
        raise InvalidInput(
            f"an encoder from sums takes at least two sites with {least} cells or more, got "
            f"{len(held)}; use fewer sites or a more even partition"
        )
    rehearsed = rehearse_neighbours(held, study.disclosure, **settings)
    encoder: CellEmbedder = rehearsed.outcome.encoder
    return encoder
