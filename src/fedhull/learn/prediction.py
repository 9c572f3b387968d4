"""Predictions for points, or for the cells of an AnnData object, which are placed first: classes,
their probabilities, and the cells of no class."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from fedhull.errors import InvalidInput
from fedhull.learn.content import Judged

if TYPE_CHECKING:
    from anndata import AnnData

    from fedhull.embed.embedder import CellEmbedder


UNASSIGNED = "unassigned"
# An .h5ad file takes this for the border of a folder.
_SLASH, _INSTEAD = "/", "|"


@dataclass(frozen=True, eq=False)
class Placed:
    """Points (n, d) in the model's frame; the encoder that they were computed with just now, None
    if they were there before, and which of its genes the cells lack."""

    points: np.ndarray
    encoder: "CellEmbedder | None" = None
    missing_genes: list[str] = field(default_factory=list)


def points_of(model: Any, data: Any) -> Any:
    """The points of an AnnData object's cells; anything else is points already."""
    return place(model, data).points if is_annotated(data) else data


def is_annotated(data: Any) -> bool:
    """True for an AnnData object; nobody else need have AnnData installed."""
    return hasattr(data, "obsm") and hasattr(data, "var_names")


def place(
    model: Any, adata: "AnnData", layer: str | None = None, encoder: "CellEmbedder | None" = None
) -> Placed:
    """The cells of an AnnData object in the model's frame: where its encoder has placed them
    before, or where it places them now. The encoder is the one that is given, or the one that the
    model carries; a `layer` is taken instead of X. If nobody knows which encoder the model's points
    come from, those in ``obsm['X_poincare']`` are taken."""
    from fedhull.embed.cells import KEY, cells_of, made_by

    wanted = getattr(model, "encoder_", None)
    encoder = encoder_for(model, encoder)
    frame = wanted if encoder is None else encoder.hash
    if layer is None and KEY in adata.obsm and frame in (None, made_by(adata)):
        return Placed(np.asarray(adata.obsm[KEY], dtype=np.float64))
    if encoder is not None:
        return placed_by(encoder, cells_of(adata, layer))
    if wanted is not None:
        raise InvalidInput(
            f"the model was trained on points from the encoder {wanted}, which it does not carry, "
            f"and there are none of that encoder's in obsm[{KEY!r}]; name the file encoder.npz of "
            f"the study's kit as encoder (--encoder)"
        )
    raise InvalidInput(
        f"the model does not say which encoder its points come from, and there is no "
        f"obsm[{KEY!r}]; name the encoder's file (--encoder), or place the cells with it first"
        if layer is None
        else "layer (--layer) is for cells that an encoder places, but the model carries none and "
        "none is named; name its file as encoder (--encoder)"
    )


def placed_by(encoder: "CellEmbedder", cells: Any) -> Placed:
    """`Cells` as the encoder places them."""
    return Placed(encoder.transform(cells), encoder, encoder.preparation.missing(cells))


def encoder_for(model: Any, given: "CellEmbedder | None" = None) -> "CellEmbedder | None":
    """The given encoder, if it may be the model's, or the one that the model carries, if any."""
    wanted: str | None = getattr(model, "encoder_", None)
    if given is not None:
        if wanted not in (None, given.hash):
            raise InvalidInput(
                f"the model was trained on points from the encoder {wanted}, but this one is "
                f"{given.hash}; use the encoder in the study's kit"
            )
        return given
    content: bytes | None = getattr(model, "encoder_file_", None)
    if content is None:
        return None
    from fedhull.embed.embedder import cell_embedder_from_bytes

    return cell_embedder_from_bytes(content, "the model's encoder")


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
        """Categories of `labels`: all classes by name, then "unassigned", if any cell is."""
        return list(dict.fromkeys([*sorted(map(str, self.classes)), *self.labels]))

    @property
    def probability(self) -> np.ndarray | None:
        """Probability of the most probable class, (n,), whether or not a cell is assigned to it."""
        return None if self.probabilities is None else self.probabilities.max(axis=1)

    def by_class(self, plain: bool = False) -> dict[str, np.ndarray]:
        """{class: probabilities (n,)} in alphabetical order, summed for classes of one name. With
        `plain`, "|" stands for "/", so that names can be columns of an .h5ad file."""
        summed: dict[str, np.ndarray] = {}
        if self.probabilities is None:
            return summed
        for name, column in zip(map(str, self.classes), self.probabilities.T, strict=True):
            key = name.replace(_SLASH, _INSTEAD) if plain else name
            summed[key] = summed[key] + column if key in summed else column
        return dict(sorted(summed.items()))

    def columns(self, cells: Any) -> dict[str, Any]:
        """A table with a row for each cell, whose names are given."""
        table: dict[str, Any] = {"cell": cells, "label": self.labels}
        if self.probabilities is not None:
            table["probability"] = self.probability
        return table | {f"probability:{name}": p for name, p in self.by_class().items()}


def predict_points(
    model: Any, points: np.ndarray, least: float | None = None, everything: bool = False
) -> Prediction:
    """A model's predictions for points (n, d). Those far from all classes are "unassigned", unless
    `everything` is to be assigned; so are those whose most probable class has less than the
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
    adata: "AnnData", placed: Placed, prediction: Prediction, key_added: str = "fedhull"
) -> None:
    """Write a prediction to an AnnData object, with the points it was made for."""
    import pandas as pd

    from fedhull.embed.cells import KEY, annotate
    from fedhull.embed.embedding import Embedding

    adata.obs[f"{key_added}_label"] = pd.Categorical(prediction.labels, prediction.names)
    if prediction.probabilities is not None:
        adata.obs[f"{key_added}_probability"] = prediction.probability
        by_class = pd.DataFrame(prediction.by_class(plain=True), index=adata.obs_names)
        adata.obsm[f"{key_added}_probabilities"] = by_class
    if placed.encoder is not None:
        embedding = Embedding(placed.points, placed.encoder, False, placed.missing_genes, {})
        annotate(adata, embedding, f"X_{key_added}" if KEY in adata.obsm else KEY)


def unassigned(model: Any, points: Any) -> np.ndarray:
    """Mask (n,) of the points (n, 2), or of an AnnData object's cells, that are too far from all
    classes of a model to be of any. At most 1 % of the held-out cells that set the limit were too
    far; without any, none is."""
    moved, points = getattr(model, "moved", None), points_of(model, points)
    x = np.asarray(points, dtype=np.float64) if moved is None else moved(points)
    judged: Judged | None = getattr(model, "judged_", None)
    if judged is None:
        return np.zeros(len(x), dtype=bool)
    return judged.marks.farness(x, judged.curvature) > judged.reach
