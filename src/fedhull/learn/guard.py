"""Guards: points that a site leaves out of hulls, or puts together, for privacy and for accuracy.

A guard is written as parts joined by ``+``, applied from left to right, each ``name`` or
``name:argument``: ``edit+trim:0.02``. ``none`` is the guard that leaves nothing out.

A hull is made of outliers. *Edit* drops the points that the site's own classifier gets wrong,
*trim* the outermost few of each class. Fewer identifiable points leave, and the hulls of different
classes overlap less. *Group* replaces the points of each class by centroids of several, so that
what leaves is no cell's own position.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Self

import numpy as np

from fedhull.disc.maps import centroid, centroids, distance
from fedhull.errors import InvalidInput
from fedhull.registry import Registry
from fedhull.text import shortened

# points (n, d), labels (n,), how many cells stand behind each point (n,), curvature → the same
GuardPart = Callable[
    [np.ndarray, np.ndarray, np.ndarray, float], tuple[np.ndarray, np.ndarray, np.ndarray]
]
GuardFactory = Callable[[str | None], GuardPart]  # from the argument, if one was given

GUARDS: Registry[GuardFactory] = Registry("a part of a guard", "fedhull.guards")
_NONE = "none"
_LOCAL_STRENGTH = 1e3


class Guarded(NamedTuple):
    """Input of the hulls: points (n, d), labels (n,), and the number of cells behind each (n,)."""

    x: np.ndarray
    y: np.ndarray
    cells: np.ndarray


@dataclass(frozen=True, repr=False)
class Guard:
    """A sequence of parts that thin out points before hulls; guards of equal parts are equal.

    >>> guard = Guard.parse("edit+trim:.020")
    >>> guard, str(guard) == "edit+trim:0.02", guard == Guard.parse("edit+trim:0.02")
    (Guard('edit+trim:0.02'), True, True)
    """

    parts: tuple[GuardPart, ...] = ()
    words: tuple[str, ...] = field(default=(), compare=False)

    @classmethod
    def parse(cls, text: str) -> Self:
        """From parts joined by ``+``, or ``none``."""
        if text == _NONE:
            return cls()
        written = text.split("+")
        parts = tuple(_parsed(word, text) for word in written)
        return cls(parts, tuple(map(_word_for, parts, written)))

    @classmethod
    def of(cls, guard: "str | Guard | GuardPart") -> "Guard":
        """The guard itself, the guard of a text, or one of a single part."""
        if isinstance(guard, Guard):
            return guard
        if isinstance(guard, str):
            return cls.parse(guard)
        if not callable(guard):
            raise InvalidInput(
                f"guard must be a text such as 'edit+trim:0.02', a Guard or a function of points, "
                f"labels, cells and curvature, got {shortened(guard)}"
            )
        return cls((guard,), (_word_for(guard, getattr(guard, "__name__", repr(guard))),))

    def grouping(self, size: int) -> "Guard":
        """The guard with groups of this size where it does not say which.

        >>> Guard.parse("edit+group").grouping(5)
        Guard('edit+group:5')
        """
        parts = tuple(Group(size) if part == Group() else part for part in self.parts)
        return Guard(parts, tuple(map(_word_for, parts, self.words)))

    def apply(self, x: np.ndarray, y: np.ndarray, curvature: float = 1.0) -> Guarded:
        """The remainder of points (n, d) with labels (n,). No class is emptied.

        >>> x, y = np.array([[0.1, 0.0], [0.2, 0.0], [0.9, 0.0]]), np.zeros(3)
        >>> Guard.parse("trim:0.4").apply(x, y).x.tolist()
        [[0.1, 0.0], [0.2, 0.0]]
        """
        left = Guarded(x, y, np.ones(len(x), dtype=np.int64))
        for part, word in zip(self.parts, self.words, strict=True):
            before, left = left, Guarded(*map(np.asarray, part(*left, curvature)))
            _check(before, left, word)
        return left

    def __str__(self) -> str:
        return "+".join(self.words) or _NONE

    def __repr__(self) -> str:
        return f"Guard({str(self)!r})"


def _parsed(word: str, text: str) -> GuardPart:
    name, colon, argument = word.partition(":")
    try:
        return GUARDS[name](argument if colon else None)
    except InvalidInput as problem:
        raise InvalidInput(
            f"guard must be 'none' or parts joined by '+', as in 'edit+trim:0.02', got "
            f"{shortened(text)}: "
            f"{problem}"
        ) from None


def _word_for(part: GuardPart, written: str) -> str:
    """A part's own name, or else the text it was written as."""
    kind: Any = type(part)
    return written if kind.__str__ is object.__str__ else str(part)


def _check(before: Guarded, after: Guarded, word: str) -> None:
    """Hold a part to its contract; parts may come from anywhere."""
    n = len(after.y)
    if after.x.shape != (n, before.x.shape[1]) or after.cells.shape != (n,):
        raise InvalidInput(
            f"the part {word!r} of the guard must return as many labels and cells as points, got "
            f"arrays of shapes {after.x.shape}, {after.y.shape} and {after.cells.shape}"
        )
    if set(before.y.tolist()) != set(after.y.tolist()):
        changed = sorted(map(str, set(before.y.tolist()) ^ set(after.y.tolist())))
        raise InvalidInput(
            f"the part {word!r} of the guard must keep every class and make no new one, but these "
            f"came or went: {', '.join(changed)}"
        )


Triple = tuple[np.ndarray, np.ndarray, np.ndarray]


@dataclass(frozen=True)
class Edit:
    """Leave out what a classifier fitted to all points gets wrong, unless that is a whole class."""

    def __call__(self, x: np.ndarray, y: np.ndarray, cells: np.ndarray, curvature: float) -> Triple:
        """The remaining points."""
        # slow to import, and not needed where a guard is only named
        from fedhull.learn.lorentz import LorentzClassifier

        classes = np.unique(y)
        if len(classes) < 2:
            return x, y, cells
        local = LorentzClassifier(
            _LOCAL_STRENGTH, curvature=curvature, fit_intercept=True, calibrate=False
        )
        kept = local.fit(x, y).predict(x) == y
        for label in classes:
            if not kept[y == label].any():
                kept[y == label] = True
        return x[kept], y[kept], cells[kept]

    def __str__(self) -> str:
        return "edit"


@dataclass(frozen=True)
class Trim:
    """Leave out the outermost `share` of each class, rounded down."""

    share: float

    def __call__(self, x: np.ndarray, y: np.ndarray, cells: np.ndarray, curvature: float) -> Triple:
        """The remaining points."""
        kept = np.ones(len(x), dtype=bool)
        for label in np.unique(y):
            members = np.flatnonzero(y == label)
            n_trimmed = int(self.share * len(members))
            kept[members[outermost(x[members], n_trimmed, curvature)]] = False
        return x[kept], y[kept], cells[kept]

    def __str__(self) -> str:
        return f"trim:{np.format_float_positional(self.share, trim='-')}"


@dataclass(frozen=True)
class Group:
    """Put the points of each class into disjoint groups of at least `size`, outermost first, and
    replace each group by its centroid on the hyperboloid.

    A class with fewer than twice as many points is one group, however few they are. Where points
    already stand for several cells, they weigh as much, and the cells of a group add up. Without a
    size, groups are as large as the study in which the guard stands asks for.
    """

    size: int | None = None

    def __call__(self, x: np.ndarray, y: np.ndarray, cells: np.ndarray, curvature: float) -> Triple:
        """The centroids, class after class, each class's outermost first."""
        # slow to import, and not needed where a guard is only named
        from fedhull.disc.microaggregation import microaggregate

        if self.size is None:
            raise InvalidInput("group needs how many cells to put together, as in group:5")
        labels, of_label = np.unique(y, return_inverse=True)
        # sums are rounded in the order of rows, which must not matter
        order = np.lexsort((cells, *x.T, of_label))
        x, of_label, cells = x[order], of_label[order], cells[order]
        groups, owners = np.empty(len(x), dtype=np.int64), np.empty(0, dtype=np.int64)
        for number in range(len(labels)):
            members = of_label == number
            found = microaggregate(x[members], self.size, curvature, cells[members])
            groups[members] = len(owners) + found
            owners = np.append(owners, np.full(found.max() + 1, number))
        behind = np.zeros(len(owners), dtype=cells.dtype)
        np.add.at(behind, groups, cells)
        return centroids(x, groups, cells, curvature), labels[owners], behind

    def __str__(self) -> str:
        return "group" if self.size is None else f"group:{self.size}"


def make_edit(argument: str | None) -> Edit:
    """The part ``edit``, which takes no argument."""
    if argument is not None:
        raise InvalidInput(f"edit takes no argument, got {argument!r}")
    return Edit()


def make_trim(argument: str | None) -> Trim:
    """The part ``trim:F``.

    >>> make_trim("0.02")
    Trim(share=0.02)
    """
    try:
        share = float(argument or "")
    except ValueError:
        share = float("nan")
    if not 0.0 <= share < 1.0:
        raise InvalidInput(
            f"trim needs the share of each class to leave out, 0 ≤ F < 1, as in trim:0.02, got "
            f"{argument!r}"
        )
    return Trim(share)


def make_group(argument: str | None) -> Group:
    """The part ``group:K``, or ``group``, which takes K from the study.

    >>> make_group("5")
    Group(size=5)
    """
    if argument is None:
        return Group()
    try:
        size = int(argument)
    except ValueError:
        size = 0
    if size < 1:
        raise InvalidInput(
            f"group needs how many cells to put together, a whole number K ≥ 1, as in group:5, got "
            f"{argument!r}"
        )
    return Group(size)


def outermost(points: np.ndarray, n: int, curvature: float) -> np.ndarray:
    """Indices of the n outermost points: hull after hull is peeled off; of a hull that is only
    partly needed, the corners farthest from the centroid."""
    # slow to import, and not needed where a guard is only named
    from fedhull.disc.hull import minimal_hull

    left, outer = np.arange(len(points)), np.empty(0, dtype=np.int64)
    while len(outer) < n:
        layer = minimal_hull(points[left], curvature)
        if len(outer) + len(layer) > n:
            middle = centroid(points, curvature=curvature)
            away = distance(points[left[layer]], middle, curvature)
            layer = layer[np.argsort(-away, kind="stable")][: n - len(outer)]
        outer = np.concatenate((outer, left[layer]))
        left = np.delete(left, layer)
    return outer
