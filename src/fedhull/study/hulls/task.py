"""The task of a study of hulls."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import msgspec
import numpy as np

from fedhull.study.classes.holdings import hold_out
from fedhull.study.classes.task import ClassTask
from fedhull.study.coordinator import Record, Votes
from fedhull.study.counts import Counts
from fedhull.study.hulls.coordinator import HullCoordinator, HullOutcome
from fedhull.study.hulls.holdings import HullHoldings, class_table, make_hulls, prepare
from fedhull.study.hulls.plan import plan_hulls
from fedhull.study.hulls.site import HullSite
from fedhull.study.hulls.sum import HullTotal
from fedhull.study.plan import Plan

# The share of points above which a site is warned before it agrees.
_MUCH = 0.5


@dataclass(frozen=True)
class HullTask(ClassTask):
    """One sum of hulls, from which a classifier is learned."""

    Holdings, Site, Coordinator = HullHoldings, HullSite, HullCoordinator
    choices = ("method", "grouping", "strength", "classes")

    def prepare(
        self,
        x: np.ndarray,
        y: np.ndarray,
        donors: np.ndarray | None = None,
        several: Mapping[str, list[str]] | None = None,
    ) -> HullHoldings:
        """Keep some points for testing, make hulls of the others."""
        return prepare(self.study, x, y, donors, several)

    def hold(
        self, x: np.ndarray, y: np.ndarray, classes: np.ndarray, donors: np.ndarray | None = None
    ) -> HullHoldings:
        """Keep some points for testing, make hulls of the others."""
        return hold_out(make_hulls, self.study, x, y, classes, donors)

    def learn(self, kept: bytes, votes: bytes | None = None, **settings: Any) -> HullOutcome:
        """Group and train again, with other settings of [learning]."""
        learning = msgspec.structs.replace(self.study.learning, **settings)
        study = msgspec.structs.replace(self.study, learning=learning)
        coordinator = HullCoordinator(study)
        cast = None if votes is None or settings else Votes.from_bytes(votes)
        coordinator.learn_again(HullTotal.from_bytes(kept), cast)
        return coordinator.outcome(Record(), Counts(None, None, []))

    def plan(self, holdings: HullHoldings | None, corners: int) -> Plan:
        """What the study would send."""
        return plan_hulls(self.study, holdings, corners)

    def leaving(self, holdings: HullHoldings) -> list[str]:
        """How many of how many points leave, in what form, to whom."""
        share = holdings.points_sent / holdings.points_held
        smallest = holdings.smallest_group or 0
        words = [
            *class_table(holdings.lines),
            f"{holdings.points_sent:,} points would leave, {share:.1%} as many as you hold apart "
            f"from those for testing: the corners of the hulls of your classes, each rounded to a "
            f"bin of width {self.study.geometry.epsilon:g}, without names or labels, masked.",
            f"No cell's position leaves; everything sent is the mean of at least {smallest} cells."
            if holdings.cells_exposed == 0 and smallest > 1
            else f"{holdings.cells_exposed:,} of your cells would leave with their own position, "
            f"each to within a bin.",
            "With each hull goes the number of its cells and a sketch, eight sums over them, by "
            "which the coordinator finds out whose class is whose.",
            *self.aligning(),
            "The coordinator sees the sum over all sites, from which it reads all sites' hulls, "
            "but not whose they are.",
        ]
        if share > _MUCH:
            words.append(
                f"Careful: that is {share:.0%} of them. Where a class has few points, most are "
                f"corners."
            )
        return words
