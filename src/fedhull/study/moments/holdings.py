"""What a site holds in a study of moments, and what of it would leave."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from typing import Any

import msgspec
import numpy as np

from fedhull.disc.isometry import Isometry
from fedhull.disc.points import as_ball_points
from fedhull.errors import InvalidInput
from fedhull.learn.horocycles import SCALES, Horocycles, draw_horocycles
from fedhull.learn.moments import Extent, Moments, moments_of_points
from fedhull.study.classes.holdings import (
    ClassHoldings,
    ClassLine,
    PackedCells,
    positions_among,
    too_few,
)
from fedhull.study.classes.holdings import prepare as prepare_classes
from fedhull.study.classes.told import tell
from fedhull.study.noise import noise_of
from fedhull.study.study import Study


class _Packed(msgspec.Struct, array_like=True):
    classes: list[Any]
    sketches: list[list[int]]
    withheld: list[Any]
    lines: list[ClassLine]
    several: dict[str, list[str]]
    cells: PackedCells


@dataclass(frozen=True, repr=False, kw_only=True)
class MomentHoldings(ClassHoldings):
    """A site's classes, and its cells."""

    Packed = _Packed

    @property
    def points_held(self) -> int:
        """How many points are not kept for testing."""
        return int((~self.test).sum())

    @property
    def cells_summed(self) -> int:
        """How many of them are of classes that are not withheld."""
        return int(self._taking_part.sum())

    @property
    def _taking_part(self) -> np.ndarray:
        """Which points go into the sums."""
        return ~self.test & (self.of_class < len(self.classes))

    def moments(
        self,
        study: Study,
        numbers: Sequence[Sequence[int]],
        extent: Extent,
        isometry: Isometry | None = None,
    ) -> Moments:
        """What the site adds to the sum: moments, of this extent, of the cells as the isometry
        moves them. `numbers` are as in `counts`."""
        noise, n_classes = noise_of(study), len(extent.of_class)
        longest = None if noise is None else noise.longest_features
        drawn = draw_horocycles(study.learning.features, 2, SCALES, study.learning.seed)
        first = Horocycles(*(part[: extent.features] for part in drawn))
        x, of_class = self.taking_part(isometry)
        known = np.append(extent.of_class, 0) > 0
        total = Moments.none(extent.features, n_classes)
        for column in zip_longest(*numbers, fillvalue=-1):
            number = np.array(column)[of_class]
            there = known[number]
            total += moments_of_points(
                x[there], number[there], n_classes, first, study.geometry.curvature, longest
            )
        return total.cut(extent)


def extent_of(study: Study, totals: Sequence[int], n_classes: int) -> Extent:
    """What may be known of so many cells of each class over all sites together. Where noise hides
    single cells, sites do not say how many they have, and all of it may be known."""
    if study.privacy is not None:
        return Extent(study.learning.features, (study.learning.features,) * n_classes)
    return Extent.of(totals, study.learning.features, 2, study.disclosure.min_cells)


def make_moments(
    study: Study,
    x: np.ndarray,
    y: np.ndarray,
    classes: np.ndarray | None = None,
    donors: np.ndarray | None = None,
) -> MomentHoldings:
    """Which of the `classes` take part, and their sketches. Where names are agreed there are no
    sketches, and it is the totals over all sites that must have enough cells."""
    as_ball_points(x, study.geometry.curvature, "x")  # a bad point is named by its row in all
    classes = np.unique(y) if classes is None else classes
    least = 1 if study.agreed else study.disclosure.min_cells
    if study.privacy is not None:
        # whether a class is sent must not hang on a single cell: noise hides the small ones
        least, donors = 0, None
    lines = []
    for name in classes.tolist():
        members = y == name
        n, few = int(members.sum()), too_few(study, members, donors, least)
        lines.append(ClassLine(name=name, cells=n, smallest=0 if few else n, withheld=few))
    sent = [line.name for line in lines if not line.withheld]
    withheld = [line.name for line in lines if line.withheld]
    return MomentHoldings(
        classes=sent,
        sketches=[] if study.agreed else [tell(study, x[y == name]) for name in sent],
        withheld=withheld,
        lines=lines,
        x=x,
        of_class=positions_among([*sent, *withheld], y),
        test=np.zeros(len(x), dtype=bool),
    )


def prepare(
    study: Study,
    x: np.ndarray,
    y: np.ndarray,
    donors: np.ndarray | None = None,
    several: Mapping[str, list[str]] | None = None,
) -> MomentHoldings:
    """What a site would take into a study: some points of each class are kept for testing, except
    for those of classes that stand for `several`."""
    if several and study.privacy is not None:
        # such a cell would be in the sums once for each of them, and noise hides it once
        raise InvalidInput(
            f"a class must stand for one of the agreed names where [privacy] hides single cells, "
            f"but {min(several)!r} stands for several; leave its cells out, or tell them apart"
        )
    held = prepare_classes(make_moments, study, x, y, donors, several or ())
    return replace(held, several=dict(several or {}))


def class_table(lines: Sequence[ClassLine]) -> list[str]:
    """What a person at the site reads of each class, line by line."""
    return [
        f"{line.name}: withheld, because it {line.withheld}."
        if line.withheld
        else f"{line.name}: {line.cells:,} cells, {line.tested:,} kept for testing, "
        f"{line.smallest:,} in the sums."
        for line in lines
    ]
