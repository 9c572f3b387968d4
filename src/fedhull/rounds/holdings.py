"""A site's holdings in a study of classes, and the classes that may leave at all."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec
import numpy as np

from fedhull.disc.isometry import Isometry
from fedhull.errors import InvalidInput
from fedhull.study.study import Study

# A site that cannot hold out this many cells in all holds out none: they are missed in training,
# and tell little.
_FEWEST_HELD_OUT = 20


class ClassLine(msgspec.Struct, frozen=True, kw_only=True):
    """A class at a site: its cells, those kept for testing and left out by the guard, the groups
    and corners of its hull, the fewest cells behind anything that leaves, and the corners that are
    `single` cells. A class that is withheld says why, and nothing of it leaves."""

    name: Any
    cells: int
    tested: int = 0
    guarded: int = 0
    groups: int = 0
    corners: int = 0
    smallest: int = 0
    single: int = 0
    withheld: str = ""


class Prepared(msgspec.Struct, frozen=True, kw_only=True):
    """A site's cells as a summary prepares them. Of the points held, `points_sent` leave as points,
    and `points_guarded` are left out."""

    points_sent: int = 0
    points_guarded: int = 0


class _Packed(msgspec.Struct, array_like=True):
    classes: list[Any]
    withheld: list[Any]
    lines: list[ClassLine]
    several: dict[str, list[str]]
    prepared: msgspec.Raw
    x: bytes
    of_class: bytes
    test: bytes


@dataclass(frozen=True, repr=False, kw_only=True)
class ClassHoldings:
    """A site's classes in its own order, and its cells.

    `classes` are those that leave, `withheld` the others. x : (n, 2), all points; of_class : (n,),
    the position of each point's class among all; test : (n,), the points kept for testing. Where
    names are agreed, a class may stand for `several`. `notes` tell the person who is asked how the
    data were read; `prepared` is what the summary has made of the cells.
    """

    classes: list[Any]
    withheld: list[Any] = field(default_factory=list)
    lines: list[ClassLine] = field(default_factory=list)
    x: np.ndarray = field(default_factory=lambda: np.empty((0, 2)))
    of_class: np.ndarray = field(default_factory=lambda: np.empty(0, dtype=np.int32))
    test: np.ndarray = field(default_factory=lambda: np.empty(0, dtype=bool))
    several: dict[str, list[str]] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    prepared: Any = field(default_factory=Prepared)

    def __repr__(self) -> str:
        return f"ClassHoldings({len(self.classes)} classes, {len(self.x):,} points)"

    @property
    def points_held(self) -> int:
        """The number of points that are not kept for testing."""
        return int((~self.test).sum())

    @property
    def cells_summed(self) -> int:
        """The number of those that are of classes that leave."""
        return int(self._taking_part.sum())

    @property
    def points_sent(self) -> int:
        """The number of points that leave as points, however coarse."""
        return self.prepared.points_sent

    @property
    def points_guarded(self) -> int:
        """The number of points that a guard leaves out."""
        return self.prepared.points_guarded

    @property
    def smallest_group(self) -> int | None:
        """The fewest cells behind anything that leaves; None if nothing does."""
        return min((line.smallest for line in self.lines if not line.withheld), default=None)

    @property
    def cells_exposed(self) -> int:
        """The number of cells whose own positions leave, to within a bin."""
        return sum(line.single for line in self.lines)

    @property
    def y(self) -> np.ndarray:
        """The class of each point, in the site's own words."""
        return np.array([*self.classes, *self.withheld])[self.of_class]

    @property
    def test_x(self) -> np.ndarray:
        """The points that are kept for testing."""
        return self.x[self._testable]

    @property
    def test_y(self) -> np.ndarray:
        """Their classes."""
        return self.y[self._testable]

    def taking_part(self, isometry: Isometry | None = None) -> tuple[np.ndarray, np.ndarray]:
        """The points (n, 2) of classes that leave, without those kept for testing, as an isometry
        moves them, and the position of the class of each (n,)."""
        which = self._taking_part
        return moved(self.x[which], isometry), self.of_class[which]

    def cells_by_class(self) -> list[np.ndarray]:
        """The points of each class that leaves, without those kept for testing."""
        x, of_class = self.taking_part()
        return [x[of_class == number] for number in range(len(self.classes))]

    def numbered(
        self, numbers: Sequence[Sequence[int]], isometry: Isometry | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Points as in `taking_part` that are of one class for certain, and its number (n,)."""
        x, of_class = self.taking_part(isometry)
        only = np.array([mine[0] if len(mine) == 1 else -1 for mine in numbers], dtype=np.int64)
        number = only[of_class]
        return x[number >= 0], number[number >= 0]

    def counts(self, numbers: Sequence[Sequence[int]], n_classes: int) -> tuple[int, ...]:
        """The cells of each class that take part; numbers[i] are those of the site's class i. A
        cell of a class that stands for several is counted as a cell of each."""
        cells = np.bincount(self.of_class[~self.test], minlength=len(self.classes)).tolist()
        counts = [0] * n_classes
        for n, mine in zip(cells, numbers, strict=False):
            for number in mine:
                counts[number] += n
        return tuple(counts)

    def table(self) -> tuple[np.ndarray, list[str]]:
        """The points."""
        return self.x, ["x0", "x1"]

    def to_bytes(self) -> bytes:
        """Serialize what would leave, and the cells behind it. The same data and study always give
        the same bytes, so that consent can be bound to their hash."""
        return msgspec.msgpack.encode(
            _Packed(
                self.classes,
                self.withheld,
                self.lines,
                self.several,
                msgspec.Raw(msgspec.msgpack.encode(self.prepared)),
                x=self.x.astype("<f8").tobytes(),
                of_class=self.of_class.astype("<i4").tobytes(),
                test=np.packbits(self.test).tobytes(),
            )
        )

    @classmethod
    def from_bytes(cls, raw: bytes, kind: type = Prepared) -> "ClassHoldings":
        """The inverse of `to_bytes`; `kind` is what the summary prepares."""
        try:
            packed = msgspec.msgpack.decode(raw, type=_Packed)
            of_class = np.frombuffer(packed.of_class, dtype="<i4")
            test = np.unpackbits(np.frombuffer(packed.test, dtype=np.uint8), count=len(of_class))
            return cls(
                classes=packed.classes,
                withheld=packed.withheld,
                lines=packed.lines,
                several=packed.several,
                prepared=msgspec.msgpack.decode(packed.prepared, type=kind),
                x=np.frombuffer(packed.x, dtype="<f8").reshape(-1, 2),
                of_class=of_class,
                test=test.astype(bool),
            )
        except (msgspec.MsgspecError, ValueError):
            raise InvalidInput("what a site prepared for the session is damaged") from None

    @property
    def _taking_part(self) -> np.ndarray:
        return ~self.test & (self.of_class < len(self.classes))

    @property
    def _testable(self) -> np.ndarray:
        # nobody will say what the model calls classes that do not leave
        return self.test & (self.of_class < len(self.classes))


def moved(points: np.ndarray, isometry: Isometry | None) -> np.ndarray:
    """Points (n, 2) after an isometry, if there is one."""
    return points if isometry is None or not len(points) else isometry.apply(points)


def positions_among(names: list[Any], y: np.ndarray) -> np.ndarray:
    """The position of each label (n,) among names."""
    position = {name: i for i, name in enumerate(names)}
    classes, of_class = np.unique(y, return_inverse=True)
    return np.array([position[name] for name in classes.tolist()], dtype=np.int32)[of_class]


def too_few(study: Study, members: np.ndarray, donors: np.ndarray | None, cells: int = 1) -> str:
    """The reason why a class with these members may not leave; empty if it may. It needs `cells`
    cells and, where donors are known, cells of enough of them."""
    rules, n = study.disclosure, int(members.sum())
    if n < cells:
        return f"has {n} {'cell' if n == 1 else 'cells'}, fewer than {cells}"
    if donors is not None and len(set(donors[members].tolist())) < rules.min_donors:
        return f"has cells of fewer than {rules.min_donors} donors"
    return ""


def held_out(study: Study, y: np.ndarray, untested: Collection[Any]) -> np.ndarray:
    """The points that are kept for testing: the study's share of each class but those `untested`,
    rounded down, whatever order the site has its classes in; none, if these are too few to say
    much."""
    rng = np.random.default_rng(study.learning.seed)
    test = np.zeros(len(y), dtype=bool)
    for name in np.unique(y):
        members = np.flatnonzero(y == name)
        test[rng.permutation(members)[: int(study.learning.holdout * len(members))]] = True
    test &= ~np.isin(y, list(untested))
    fewest = max(study.disclosure.min_cells, _FEWEST_HELD_OUT)
    return test if test.sum() >= fewest else np.zeros_like(test)


def class_table(lines: Sequence[ClassLine]) -> list[str]:
    """Each class at a site, line by line, for the person who is asked."""
    words = []
    for line in lines:
        if line.withheld:
            words.append(f"{line.name}: withheld, because it {line.withheld}.")
        elif line.groups:
            words.append(
                f"{line.name}: {line.cells:,} cells, {line.tested:,} kept for testing, "
                f"{line.guarded:,} left out by the guard; {line.groups:,} groups, the smallest of "
                f"{line.smallest:,}; {line.corners:,} corners leave."
            )
        else:
            words.append(
                f"{line.name}: {line.cells:,} cells, {line.tested:,} kept for testing, "
                f"{line.smallest:,} in the sums."
            )
    return words
