"""The hulls that a site takes into a study: guarded, in bins, class by class."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import msgspec
import numpy as np

from fedhull.disc.hull import epsilon_hull
from fedhull.errors import InvalidInput
from fedhull.learn.guard import Guarded
from fedhull.rounds.holdings import ClassHoldings, ClassLine, Prepared, positions_among, too_few
from fedhull.rounds.slots import SlotSums
from fedhull.study.study import Study


class PreparedHulls(Prepared, frozen=True, kw_only=True):
    """For each class that leaves, in the site's order: the bins of its hull, and its row."""

    hulls: list[list[int]]
    rows: list[list[int]]

    @property
    def bins_filled(self) -> int:
        """The number of different bins that the hulls touch."""
        return len({j for bins in self.hulls for j in bins})


def make_hulls(
    study: Study,
    slots: SlotSums,
    x: np.ndarray,
    y: np.ndarray,
    classes: np.ndarray,
    donors: np.ndarray | None = None,
) -> ClassHoldings:
    """The hulls of a site: guard the points, and make the quantized hull of each class that may
    leave, in the order of `classes`."""
    study.quantizer.encode(x)  # a point beyond R is an error before anything is sent
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
    held = ClassHoldings(
        classes=sent,
        withheld=withheld,
        lines=lines,
        x=x,
        of_class=positions_among([*sent, *withheld], y),
        test=np.zeros(len(x), dtype=bool),
        prepared=PreparedHulls(
            hulls=[hulls[name] for name in sent],
            rows=[slots.describe(x[y == name]) for name in sent],
            points_sent=sum(len(hulls[name]) for name in sent),
            points_guarded=sum(line.guarded for line in lines),
        ),
    )
    _check_disclosure(study, held)
    return held


def check_hulls(study: Study, hulls: Sequence[Sequence[int]]) -> list[list[int]]:
    """Hulls that a site may send; InvalidInput for others."""
    if len(hulls) > study.labels.classes:
        raise InvalidInput(
            f"a site may have {study.labels.classes} classes in this study, got {len(hulls)}"
        )
    checked = [[int(j) for j in bins] for bins in hulls]
    for number, bins in enumerate(checked, 1):
        if not bins or len(set(bins)) != len(bins):
            raise InvalidInput(f"hull {number} must hold different bins, at least one")
        if min(bins) < 1 or max(bins) > study.quantizer.n_bins:
            raise InvalidInput(
                f"hull {number} must hold bins between 1 and {study.quantizer.n_bins}"
            )
    n_corners = sum(map(len, checked))
    if n_corners > study.protocol.most_bins:
        raise InvalidInput(
            f"the hulls have {n_corners} corners, but the study allows {study.protocol.most_bins}; "
            f"use a larger epsilon or agree on a larger most_bins"
        )
    return checked


def standing_for(held: ClassHoldings, several: Mapping[str, list[str]]) -> ClassHoldings:
    """The same, with each class that stands for several under each of their names; its points are
    those of the first."""
    prepared = held.prepared
    parts = [
        (target, first, hull, row)
        for name, hull, row in zip(held.classes, prepared.hulls, prepared.rows, strict=True)
        for first, target in enumerate(several.get(name, [name]))
    ]
    # those that points are counted as stay where they were
    parts.sort(key=lambda part: part[1] > 0)
    shift = len(parts) - len(held.classes)
    of_class = np.where(held.of_class < len(held.classes), held.of_class, held.of_class + shift)
    names, _, hulls, rows = map(list, zip(*parts, strict=True))
    firsts = {targets[0]: list(targets) for targets in several.values()}
    prepared = msgspec.structs.replace(
        prepared, hulls=hulls, rows=rows, points_sent=sum(map(len, hulls))
    )
    return replace(held, classes=names, of_class=of_class, several=firsts, prepared=prepared)


def within(points: np.ndarray, radius: float) -> np.ndarray:
    """Points (n, 2), those beyond a radius drawn in to it."""
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


def _check_disclosure(study: Study, held: ClassHoldings) -> None:
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
