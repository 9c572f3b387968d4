"""The task of a study of hulls."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import msgspec
import numpy as np

from fedhull.protocol.keys import Identity, Randomness
from fedhull.protocol.messages import published_content
from fedhull.study.classes.plan import Plan
from fedhull.study.classes.task import ClassTask
from fedhull.study.coordinator import Record
from fedhull.study.counts import Counts
from fedhull.study.hulls.coordinator import HullCoordinator, HullOutcome
from fedhull.study.hulls.holdings import HullHoldings, class_table, make_hulls, prepare
from fedhull.study.hulls.plan import plan_hulls
from fedhull.study.hulls.site import HullSite
from fedhull.study.hulls.sum import HullTotal

# The share of points above which a site is warned before it agrees.
_MUCH = 0.5


@dataclass(frozen=True)
class HullTask(ClassTask):
    """One sum of hulls, from which a classifier is learned."""

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

    def hold(self, x: np.ndarray, y: np.ndarray, classes: np.ndarray) -> HullHoldings:
        """Make hulls of all points."""
        return make_hulls(self.study, x, y, classes)

    def holdings_from_bytes(self, raw: bytes) -> HullHoldings:
        """The inverse of the holdings' `to_bytes`."""
        return HullHoldings.from_bytes(raw)

    def site(
        self,
        name: str,
        identity: Identity,
        holdings: HullHoldings,
        randomness: Randomness | None = None,
        checkpoint: bytes | None = None,
    ) -> HullSite:
        """A site with these holdings."""
        return HullSite(self.study, name, identity, holdings, randomness, checkpoint)

    def coordinator(self) -> HullCoordinator:
        """The coordinator's side."""
        return HullCoordinator(self.study)

    def late(
        self,
        name: str,
        identity: Identity,
        holdings: HullHoldings,
        receipt: bytes,
        publication: bytes,
    ) -> HullSite:
        """A site that makes the published model its own after the session."""
        site = HullSite(self.study, name, identity, holdings)
        site.take_late(published_content(publication, self.study), receipt)
        return site

    def learn(self, kept: bytes, **settings: Any) -> HullOutcome:
        """Group and train again, with other settings of [learning]."""
        learning = msgspec.structs.replace(self.study.learning, **settings)
        study = msgspec.structs.replace(self.study, learning=learning)
        coordinator = HullCoordinator(study)
        coordinator.take(HullTotal.from_bytes(kept), 0.0)
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
