"""A site that comes after a study: it aligns itself by a few labelled cells to the centres that the
model file carries, as the sites of the study did."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from fedhull.disc.align import Alignment
from fedhull.disc.points import as_ball_points, as_point_rows
from fedhull.errors import InvalidInput
from fedhull.learn.centres import Centres
from fedhull.learn.site_alignment import align_site
from fedhull.text import shortened

# Two classes fix an isometry. A class of fewer cells than this counts for what it is worth, but two
# must have as many.
LEAST_CLASSES, LEAST_CELLS = 2, 3


def study_model(model: Any) -> Any:
    """The model in the frame of the centres, if this is one for the cells of a single site."""
    return model.model if hasattr(model, "isometry") else model


def align_newcomer(points: ArrayLike, labels: ArrayLike, model: Any) -> Alignment:
    """The isometry for cells of a site that was not in the study, from some of them (n, d) with
    labels (n,) in the model's words.

    model : from a file of a study whose sites were aligned; it may be for cells of another site.
    """
    asked = study_model(model)
    centres: Centres | None = getattr(asked, "aligned_to_", None)
    if centres is None or not centres.counts.any():
        raise InvalidInput(
            "the model has no class centres to align to: the sites of its study were not aligned, "
            "or its file is that of a coordinator of hulls without agreed names; then use the file "
            "of a site of an aligned study"
        )
    k = float(getattr(asked, "curvature", 1.0))
    x, _ = as_ball_points(as_point_rows(points), k, "points")
    if x.shape[1] != asked.n_features_in_:
        raise InvalidInput(
            f"points must have {asked.n_features_in_} coordinates, as the model's, got {x.shape[1]}"
        )
    column = _columns(np.asarray(labels), asked.classes_)
    _check_enough(column, asked.classes_, centres)
    known = column >= 0
    found = align_site(x[known], column[known], centres, curvature=k, among=False)
    names = tuple(str(asked.classes_[c]) for c in found.classes)
    return Alignment(found.isometry, found.misfit, found.before, found.distances, names)


def _columns(labels: np.ndarray, classes: np.ndarray) -> np.ndarray:
    """The position of each label among the model's classes."""
    names = [str(name) for name in classes.tolist()]
    said = [str(label) for label in labels.tolist()]
    unknown = sorted(set(said) - set(names))
    if unknown:
        raise InvalidInput(
            f"labels must be classes of the model, {shortened(', '.join(names))}, but "
            f"{shortened(', '.join(unknown))} "
            f"{'is' if len(unknown) == 1 else 'are'} not; rename them, or leave these cells out"
        )
    # two groups of hulls may have one name, and then nobody can say which is meant
    column = {name: names.index(name) if names.count(name) == 1 else -1 for name in names}
    return np.array([column[label] for label in said], dtype=np.int64)


def _check_enough(column: np.ndarray, classes: np.ndarray, centres: Centres) -> None:
    cells = np.bincount(column[column >= 0], minlength=len(classes))
    there = np.flatnonzero((cells > 0) & (centres.counts > 0))
    if len(there) < LEAST_CLASSES:
        only = f": {classes[there[0]]}" if len(there) else ""
        raise InvalidInput(
            f"cells of at least {LEAST_CLASSES} classes whose centres the model knows are needed "
            f"to fix a turn, got {len(there)}{only}; label some cells of another class"
        )
    if (cells[there] >= LEAST_CELLS).sum() < LEAST_CLASSES:
        counted = ", ".join(f"{classes[c]} {cells[c]}" for c in there)
        raise InvalidInput(
            f"at least {LEAST_CLASSES} classes must have {LEAST_CELLS} labelled cells or more, got "
            f"{shortened(counted)}; label a few more cells"
        )
