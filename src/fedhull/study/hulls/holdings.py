"""What a site holds in a study of hulls, and what of it would leave."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import msgspec
import numpy as np

from fedhull.disc.epsilon_hull import epsilon_hull
from fedhull.disc.points import as_ball_points
from fedhull.errors import InvalidInput
from fedhull.learn.guard import Guarded
from fedhull.learn.sketch import slot_sketch
from fedhull.study.study import Study


class ClassLine(msgspec.Struct, frozen=True, kw_only=True):
    """A class at a site: how many cells it has, how many of them are kept for testing and left out
    by the guard, of how many groups its hull is made and how many corners it has, how many cells
    the smallest group has; `single` corners are cells of their own. A class that is withheld says
    why, and nothing of it leaves."""

    name: Any
    cells: int
    tested: int = 0
    guarded: int = 0
    groups: int = 0
    corners: int = 0
    smallest: int = 0
    single: int = 0
    withheld: str = ""


@dataclass(frozen=True, repr=False)
class HullHoldings:
    """A site's classes in its own order, the bins of their hulls, and the points behind them.

    `classes` are those that leave, with the count and the sketch of the cells of each; `withheld`
    are the others. `points_held` counts the points that the
    hulls could be made from, `points_guarded` those of them that the guard left out. x : (n, 2),
    all points; of_class : (n,), the position of each point's class among all; test : (n,), which of
    them are kept for testing.
    """

    classes: list[Any]
    hulls: list[list[int]]
    points_held: int
    points_guarded: int
    sketches: list[list[int]] = field(default_factory=list)
    withheld: list[Any] = field(default_factory=list)
    lines: list[ClassLine] = field(default_factory=list)
    x: np.ndarray = field(default_factory=lambda: np.empty((0, 2)))
    of_class: np.ndarray = field(default_factory=lambda: np.empty(0, dtype=np.int32))
    test: np.ndarray = field(default_factory=lambda: np.empty(0, dtype=bool))

    def __repr__(self) -> str:
        return (
            f"HullHoldings({len(self.classes)} classes, {self.points_sent} of "
            f"{self.points_held} points would leave)"
        )

    @property
    def points_sent(self) -> int:
        """How many points leave, each as its bin: the corners of all hulls."""
        return sum(map(len, self.hulls))

    @property
    def bins_filled(self) -> int:
        """How many different bins the hulls touch."""
        return len({j for bins in self.hulls for j in bins})

    @property
    def smallest_group(self) -> int | None:
        """The fewest cells behind any point that leaves; None if none does."""
        return min((line.smallest for line in self.lines if not line.withheld), default=None)

    @property
    def cells_exposed(self) -> int:
        """How many cells' own positions leave, to within a bin."""
        return sum(line.single for line in self.lines)

    @property
    def sizes(self) -> list[int]:
        """How many points each hull was made from, those included that the guard left out."""
        counts = np.bincount(self.of_class[~self.test], minlength=len(self.classes))
        return counts[: len(self.classes)].tolist()

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

    def table(self) -> tuple[np.ndarray, list[str]]:
        """The points."""
        return self.x, ["x0", "x1"]

    def to_bytes(self) -> bytes:
        """What would leave, and the cells behind it."""
        return msgspec.msgpack.encode(
            _Packed(
                classes=self.classes,
                hulls=self.hulls,
                points_held=self.points_held,
                points_guarded=self.points_guarded,
                sketches=self.sketches,
                withheld=self.withheld,
                lines=self.lines,
                x=self.x.astype("<f8").tobytes(),
                of_class=self.of_class.astype("<i4").tobytes(),
                test=np.packbits(self.test).tobytes(),
            )
        )

    @classmethod
    def from_bytes(cls, raw: bytes) -> "HullHoldings":
        """The inverse of `to_bytes`."""
        try:
            packed = msgspec.msgpack.decode(raw, type=_Packed)
            of_class = np.frombuffer(packed.of_class, dtype="<i4")
            return cls(
                packed.classes,
                packed.hulls,
                packed.points_held,
                packed.points_guarded,
                packed.sketches,
                packed.withheld,
                packed.lines,
                x=np.frombuffer(packed.x, dtype="<f8").reshape(-1, 2),
                of_class=of_class,
                test=np.unpackbits(
                    np.frombuffer(packed.test, dtype=np.uint8), count=len(of_class)
                ).astype(bool),
            )
        except (msgspec.MsgspecError, ValueError):
            raise InvalidInput("what a site prepared for the session is damaged") from None


class _Packed(msgspec.Struct, array_like=True):
    classes: list[Any]
    hulls: list[list[int]]
    points_held: int
    points_guarded: int
    sketches: list[list[int]]
    withheld: list[Any]
    lines: list[ClassLine]
    x: bytes
    of_class: bytes
    test: bytes


def make_hulls(
    study: Study,
    x: np.ndarray,
    y: np.ndarray,
    classes: np.ndarray | None = None,
    donors: np.ndarray | None = None,
) -> HullHoldings:
    """Guard the points and make the quantized hull of each class, in the order of `classes`, except
    for those that the study's rules on disclosure withhold."""
    classes = np.unique(y) if classes is None else classes
    few = {c: _too_few(study, y == c, donors) for c in classes.tolist()}
    leaving = np.isin(y, [c for c in classes.tolist() if not few[c]])
    guarded = Guarded(x[:0], y[:0], np.empty(0, dtype=np.int64))
    if leaving.any():
        guarded = study.guard.apply(x[leaving], y[leaving], study.geometry.curvature)
    lines, hulls = [], {}
    for name in classes.tolist():
        line, hulls[name] = _hull_of(study, guarded, name, int((y == name).sum()), few[name])
        lines.append(line)
    sent = [line.name for line in lines if not line.withheld]
    withheld = [line.name for line in lines if line.withheld]
    position = {name: i for i, name in enumerate([*sent, *withheld])}
    held = HullHoldings(
        sent,
        [hulls[name] for name in sent],
        points_held=len(x),
        points_guarded=sum(line.guarded for line in lines),
        sketches=[_sketch(study, x[y == name]) for name in sent],
        withheld=withheld,
        lines=lines,
        x=x,
        of_class=np.array([position[name] for name in y.tolist()], dtype=np.int32),
        test=np.zeros(len(x), dtype=bool),
    )
    _check_disclosure(study, held)
    return held


def prepare(
    study: Study,
    x: np.ndarray,
    y: np.ndarray,
    donors: np.ndarray | None = None,
    several: Mapping[str, list[str]] | None = None,
) -> HullHoldings:
    """What a site would take into a study: some points of each class are kept for testing, the
    others guarded and made into hulls. A class that stands for `several` is sent under each of
    their names, and none of its points is kept for testing. The same data and study always give the
    same."""
    points, _ = as_ball_points(x, study.geometry.curvature, "x")
    if points.shape[1] != 2:
        raise InvalidInput(f"x must lie in the disc, shape (n, 2), got shape {points.shape}")
    study.quantizer.encode(points)  # a point beyond R is an error before anything is sent
    classes, of_class = np.unique(y, return_inverse=True)
    if len(classes) > study.labels.classes:
        raise InvalidInput(
            f"the data hold {len(classes)} classes, but the study allows {study.labels.classes} at "
            f"a site"
        )
    test = _held_out(of_class, study.learning.holdout, study.learning.seed)
    test &= ~np.isin(y, list(several or ()))
    made = make_hulls(
        study, points[~test], y[~test], classes, None if donors is None else donors[~test]
    )
    if not made.classes:
        raise InvalidInput(
            f"none of the {len(classes)} classes may leave: "
            + "; ".join(f"{line.name} {line.withheld}" for line in made.lines[:3])
        )
    position = {name: i for i, name in enumerate([*made.classes, *made.withheld])}
    tested = np.bincount(of_class[test], minlength=len(classes))
    lines = [
        msgspec.structs.replace(line, cells=line.cells + int(n), tested=int(n))
        for line, n in zip(made.lines, tested, strict=True)
    ]
    everything = np.array([position[name] for name in classes.tolist()], dtype=np.int32)[of_class]
    held = replace(made, lines=lines, x=points, of_class=everything, test=test)
    return _standing_for(held, several) if several else held


def _sketch(study: Study, cells: np.ndarray) -> list[int]:
    """How many cells there are, and their sketch."""
    sums = slot_sketch(cells, study.geometry.curvature, study.learning.seed)
    return [len(cells), *sums.tolist()]


def _standing_for(held: HullHoldings, several: Mapping[str, list[str]]) -> HullHoldings:
    """The same, with each class that stands for several under each of their names; its points are
    those of the first."""
    parts = [
        (target, first, hull, sketch)
        for name, hull, sketch in zip(held.classes, held.hulls, held.sketches, strict=True)
        for first, target in enumerate(several.get(name, [name]))
    ]
    # those that points are counted as stay where they were
    parts.sort(key=lambda part: part[1] > 0)
    shift = len(parts) - len(held.classes)
    of_class = np.where(held.of_class < len(held.classes), held.of_class, held.of_class + shift)
    names, _, hulls, sketches = map(list, zip(*parts, strict=True))
    return replace(held, classes=names, hulls=hulls, sketches=sketches, of_class=of_class)


def _too_few(study: Study, members: np.ndarray, donors: np.ndarray | None) -> str:
    """Why a class with these members may not leave; empty if it may."""
    rules, cells = study.disclosure, int(members.sum())
    if cells < rules.min_cells:
        return f"has {cells} cells, fewer than {rules.min_cells}"
    if donors is not None and len(set(donors[members].tolist())) < rules.min_donors:
        return f"has cells of fewer than {rules.min_donors} donors"
    return ""


def _hull_of(
    study: Study, guarded: Guarded, name: Any, cells: int, few: str
) -> tuple[ClassLine, list[int]]:
    """The line of a class and the bins of its hull, none if it has too few cells, as they are or
    after the guard."""
    members = guarded.y == name
    behind = guarded.cells[members]
    smallest = study.disclosure.min_cells
    if not few and behind.sum() < smallest:
        few = f"has {behind.sum()} cells after the guard, fewer than {smallest}"
    if few:
        return ClassLine(name=name, cells=cells, withheld=few), []
    points = guarded.x[members]
    bins = epsilon_hull(points, study.quantizer).tolist()
    alone = study.quantizer.encode(points[behind == 1]) if (behind == 1).any() else np.empty(0)
    line = ClassLine(
        name=name,
        cells=cells,
        guarded=cells - int(behind.sum()),
        groups=len(behind),
        corners=len(bins),
        smallest=int(behind.min()),
        single=int(np.isin(alone, bins).sum()),
    )
    return line, bins


def _check_disclosure(study: Study, held: HullHoldings) -> None:
    """Hold what would leave to the study's rules, whatever its guard has done."""
    rules, smallest = study.disclosure, held.smallest_group
    if smallest is not None and smallest < rules.group_size:
        raise InvalidInput(
            f"the guard {str(study.guard)!r} would let a point leave that stands for {smallest} "
            f"cells, but [disclosure] asks for {rules.group_size}; nothing is sent"
        )
    most = int(rules.max_share * held.points_held)
    if held.points_sent > most:
        raise InvalidInput(
            f"{held.points_sent} points would leave, more than the {rules.max_share:.0%} of "
            f"{held.points_held} cells that [disclosure] max_share allows; nothing is sent. Larger "
            f"groups or a larger epsilon make them fewer"
        )


def _held_out(of_class: np.ndarray, share: float, seed: int) -> np.ndarray:
    """Which points are kept for testing: the share of each class, rounded down."""
    rng = np.random.default_rng(seed)
    test = np.zeros(len(of_class), dtype=bool)
    for number in range(of_class.max(initial=-1) + 1):
        members = np.flatnonzero(of_class == number)
        test[rng.permutation(members)[: int(share * len(members))]] = True
    return test


def class_table(lines: Sequence[ClassLine]) -> list[str]:
    """What a person at the site reads of each class, line by line."""
    words = []
    for line in lines:
        if line.withheld:
            words.append(f"{line.name}: withheld, because it {line.withheld}.")
        else:
            words.append(
                f"{line.name}: {line.cells:,} cells, {line.tested:,} kept for testing, "
                f"{line.guarded:,} left out by the guard; {line.groups:,} groups, the smallest of "
                f"{line.smallest:,}; {line.corners:,} corners leave."
            )
    return words
