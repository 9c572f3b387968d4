"""The coordinator of a study of hulls: one sum, one classifier, one publication."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from fedhull.learn.centres import Centres
from fedhull.learn.content import Landmarks
from fedhull.learn.places import landmarks_of_corners
from fedhull.registry import name_of
from fedhull.study.classes.ballot import Candidate
from fedhull.study.classes.coordinator import ClassCoordinator, Labels
from fedhull.study.classes.outcome import ClassOutcome
from fedhull.study.coordinator import Record
from fedhull.study.counts import Counts
from fedhull.study.hulls.candidates import hull_alternatives
from fedhull.study.hulls.holdings import HullHoldings
from fedhull.study.hulls.learning import Learned, check_hulls, learn
from fedhull.study.hulls.site import HullSite
from fedhull.study.hulls.sum import HullSummation, HullTotal


@dataclass(frozen=True, repr=False, kw_only=True)
class HullOutcome(ClassOutcome):
    """What the coordinator has at the end: besides the model, the decoded hulls."""

    total: HullTotal
    learned: Learned

    @property
    def model_centres(self) -> Centres | None:
        """Hulls are matched anew in the last sum, and which of the centres is of which class then
        only sites know; unless names are agreed."""
        return super().model_centres if self.study.agreed else None

    def is_exact(self, sites: Mapping[str, HullSite]) -> bool:
        """Whether the server's hulls are the survivors', each under the label it was sent."""
        sent = {
            label: sorted(bins)
            for site in map(sites.__getitem__, self.survivors)
            for label, bins in zip(site.label_of_class, site.sent.hulls, strict=True)
        }
        return self.total.hulls == sent

    def fewest_cells(self, holdings: Iterable[HullHoldings]) -> int:
        """Of the smallest group."""
        return min(group for held in holdings if (group := held.smallest_group))

    def to_json(self) -> dict[str, Any]:
        """Plain numbers and words."""
        study, total = self.study, self.total
        return super().to_json() | {
            "hulls": len(total.hulls),
            "points_received": sum(map(len, total.hulls.values())),
            "bins": study.quantizer.n_bins,
            "field_bits": study.coding.field.bits,
            "planes": study.coding.planes,
            "label_code": study.coding.name,
        }


class HullCoordinator(ClassCoordinator):
    """Sums the sites' hulls, learns, publishes the model, asks how well it does."""

    _total: HullTotal | None = None
    _learned: Learned | None = None

    def last_sum(self, number: int, n_classes: int, basis: bytes) -> HullSummation:
        """All hulls; which class each is of is found then, also if sites were matched before."""
        return HullSummation(self.study, number, basis)

    def kept_last(self, opened: HullTotal) -> bytes:
        """The hulls."""
        return opened.to_bytes()

    def learn(self, opened: HullTotal) -> Candidate:
        """The study's classifier, trained on the corners of all hulls."""
        self._total = opened
        check_hulls(self.study, opened)
        learned = self._learned = learn(self.study, opened)
        self.seconds |= learned.seconds
        return Candidate(f"{name_of(self.study.learning.method)}, as it is", learned.model)

    def alternatives(self, opened: HullTotal) -> list[Candidate]:
        """The same classifier with other settings, and others."""
        assert self._learned is not None
        return hull_alternatives(self.study, self._learned)

    def landmarks(self, opened: HullTotal) -> Landmarks:
        """From the corners."""
        assert self._learned is not None
        points, groups = self._learned.corners
        columns = np.searchsorted(self.model.classes_, groups)
        return landmarks_of_corners(points, columns, self.study.geometry.curvature)

    @property
    def labels(self) -> Labels:
        """Hulls are matched in the last sum."""
        assert self._learned is not None
        assert self._total is not None
        return self._learned.match, self._total.secrets

    @property
    def ballot_labels(self) -> Labels:
        """Where names are agreed, sites know which hull is of which class."""
        return super().ballot_labels if self.study.agreed else self.labels

    def outcome(self, record: Record, counts: Counts) -> HullOutcome:
        """All of it."""
        total, learned = self._total, self._learned
        assert total is not None
        assert learned is not None
        return HullOutcome(
            study=self.study,
            survivors=total.survivors,
            model=self.model,
            match=learned.match,
            secrets=total.secrets,
            centres=self.centres,
            learning_seconds=self.seconds,
            vote=self.vote,
            counts=self.vote.counts or counts,
            record=record,
            total=total,
            learned=learned,
        )
