"""What a site holds in a study of classes, and which of its classes may leave at all."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self, TypeVar

import msgspec
import numpy as np

from fedhull.disc.isometry import Isometry
from fedhull.disc.points import as_ball_points
from fedhull.errors import InvalidInput
from fedhull.learn.centres import Centres, class_centres
from fedhull.study.classes.told import tell
from fedhull.study.privacy import bounded, lots
from fedhull.study.study import Study

# A site that cannot hold out so many cells in all holds out none: they are missed in training, and
# tell little.
_FEWEST_HELD_OUT = 20


class ClassLine(msgspec.Struct, frozen=True, kw_only=True):
    """A class at a site: how many cells it has, how many of them are kept for testing and left out
    by the guard, of how many groups its hull is made and how many corners it has, how many cells
    stand behind whatever leaves of it, at least; `single` corners are cells of their own. A class
    that is withheld says why, and nothing of it leaves."""

    name: Any
    cells: int
    tested: int = 0
    guarded: int = 0
    groups: int = 0
    corners: int = 0
    smallest: int = 0
    single: int = 0
    withheld: str = ""


class PackedCells(msgspec.Struct, array_like=True):
    """The cells of a site as bytes."""

    x: bytes
    of_class: bytes
    test: bytes

    @classmethod
    def of(cls, held: "ClassHoldings") -> Self:
        """The cells of these holdings."""
        return cls(
            x=held.x.astype("<f8").tobytes(),
            of_class=held.of_class.astype("<i4").tobytes(),
            test=np.packbits(held.test).tobytes(),
        )

    def arrays(self) -> dict[str, np.ndarray]:
        """The inverse of `of`, as arguments of holdings."""
        of_class = np.frombuffer(self.of_class, dtype="<i4")
        test = np.unpackbits(np.frombuffer(self.test, dtype=np.uint8), count=len(of_class))
        return {
            "x": np.frombuffer(self.x, dtype="<f8").reshape(-1, 2),
            "of_class": of_class,
            "test": test.astype(bool),
        }


@dataclass(frozen=True, repr=False, kw_only=True)
class ClassHoldings:
    """A site's classes in its own order, and its cells.

    `classes` are those that leave, with the count and the sketch of the cells of each; `withheld`
    are the others. x : (n, 2), all points; of_class : (n,), the position of each point's class
    among all; test : (n,), which of them are kept for testing. Where names are agreed, a class may
    stand for `several`. `notes` are what the person who is asked is told of how the data were read.
    `Packed` names the fields that are kept with the cells between processes.
    """

    Packed: ClassVar[Any]

    classes: list[Any]
    sketches: list[list[int]] = field(default_factory=list)
    withheld: list[Any] = field(default_factory=list)
    lines: list[ClassLine] = field(default_factory=list)
    x: np.ndarray = field(default_factory=lambda: np.empty((0, 2)))
    of_class: np.ndarray = field(default_factory=lambda: np.empty(0, dtype=np.int32))
    test: np.ndarray = field(default_factory=lambda: np.empty(0, dtype=bool))
    several: dict[str, list[str]] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({len(self.classes)} classes, {len(self.x):,} points)"

    @property
    def smallest_group(self) -> int | None:
        """The fewest cells behind anything that leaves; None if nothing does."""
        return min((line.smallest for line in self.lines if not line.withheld), default=None)

    @property
    def cells_exposed(self) -> int:
        """How many cells' own positions leave, to within a bin."""
        return sum(line.single for line in self.lines)

    @property
    def y(self) -> np.ndarray:
        """The class of each point, in the site's own words."""
        return np.array([*self.classes, *self.withheld])[self.of_class]

    @property
    def _testable(self) -> np.ndarray:
        """Points that are kept for testing, of classes that leave: nobody will say what the model
        calls the others."""
        return self.test & (self.of_class < len(self.classes))

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
        which = ~self.test & (self.of_class < len(self.classes))
        return moved(self.x[which], isometry), self.of_class[which]

    def places(self, study: Study) -> list[list[int]]:
        """What is said of each of the classes where sites may have been measured differently."""
        x, of_class = self.taking_part()
        cells = (x[of_class == number] for number in range(len(self.classes)))
        return [tell(study, mine, placed=True) for mine in cells]

    def centres(
        self,
        study: Study,
        numbers: Sequence[Sequence[int]],
        n_classes: int,
        isometry: Isometry | None,
    ) -> Centres:
        """The centres of the site's classes, which have these numbers, as an isometry moves the
        cells. What stands for several classes says nothing of any of them."""
        x, number = self.numbered(numbers, isometry)
        return class_centres(x, number, n_classes, study.geometry.curvature)

    def numbered(
        self, numbers: Sequence[Sequence[int]], isometry: Isometry | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Points as in `taking_part` that are of one class for certain, and its number (n,)."""
        x, of_class = self.taking_part(isometry)
        only = np.array([mine[0] if len(mine) == 1 else -1 for mine in numbers], dtype=np.int64)
        number = only[of_class]
        return x[number >= 0], number[number >= 0]

    def agreed_numbers(self, agreed: Sequence[str]) -> list[list[int]]:
        """The numbers of the agreed names that each of the site's classes stands for."""
        return [[agreed.index(n) for n in self.several.get(name, [name])] for name in self.classes]

    def counts(self, numbers: Sequence[Sequence[int]], n_classes: int) -> tuple[int, ...]:
        """How many cells of each class take part; numbers[i] are those of the site's class i. A
        cell of a class that stands for several is counted as a cell of each."""
        cells = np.bincount(self.of_class[~self.test], minlength=len(self.classes)).tolist()
        counts = [0] * n_classes
        for n, mine in zip(cells, numbers, strict=False):
            for number in mine:
                counts[number] += n
        return tuple(counts)

    def to_bytes(self) -> bytes:
        """What would leave, and the cells behind it."""
        kept = [name for name in self.Packed.__struct_fields__ if name != "cells"]
        plain = {name: getattr(self, name) for name in kept}
        return msgspec.msgpack.encode(self.Packed(**plain, cells=PackedCells.of(self)))

    @classmethod
    def from_bytes(cls, raw: bytes) -> Self:
        """The inverse of `to_bytes`."""
        try:
            kept = msgspec.structs.asdict(msgspec.msgpack.decode(raw, type=cls.Packed))
            return cls(**kept.pop("cells").arrays(), **kept)
        except (msgspec.MsgspecError, ValueError):
            raise InvalidInput("what a site prepared for the session is damaged") from None

    def table(self) -> tuple[np.ndarray, list[str]]:
        """The points."""
        return self.x, ["x0", "x1"]


H = TypeVar("H", bound=ClassHoldings)


# From the study, points (n, 2), labels (n,), the classes in the site's order, and whose cells they
# are (n,), if that is known.
Make = Callable[[Study, np.ndarray, np.ndarray, np.ndarray, np.ndarray | None], H]


def moved(points: np.ndarray, isometry: Isometry | None) -> np.ndarray:
    """Points (n, 2) after an isometry, if there is one."""
    return points if isometry is None or not len(points) else isometry.apply(points)


def prepare(
    make: Make[H],
    study: Study,
    x: np.ndarray,
    y: np.ndarray,
    donors: np.ndarray | None = None,
    untested: Collection[Any] = (),
) -> H:
    """What a site would take into a study: some points of each class, except for those `untested`,
    are kept for testing, and holdings made of the others. The same data and study always give
    the same."""
    points, _ = as_ball_points(x, study.geometry.curvature, "x")
    if points.shape[1] != 2:
        raise InvalidInput(f"x must lie in the disc, shape (n, 2), got shape {points.shape}")
    classes = np.unique(y)
    if len(classes) > study.labels.classes:
        raise InvalidInput(
            f"the data hold {len(classes)} classes, but the study allows {study.labels.classes} at "
            f"a site"
        )
    made = hold_out(make, study, points, y, classes, donors, untested)
    if not made.classes:
        raise InvalidInput(
            f"none of the {len(classes)} classes may leave: "
            + "; ".join(f"{line.name} {line.withheld}" for line in made.lines[:3])
        )
    return made


def hold_out(
    make: Make[H],
    study: Study,
    x: np.ndarray,
    y: np.ndarray,
    classes: np.ndarray,
    donors: np.ndarray | None = None,
    untested: Collection[Any] = (),
) -> H:
    """Holdings of a site that numbers its classes in this order, some points of each being kept for
    testing; nothing of a site may be allowed to leave."""
    if study.privacy is None:
        test = _held_out(study, y, untested)
    else:
        x, y, donors = _protected(study, x, y, donors)
        test = lots(x, donors, study.learning.seed) < study.learning.holdout
    made = make(study, x[~test], y[~test], classes, None if donors is None else donors[~test])
    tested = [int((y[test] == line.name).sum()) for line in made.lines]
    lines = [
        msgspec.structs.replace(line, cells=line.cells + n, tested=n)
        for line, n in zip(made.lines, tested, strict=True)
    ]
    everything = positions_among([*made.classes, *made.withheld], y)
    return replace(made, lines=lines, x=x, of_class=everything, test=test)


def _protected(
    study: Study, x: np.ndarray, y: np.ndarray, donors: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
    """The cells that are used if no donor may have more than so many, or all of them if it is cells
    that are protected."""
    privacy = study.privacy
    assert privacy is not None
    if privacy.donors is None:
        return x, y, None
    if donors is None:
        raise InvalidInput(
            f"the study protects all cells of one {privacy.donors!r} together, so it must be known "
            f"whose cells they are; name the column with --donor"
        )
    used = bounded(x, donors, privacy.cells, study.learning.seed)
    return x[used], y[used], donors[used]


def positions_among(names: list[Any], y: np.ndarray) -> np.ndarray:
    """The position of each label (n,) among names."""
    position = {name: i for i, name in enumerate(names)}
    classes, of_class = np.unique(y, return_inverse=True)
    return np.array([position[name] for name in classes.tolist()], dtype=np.int32)[of_class]


def too_few(study: Study, members: np.ndarray, donors: np.ndarray | None, cells: int = 1) -> str:
    """Why a class with these members may not leave; empty if it may. It needs as many `cells`, and
    where donors are known, cells of enough of them."""
    rules, n = study.disclosure, int(members.sum())
    if n < cells:
        return f"has {n} {'cell' if n == 1 else 'cells'}, fewer than {cells}"
    if donors is not None and len(set(donors[members].tolist())) < rules.min_donors:
        return f"has cells of fewer than {rules.min_donors} donors"
    return ""


def _held_out(study: Study, y: np.ndarray, untested: Collection[Any]) -> np.ndarray:
    """Which points are kept for testing: the study's share of each class but those `untested`,
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
