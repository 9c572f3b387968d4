"""The coordinator of a study of hulls: one sum, one classifier, one publication."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from fedhull.study.classes.outcome import ClassOutcome
from fedhull.study.classes.publication import publish
from fedhull.study.coordinator import Coordinator, Publication, Record
from fedhull.study.counts import Counts
from fedhull.study.hulls.holdings import HullHoldings
from fedhull.study.hulls.learning import Learned, check_hulls, learn
from fedhull.study.hulls.site import HullSite
from fedhull.study.hulls.sum import HullSummation, HullTotal
from fedhull.study.study import Study


@dataclass(frozen=True, repr=False, kw_only=True)
class HullOutcome(ClassOutcome):
    """What the coordinator has at the end: besides the model, the decoded hulls."""

    total: HullTotal
    learned: Learned

    def is_exact(self, sites: Mapping[str, HullSite]) -> bool:
        """Whether the server's hulls are the survivors', each under the label it was sent."""
        sent = {
            label: sorted(bins)
            for site in map(sites.__getitem__, self.survivors)
            for label, bins in zip(site.label_of_class, site.holdings.hulls, strict=True)
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


class HullCoordinator(Coordinator):
    """Sums the sites' hulls, learns, publishes the model, asks how well it does."""

    def __init__(self, study: Study):
        self.study: Study = study
        self._total: HullTotal | None = None
        self._learned: Learned | None = None

    def next_sum(self) -> HullSummation | None:
        """One sum of hulls."""
        return HullSummation(self.study) if self._total is None else None

    def kept(self, opened: HullTotal) -> bytes:
        """The hulls."""
        return opened.to_bytes()

    def take(self, opened: HullTotal, seconds: float) -> Publication:
        """The model, and for each site to which class each of its labels was assigned."""
        self._total = opened
        check_hulls(self.study, opened)
        learned = self._learned = learn(self.study, opened)
        return Publication(
            publish(self.study, learned.model, learned.match, opened.secrets), ask=True
        )

    def outcome(self, record: Record, counts: Counts) -> HullOutcome:
        """All of it."""
        total, learned = self._total, self._learned
        assert total is not None
        assert learned is not None
        return HullOutcome(
            study=self.study,
            survivors=total.survivors,
            model=learned.model,
            match=learned.match,
            secrets=total.secrets,
            learning_seconds=learned.seconds,
            counts=counts,
            record=record,
            total=total,
            learned=learned,
        )
