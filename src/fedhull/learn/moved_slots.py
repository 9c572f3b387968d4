"""Matching of slots across sites that were measured differently.

A site's slots say where its classes are, but seen through an isometry of its own. Matching and
aligning depend on each other: slots that are matched tell the isometry, and slots that are aligned
can be matched. They are done in turn, from several starts: all sites as they are, and all sites
brought one by one onto one of the largest (`registration`). The start is believed that ends with
the most evidence: that of the matching, less what its isometries cost.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from fedhull.disc.isometry import Isometry, translation
from fedhull.errors import InvalidInput
from fedhull.learn.grouping import Matched
from fedhull.learn.places import Places, slot_places
from fedhull.learn.registration import (
    ALONE,
    Registration,
    Template,
    fit_isometry,
    freedom_cost,
    prior_cost,
    register,
    slot_weights,
)
from fedhull.learn.slots import certainty_of, match_evidence, match_slots

# The number of largest sites that are tried as templates for all others.
_TEMPLATES = 2
_MOST_TURNS, _SWEEPS = 6, 2
_NOWHERE = 1e5
# Other starts are tried if sites as they are leave more than this share of matches in doubt: slots
# of sites that were moved far rarely look as if they went together well.
_CLEAR = 0.05
# The evidence needed to believe that sites were moved. Where nothing was moved the best isometries
# gained at most 1 on data sets that were tried, and where sites were moved by 0.2 at least 40.
_BELIEVED = 20.0


@dataclass(frozen=True, kw_only=True)
class Aligned(Matched):
    """Slots matched, and the isometries of sites, in the order of owners' names."""

    isometries: tuple[Isometry, ...]
    evidence: float


@dataclass(frozen=True)
class _Slots:
    places: Places
    counts: np.ndarray
    owners: np.ndarray
    n_classes: int

    @property
    def n_owners(self) -> int:
        return int(self.owners.max()) + 1

    def moved(self, isometries: list[Isometry]) -> Places:
        parts = [self.places.of(self.owners == o).moved(f) for o, f in enumerate(isometries)]
        centres = np.empty_like(self.places.centres)
        scatter = np.empty_like(self.places.scatter)
        for o, part in enumerate(parts):
            centres[self.owners == o], scatter[self.owners == o] = part
        return Places(centres, scatter)


def match_moved_slots(
    places: ArrayLike,
    counts: ArrayLike,
    owners: ArrayLike,
    n_classes: int = 0,
    curvature: float = 1.0,
    means: ArrayLike | None = None,
) -> Aligned:
    """Sort slots into classes, as `match_slots`, for sites moved and turned against each other.

    places (n, 5) : from `class_place`. counts (n,), owners (n,), n_classes : as for `match_slots`.
    means (n, 8) : mean sketches of the cells, if known, which tell more than places where nobody
    was moved. A certainty is that of the match after the alignment, or that of the alignment
    against the next best one by which the slot would be another class, if less.

    >>> from fedhull.learn.places import class_place
    >>> left, right = class_place([[-0.5, 0.0], [-0.4, 0.1]]), class_place([[0.5, 0.1], [0.3, 0.0]])
    >>> match_moved_slots([left, right, right, left], [2] * 4, ["a", "a", "b", "b"], 2).groups
    array([0, 1, 1, 0])
    """
    values = slot_places(places)
    n = np.asarray(counts, dtype=np.float64)
    names = np.asarray(owners)
    if n.shape != values.centres.shape or names.shape != n.shape or not (n >= 1.0).all():
        raise InvalidInput(
            f"counts and owners must be given for each of the {len(values.centres)} slots, and "
            "counts must be at least 1"
        )
    slots = _Slots(values, n, np.unique(names, return_inverse=True)[1], n_classes)
    still = [translation(np.zeros(2))] * slots.n_owners
    unmoved = _matched(slots, still)
    ends = [_settled(slots, _aligned(slots, unmoved[1].groups, still))]
    if max(ends[0][1].doubtful.mean(), unmoved[1].doubtful.mean()) > _CLEAR:
        ends += [_settled(slots, _onto(slots, owner)) for owner in _largest(slots)]
    best = max(ends, key=lambda end: end[0])
    if best[0] < unmoved[0] + _BELIEVED:
        best = unmoved
    for _ in range(_SWEEPS if best is not unmoved else 0):
        again = _settled(slots, _swept(slots, best))
        if again[0] <= best[0] + 1e-9:
            break
        best = again
    evidence, matched, isometries = best
    if best is unmoved and means is not None:
        matched = match_slots(means, n, names, n_classes)
    sure = matched.certainty
    assert sure is not None  # match_slots always says
    if best is not unmoved:
        sure = np.minimum(sure, _alignment_certainty(slots, matched.groups, isometries))
    root = np.sqrt(curvature)
    return Aligned(
        matched.groups,
        sure,
        isometries=tuple(Isometry(f.shift / root, f.turn, curvature) for f in isometries),
        evidence=evidence,
    )


_End = tuple[float, Matched, list[Isometry]]


def _matched(slots: _Slots, isometries: list[Isometry]) -> _End:
    """The matching of slots moved by isometries, and the evidence for both."""
    places = slots.moved(isometries)
    means = places.sketches()
    matched = match_slots(means, slots.counts, slots.owners, slots.n_classes)
    evidence = match_evidence(means, slots.counts, slots.owners, matched.groups)
    weights = slot_weights(slots.counts)
    template = _template(places, weights, matched.groups)
    for owner, f in enumerate(isometries):
        # the identity is not one of many isometries, it is that nothing has happened
        if prior_cost(f) > 0.0:
            mine = slots.owners == owner
            evidence -= prior_cost(f) + freedom_cost(
                places.of(mine), weights[mine], template, matched.groups[mine]
            )
    return evidence, matched, isometries


def _settled(slots: _Slots, isometries: list[Isometry]) -> _End:
    """The end of matching and aligning in turn."""
    best = _matched(slots, isometries)
    for _ in range(_MOST_TURNS):
        new = _matched(slots, _aligned(slots, best[1].groups, best[2]))
        if new[0] <= best[0] + 1e-6:
            break
        best = new
    return best


def _aligned(slots: _Slots, groups: np.ndarray, isometries: list[Isometry]) -> list[Isometry]:
    """Each site aligned to the classes of all."""
    weights = slot_weights(slots.counts)
    template = _template(slots.moved(isometries), weights, groups)
    aligned = []
    for owner, f in enumerate(isometries):
        mine = slots.owners == owner
        # a class of one's own says nothing
        shared = np.bincount(groups)[groups[mine]] > 1
        classes = np.where(shared, groups[mine], -1)
        aligned.append(fit_isometry(slots.places.of(mine), weights[mine], template, classes, f))
    return aligned


def _template(places: Places, weights: np.ndarray, groups: np.ndarray) -> Template:
    """The classes 0, 1, … that slots make together."""
    total = np.bincount(groups, weights)
    # on the hyperboloid
    gap = 1.0 - np.abs(places.centres) ** 2
    time = np.bincount(groups, weights * (2.0 - gap) / gap)
    space = np.bincount(groups, weights * 2.0 * places.centres.real / gap) + 1j * np.bincount(
        groups, weights * 2.0 * places.centres.imag / gap
    )
    norm = np.sqrt(np.maximum(time**2 - np.abs(space) ** 2, 1e-12))
    scatter = np.empty((len(total), 2, 2))
    for a in range(2):
        for b in range(2):
            scatter[:, a, b] = np.bincount(groups, weights * places.scatter[:, a, b]) / total
    return Template(Places(space / (time + norm), scatter), total)


def _largest(slots: _Slots) -> list[int]:
    """The owners with the most classes, and with the most cells among those."""
    classes = np.bincount(slots.owners)
    cells = np.bincount(slots.owners, slots.counts)
    return np.lexsort((-cells, -classes))[:_TEMPLATES].tolist()


def _onto(slots: _Slots, first: int) -> list[Isometry]:
    """All sites brought onto one, the clearest fit first; missing classes are added."""
    weights = slot_weights(slots.counts)
    isometries = [translation(np.zeros(2))] * slots.n_owners
    groups = np.full(len(weights), -1)
    groups[slots.owners == first] = np.arange((slots.owners == first).sum())
    sizes = np.bincount(slots.owners, weights)
    for owner in sorted(set(range(slots.n_owners)) - {first}, key=lambda o: -sizes[o]):
        placed, mine = groups >= 0, slots.owners == owner
        number = int(groups.max()) + 1
        template = _template(slots.moved(isometries).of(placed), weights[placed], groups[placed])
        full = slots.n_classes and number + mine.sum() > slots.n_classes
        best = register(slots.places.of(mine), weights[mine], template, ALONE)[0]
        if full and number + (best.classes < 0).sum() > slots.n_classes:
            best = register(slots.places.of(mine), weights[mine], template, _NOWHERE)[0]
        isometries[owner] = best.isometry
        classes = best.classes.copy()
        own = classes < 0
        classes[own] = number + np.arange(own.sum())
        groups[mine] = classes
    return isometries


def _swept(slots: _Slots, end: _End) -> list[Isometry]:
    """Each site brought anew onto the classes that the others make."""
    _, matched, isometries = end
    isometries = list(isometries)
    for owner in range(slots.n_owners):
        mine, ways = (
            slots.owners == owner,
            _registrations(slots, matched.groups, isometries, owner),
        )
        if mine.any() and ways:
            isometries[owner] = ways[0].isometry
    return isometries


def _registrations(
    slots: _Slots, groups: np.ndarray, isometries: list[Isometry], owner: int
) -> list[Registration]:
    """Ways to see a site's slots as classes of the others."""
    mine, weights = slots.owners == owner, slot_weights(slots.counts)
    if mine.all():
        return []
    left, renumbered = np.unique(groups[~mine], return_inverse=True)
    template = _template(slots.moved(isometries).of(~mine), weights[~mine], renumbered)
    ways = register(slots.places.of(mine), weights[mine], template)
    return [r._replace(classes=np.where(r.classes >= 0, left[r.classes], -1)) for r in ways]


def _alignment_certainty(
    slots: _Slots, groups: np.ndarray, isometries: list[Isometry]
) -> np.ndarray:
    """Certainty of slots' classes (n,) by the likelihood of sites' isometries."""
    sure = np.ones(len(groups))
    for owner in range(slots.n_owners):
        mine = np.flatnonzero(slots.owners == owner)
        others = set(groups[slots.owners != owner].tolist())
        now = np.array([g if g in others else -1 for g in groups[mine].tolist()])
        ways = _registrations(slots, groups, isometries, owner)
        for i, slot in enumerate(mine):
            same = [r.cost for r in ways if r.classes[i] == now[i]]
            different = [r.cost for r in ways if r.classes[i] != now[i]]
            if different:
                sure[slot] = certainty_of(min(different) - min(same, default=min(different) + 10.0))
    return sure
