"""The task of a study of hulls."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from fedhull.data.files import read_column
from fedhull.embed.embedder import CellEmbedder
from fedhull.errors import InvalidInput
from fedhull.protocol.agreement import collusion_words
from fedhull.protocol.keys import Identity, Randomness
from fedhull.protocol.messages import published_content
from fedhull.study.coordinator import Record
from fedhull.study.counts import Counts
from fedhull.study.frame import load_points, read_encoder
from fedhull.study.hulls.coordinator import HullCoordinator, HullOutcome
from fedhull.study.hulls.holdings import HullHoldings, class_table, prepare
from fedhull.study.hulls.site import HullSite
from fedhull.study.hulls.sum import HullTotal
from fedhull.study.naming import agreed_labels, read_map
from fedhull.study.study import Study
from fedhull.study.task import Source, Task
from fedhull.text import printable

# The share of points above which a site is warned before it agrees.
_MUCH = 0.5


@dataclass(frozen=True)
class HullTask(Task):
    """One sum of hulls, from which a classifier is learned; `encoder` places cells in the disc, if
    the study has one."""

    study: Study
    encoder: CellEmbedder | None = None
    product = "model"
    needs_labels = True
    sums = 1

    @classmethod
    def of(cls, study: Study, encoder: bytes | None) -> "HullTask":
        """The task, given the content of the encoder's file if the study names one."""
        return cls(study, read_encoder(study, encoder))

    def read(self, source: Source) -> HullHoldings:
        """Place the cells, keep some for testing, make hulls of the others."""
        donor = source.donor
        points, labels = load_points(self.encoder, source.data, source.label, source.layer, donor)
        donors = None if donor is None else read_column(source.data, donor)
        if not self.study.agreed:
            if source.names is not None:
                raise InvalidInput("--map is for studies with [classes] names; this one has none")
            return prepare(self.study, points, labels, donors)
        own = {} if source.names is None else read_map(source.names)
        names, several = agreed_labels(labels.tolist(), self.study.agreed, own)
        return prepare(self.study, points, names, donors, several)

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
        return HullSite(self.study, name, identity, holdings, randomness)

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

    def explain(self, name: str, holdings: HullHoldings) -> list[str]:
        """How many of how many points leave, in what form, to whom."""
        study, share = self.study, holdings.points_sent / holdings.points_held
        placed = (
            f"Your cells are placed in the disc on this machine, by the study's encoder "
            f"{study.encoder_hash} (SHA-256)."
        )
        n_tested = len(holdings.test_y)
        smallest = holdings.smallest_group or 0
        words = [
            f"Study '{study.name}', hash {study.hash.hex()}, coordinated by the holder of key "
            f"{study.coordinator or 'none'}; you are {name}, one of {len(study.clients)} sites.",
            *([placed] if study.encoder_hash else []),
            f"You hold {len(holdings.x):,} points in {len(holdings.lines)} classes:",
            *class_table(holdings.lines),
            f"{holdings.points_sent:,} points would leave, {share:.1%} as many as you hold apart "
            f"from those for testing: the corners of the hulls of your classes, each rounded to a "
            f"bin of width {study.geometry.epsilon:g}, without names or labels, masked.",
            f"No cell's position leaves; everything sent is the mean of at least {smallest} cells."
            if holdings.cells_exposed == 0 and smallest > 1
            else f"{holdings.cells_exposed:,} of your cells would leave with their own position, "
            f"each to within a bin.",
            "With each hull goes the number of its cells and a sketch, eight sums over them, by "
            "which the coordinator finds out whose class is whose.",
            "The coordinator sees the sum over all sites, from which it reads all sites' hulls, "
            f"but not whose they are. It also gets one masked count: how many of your {n_tested:,} "
            "test points the model gets right, which it can only read as a sum over sites.",
            collusion_words(study),
        ]
        if share > _MUCH:
            words.append(
                f"Careful: that is {share:.0%} of them. Where a class has few points, most are "
                f"corners."
            )
        return words

    def summarize(self, result: Mapping[str, Any]) -> str:
        """How well the model does, and at a site in which words it speaks."""
        if "site" not in result:
            known = result["accuracy"] is not None
            return (
                f"Accuracy: {result['accuracy']:.2f} % of {result['tested']:,} held-out points, "
                f"counted at {len(result['evaluators'])} sites."
                if known
                else "Accuracy: not known, because a site that was asked did not answer, or no "
                "site held points out."
            )
        names = ", ".join(map(printable, result["classes"].values()))
        words = f"The model uses your class names: {names}."
        if result["tested"]:
            words += (
                f"\nIt is right on {result['accuracy']:.2f} % of the {result['tested']:,} points "
                f"you held out."
            )
        return words
