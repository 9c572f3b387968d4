"""What a site holds in a study of hulls, and what of it would leave."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import msgspec
import numpy as np

from fedhull.disc.hull import epsilon_hull
from fedhull.disc.isometry import Isometry
from fedhull.errors import InvalidInput
from fedhull.learn.guard import Guarded
from fedhull.study.classes.holdings import (
    ClassHoldings,
    ClassLine,
    PackedCells,
    positions_among,
    too_few,
)
from fedhull.study.classes.holdings import prepare as prepare_classes
from fedhull.study.classes.told import tell
from fedhull.study.study import Study


class _Packed(msgspec.Struct, array_like=True):
    classes: list[Any]
    hulls: list[list[int]]
    points_held: int
    points_guarded: int
    sketches: list[list[int]]
    withheld: list[Any]
    lines: list[ClassLine]
    several: dict[str, list[str]]
    cells: PackedCells


@dataclass(frozen=True, repr=False, kw_only=True)
class HullHoldings(ClassHoldings):
    """A site's classes, the bins of their hulls, and the cells behind them. `points_held` counts
    the points that the hulls could be made from, `points_guarded` those of them that the guard left
    out."""

    Packed = _Packed

    hulls: list[list[int]]
    points_held: int
    points_guarded: int = 0

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
    def sizes(self) -> list[int]:
        """How many points each hull was made from, those included that the guard left out."""
        counts = np.bincount(self.of_class[~self.test], minlength=len(self.classes))
        return counts[: len(self.classes)].tolist()


def make_hulls(
    study: Study,
    x: np.ndarray,
    y: np.ndarray,
    classes: np.ndarray | None = None,
    donors: np.ndarray | None = None,
) -> HullHoldings:
    """Guard the points and make the quantized hull of each class, in the order of `classes`, except
    for those that the study's rules on disclosure withhold."""
    study.quantizer.encode(x)  # a point beyond R is an error before anything is sent
    classes = np.unique(y) if classes is None else classes
    least = study.disclosure.min_cells
    few = {c: too_few(study, y == c, donors, least) for c in classes.tolist()}
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
    held = HullHoldings(
        classes=sent,
        hulls=[hulls[name] for name in sent],
        points_held=len(x),
        points_guarded=sum(line.guarded for line in lines),
        sketches=[tell(study, x[y == name]) for name in sent],
        withheld=withheld,
        lines=lines,
        x=x,
        of_class=positions_among([*sent, *withheld], y),
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
    their names, and none of its points is kept for testing."""
    held = prepare_classes(make_hulls, study, x, y, donors, several or ())
    study.quantizer.encode(held.x)
    return _standing_for(held, several) if several else held


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
    firsts = {targets[0]: list(targets) for targets in several.values()}
    return replace(
        held, classes=names, hulls=hulls, sketches=sketches, of_class=of_class, several=firsts
    )


def realigned(study: Study, held: HullHoldings, isometry: Isometry) -> HullHoldings:
    """What would leave if the site's cells were where an isometry moves them. What it moves beyond
    the study's radius is taken for what is nearest within."""
    x, of_class = held.taking_part(isometry)
    there = np.unique(of_class)
    names = np.array(held.classes)
    made = make_hulls(study, _within(x, study.geometry.radius), names[of_class], names[there])
    leaving = {name: targets for name, targets in held.several.items() if name in made.classes}
    return _standing_for(made, leaving) if leaving else made


def _within(points: np.ndarray, radius: float) -> np.ndarray:
    lengths = np.hypot.reduce(points, axis=1)
    return points * np.minimum(1.0, radius * (1.0 - 1e-12) / np.maximum(lengths, 1e-300))[:, None]


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
