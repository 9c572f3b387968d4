"""The coordinator of a study of hulls: one sum, one classifier, one publication."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from fedhull.learn.centres import Centres
from fedhull.study.classes.coordinator import ClassCoordinator
from fedhull.study.classes.outcome import ClassOutcome
from fedhull.study.classes.publication import publish
from fedhull.study.coordinator import Record
from fedhull.study.counts import Counts
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

    def learn(self, opened: HullTotal) -> bytes:
        """The model, and for each site to which class each of its labels was assigned."""
        self._total = opened
        check_hulls(self.study, opened)
        learned = self._learned = learn(self.study, opened)
        self.seconds |= learned.seconds
        return publish(self.study, learned.model, learned.match, opened.secrets)

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
            centres=self.centres,
            learning_seconds=self.seconds,
            counts=counts,
            record=record,
            total=total,
            learned=learned,
        )
