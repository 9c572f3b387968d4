"""Alignment at a site, on its own machine: the isometry that brings its cells onto the others'.

The coordinator publishes the centres of the classes over all sites. A site has its own centres of
the classes it holds. That the two differ has three causes: chance, the less the more cells; what
classes hold at different sites, by a little even where the same machine measured them; and an
isometry. `align_shrunk` weighs them against each other and moves the site only by what chance does
not explain. Nothing about it leaves the site. A site that comes after the study aligns itself by a
few labelled cells to the centres that the model file carries.
"""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from fedhull.disc.align import Alignment, align_shrunk
from fedhull.disc.isometry import Isometry, translation
from fedhull.disc.maps import distance
from fedhull.disc.points import as_ball_points, as_point_rows
from fedhull.errors import InvalidInput
from fedhull.learn.centres import Centres, class_centres, clipped
from fedhull.text import shortened

# Centres of one class at two sites differ along an axis by this much beyond chance, and chance is
# taken for larger than independent cells would have it: neither are cells independent nor is noise
# normal.
_DIFFERENT, _MORE_CHANCE = 0.1, 2.0
# Excess difference of centres shows in what an isometry leaves over of the two numbers that each
# class gives. One class leaves nothing over; the prior counts like this many numbers.
_PRIOR_NUMBERS = 1.25
# Moves and turns below this would change nothing but the last digits.
_NOTHING = 0.05
# The published scatter counts like this many cells of the site.
_PRIOR_CELLS = 5.0
# Two classes fix an isometry. A class of fewer cells than this counts for what it is worth, but two
# must have as many.
LEAST_CLASSES, LEAST_CELLS = 2, 3


def align_site(
    points: ArrayLike,
    classes: ArrayLike,
    total: Centres,
    current: Isometry | None = None,
    curvature: float = 1.0,
    among: bool = True,
) -> Alignment:
    """The isometry for a site's cells (n, d) of classes (n,) that fits them to published centres.

    points : as they were measured, which the isometry is for. total : over all sites, this one
    among them with its cells moved by `current`, if a pass went before; or over others only, if it
    is not `among` them. A class that nobody else holds is no evidence of anything, and if there are
    no others, `current` stays.

    >>> rng = np.random.default_rng(0)
    >>> cells, classes = rng.uniform(-0.5, 0.5, (600, 2)), np.arange(600) % 6
    >>> cells = 0.3 * cells + np.array([[np.cos(c), np.sin(c)] for c in classes]) / 2
    >>> moved = translation([0.2, 0.0]).apply(cells)
    >>> total = class_centres(cells, classes, 6) + class_centres(cells, classes, 6)
    >>> found = align_site(moved, classes, total + class_centres(moved, classes, 6))
    >>> found.before > 4 * found.misfit
    True
    """
    x, y = np.asarray(points, dtype=np.float64), np.asarray(classes)
    now = current or translation(np.zeros(total.sums.shape[1] - 1), curvature)
    own = class_centres(x, y, len(total.counts), curvature)
    others = total.counts - own.counts if among else total.counts
    shared = np.flatnonzero((own.counts > 0) & (others > 0))
    if not len(shared):
        return Alignment(now, 0.0, 0.0, np.zeros(0))
    source, target = own.points(curvature)[shared], total.points(curvature)[shared]
    chances = 1.0 / own.counts[shared] + 1.0 / others[shared]
    variances = _variances(x, y, source, shared, total, chances, curvature)
    alignment = align_shrunk(source, target, variances, start=now, curvature=curvature)
    if _is_small(alignment.isometry):
        # nothing to speak of: the site stays exactly where it was measured
        still = translation(np.zeros(x.shape[1]), curvature)
        alignment = Alignment(
            still, alignment.before, alignment.before, distance(source, target, curvature)
        )
    return Alignment(
        alignment.isometry,
        alignment.misfit,
        alignment.before,
        alignment.distances,
        tuple(shared.tolist()),
    )


def _is_small(f: Isometry) -> bool:
    """True if an isometry moves and turns by next to nothing."""
    move = 2.0 * np.arctanh(min(np.sqrt(f.curvature) * np.hypot.reduce(f.shift), 1.0 - 1e-15))
    return bool(move < _NOTHING and np.abs(f.turn - np.eye(len(f.turn))).max() < _NOTHING)


def _variances(
    x: np.ndarray,
    y: np.ndarray,
    middles: np.ndarray,
    shared: np.ndarray,
    total: Centres,
    chances: np.ndarray,
    k: float,
) -> np.ndarray:
    """Variances along an axis of centres of the site about those of the others, by chance and by
    what classes hold. `chances` are 1/(cells here) + 1/(cells elsewhere).

    Seen from the centroid, cells at distances ρ pull by sinh ρ and hold by cosh ρ: it is uncertain
    by E[sinh²ρ]/(d·n·E[cosh ρ]²).
    """
    public = total.scatter()[shared]
    scatter = np.empty(len(shared))
    for i, c in enumerate(shared.tolist()):
        away = np.sqrt(k) * distance(middles[i], clipped(x[y == c], k), k)
        mine = (np.sinh(away) ** 2).mean() / x.shape[1] / np.cosh(away).mean() ** 2
        share = len(away) / (len(away) + _PRIOR_CELLS)
        scatter[i] = share * mine + (1.0 - share) * public[i]
    chance = scatter * chances
    d = x.shape[1]
    numbers, free = d * len(shared), d * (d + 1) // 2
    left = max(numbers + _PRIOR_NUMBERS - free, 0.25)
    unsure = (left + free) / left
    return unsure * (_MORE_CHANCE * chance + _DIFFERENT**2) / k


def study_model(model: Any) -> Any:
    """The model in the frame of the centres, if this is one for the cells of a single site."""
    return model.model if hasattr(model, "isometry") else model


def align_newcomer(points: ArrayLike, labels: ArrayLike, model: Any) -> Alignment:
    """The isometry for a site outside the study, from cells (n, d) with model labels (n,).

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
    alignment = align_site(x[known], column[known], centres, curvature=k, among=False)
    names = tuple(str(asked.classes_[c]) for c in alignment.classes)
    return Alignment(
        alignment.isometry, alignment.misfit, alignment.before, alignment.distances, names
    )


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
