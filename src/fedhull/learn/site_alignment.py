"""How a site finds, on its own machine, the isometry that brings its cells onto the others'.

The coordinator publishes the centres of the classes over all sites. A site has its own centres of
the classes it holds. That the two differ has three causes: chance, the less the more cells; what
classes hold at different sites, by a little even where the same machine measured them; and an
isometry. `align_shrunk` weighs them against each other and moves the site only by what chance does
not explain. Nothing about it leaves the site.
"""

import numpy as np
from numpy.typing import ArrayLike

from fedhull.disc.align import Alignment
from fedhull.disc.isometry import Isometry, translation
from fedhull.disc.maps import distance
from fedhull.disc.shrink import align_shrunk
from fedhull.learn.centres import Centres, class_centres, clipped

# Centres of one class at two sites differ along an axis by this much beyond chance, and chance is
# taken for larger than independent cells would have it: neither are cells independent nor is noise
# normal.
_DIFFERENT, _MORE_CHANCE = 0.1, 2.0
# Whether centres differ by more than that shows in what an isometry leaves over of the two numbers
# that each class gives. One class leaves nothing over; beforehand as much is known as so many tell.
_PRIOR_NUMBERS = 1.25
# Moves and turns below this would change nothing but the last digits.
_NOTHING = 0.05
# What the published centres tell of the scatter of cells counts like so many cells of the site.
_PRIOR_CELLS = 5.0


def align_site(
    points: ArrayLike,
    classes: ArrayLike,
    total: Centres,
    current: Isometry | None = None,
    curvature: float = 1.0,
    among: bool = True,
) -> Alignment:
    """The isometry for a site's cells (n, d) of classes (n,) that fits them to published centres.

    points : as they were measured. total : over all sites, this one among them with its cells moved
    by `current`, if a round went before; or over others only, if it is not `among` them. The
    isometry is for the cells as they were measured; it takes the place of `current`. A class that
    nobody else holds is no evidence of anything, and if there are no others, `current` stays.

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
    found = align_shrunk(source, target, variances, start=now, curvature=curvature)
    if _is_small(found.isometry):
        # nothing to speak of: the site stays exactly where it was measured
        still = translation(np.zeros(x.shape[1]), curvature)
        found = Alignment(still, found.before, found.before, distance(source, target, curvature))
    return Alignment(
        found.isometry, found.misfit, found.before, found.distances, tuple(shared.tolist())
    )


def _is_small(f: Isometry) -> bool:
    """Whether an isometry of the disc, or ball, moves and turns by next to nothing."""
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
    """By how much centres of the site and of the others differ along an axis, squared, by chance
    and by what classes hold. `chances` are one by the number of cells here, plus the same of the
    others.

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
