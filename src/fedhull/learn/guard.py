"""Guarded hulls: what a client leaves out before it makes a hull, for privacy and for accuracy.

A guard is written as parts joined by ``+``, applied from left to right, each ``name`` or
``name:argument``: ``edit+trim:0.02``. ``none`` is the guard that leaves nothing out.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Self

import numpy as np

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


class Guarded(NamedTuple):
    """What goes into the hulls: points (n, d), their labels (n,), and how many cells stand behind
    each (n,)."""

    x: np.ndarray
    y: np.ndarray
    cells: np.ndarray


@dataclass(frozen=True, repr=False)
class Guard:
    """What is left out of hulls, part by part; guards of equal parts are equal.

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
        from fedhull.learn.guard_parts import Group  # parts know guards, not the other way round

        parts = tuple(Group(size) if part == Group() else part for part in self.parts)
        return Guard(parts, tuple(map(_word_for, parts, self.words)))

    def apply(self, x: np.ndarray, y: np.ndarray, curvature: float = 1.0) -> Guarded:
        """What is left of points (n, d) with labels (n,). No class is emptied.

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
    """How a part calls itself, or else how it was written."""
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
