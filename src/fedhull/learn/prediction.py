"""What a model says of cells: classes, how probable they are, and which cells are of none."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from fedhull.errors import InvalidInput
from fedhull.learn.judged import unassigned
from fedhull.learn.placing import Placed

if TYPE_CHECKING:
    from anndata import AnnData

UNASSIGNED = "unassigned"
# An .h5ad file takes this for the border of a folder.
_SLASH, _INSTEAD = "/", "|"


@dataclass(frozen=True, eq=False)
class Prediction:
    """For each of n cells its class, or "unassigned", and whether it is `far` from all classes or
    its most probable class is not probable enough (`unsure`); `probabilities` (n, J) are those of
    the classes, None if the model gives none."""

    predicted: list[Any]
    classes: list[Any]
    probabilities: np.ndarray | None
    far: np.ndarray
    unsure: np.ndarray

    def __len__(self) -> int:
        return len(self.predicted)

    @property
    def labels(self) -> list[str]:
        """The classes as words."""
        return [str(name) for name in self.predicted]

    @property
    def names(self) -> list[str]:
        """What stands in `labels`: the names of all classes in alphabetical order, then
        "unassigned", if any cell is."""
        return list(dict.fromkeys([*sorted(map(str, self.classes)), *self.labels]))

    @property
    def probability(self) -> np.ndarray | None:
        """How probable the most probable class is, (n,), of cells that are not assigned to it
        too."""
        return None if self.probabilities is None else self.probabilities.max(axis=1)

    def by_class(self, plain: bool = False) -> dict[str, np.ndarray]:
        """{name of a class: its probabilities (n,)} in alphabetical order; where two classes have
        one name, those of both together. With `plain` names can be columns of an .h5ad file: "|"
        stands for "/"."""
        found: dict[str, np.ndarray] = {}
        if self.probabilities is None:
            return found
        for name, column in zip(map(str, self.classes), self.probabilities.T, strict=True):
            key = name.replace(_SLASH, _INSTEAD) if plain else name
            found[key] = found[key] + column if key in found else column
        return dict(sorted(found.items()))

    def columns(self, cells: Any) -> dict[str, Any]:
        """A table with a row for each cell, whose names are given."""
        table: dict[str, Any] = {"cell": cells, "label": self.labels}
        if self.probabilities is not None:
            table["probability"] = self.probability
        return table | {f"probability:{name}": p for name, p in self.by_class().items()}


def predict_points(
    model: Any, points: np.ndarray, least: float | None = None, everything: bool = False
) -> Prediction:
    """What a model says of points (n, d). Those that are far from all classes are "unassigned",
    unless `everything` is to be assigned; so are those whose most probable class has less than the
    probability `least`."""
    if points.ndim != 2 or not np.isfinite(points).all():
        raise InvalidInput("points must be numbers, shape (n, d), none of them NaN or infinity")
    if points.shape[1] != model.n_features_in_:
        raise InvalidInput(
            f"points must have {model.n_features_in_} coordinates, as the model's have, got "
            f"{points.shape[1]}; is there a column that is neither coordinate nor label?"
        )
    if least is not None and not 0.0 <= least <= 1.0:
        raise InvalidInput(
            f"unassigned (--unassigned) must be a probability between 0 and 1, got {least}; try 0.5"
        )
    probabilities = model.predict_proba(points) if hasattr(model, "predict_proba") else None
    if least is not None and probabilities is None:
        raise InvalidInput(
            f"unassigned (--unassigned) cannot be used with a {type(model).__name__}, which gives "
            f"no probabilities"
        )
    far, unsure = unassigned(model, points), np.zeros(len(points), dtype=bool)
    if least is not None and probabilities is not None:
        unsure = probabilities.max(axis=1) < least
    none = unsure if everything else far | unsure
    named = zip(model.predict(points).tolist(), none.tolist(), strict=True)
    predicted = [UNASSIGNED if left else name for name, left in named]
    return Prediction(predicted, model.classes_.tolist(), probabilities, far, unsure)


def note_prediction(
    adata: "AnnData", placed: Placed, found: Prediction, key_added: str = "fedhull"
) -> None:
    """Write what a model says of the cells to an AnnData object, and where they were placed for
    it."""
    import pandas as pd

    from fedhull.embed.annotated import KEY, annotate
    from fedhull.embed.embedding import Embedding

    adata.obs[f"{key_added}_label"] = pd.Categorical(found.labels, found.names)
    if found.probabilities is not None:
        adata.obs[f"{key_added}_probability"] = found.probability
        by_class = pd.DataFrame(found.by_class(plain=True), index=adata.obs_names)
        adata.obsm[f"{key_added}_probabilities"] = by_class
    if placed.encoder is not None:
        made = Embedding(placed.points, placed.encoder, False, placed.missing_genes, {})
        annotate(adata, made, f"X_{key_added}" if KEY in adata.obsm else KEY)
