"""The coordinator of a study of moments: match the sites' classes, then learn from totals."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import msgspec
import numpy as np

from fedhull.errors import InvalidInput
from fedhull.learn.extent import Extent
from fedhull.learn.moment_classifier import SCALES, MomentClassifier
from fedhull.learn.moments import Moments
from fedhull.protocol.keys import digest
from fedhull.study.classes.matching import Match, match
from fedhull.study.classes.outcome import ClassOutcome
from fedhull.study.classes.publication import publish, sealed_entries
from fedhull.study.coordinator import Coordinator, Publication, Record
from fedhull.study.counts import Counts
from fedhull.study.moments.holdings import MomentHoldings
from fedhull.study.moments.site import MomentSite
from fedhull.study.moments.sum import (
    MOMENT_FIELD,
    MatchNews,
    MatchSummation,
    MatchTotal,
    MomentSummation,
    MomentTotal,
)
from fedhull.study.study import Study


class Matched(msgspec.Struct, frozen=True):
    """What the coordinator keeps of the first sum."""

    labels: list[int]
    groups: list[int]
    counts: list[int]
    certainty: list[float] | None
    secrets: dict[int, tuple[int, ...]]
    survivors: list[str]
    size: int = 0

    @classmethod
    def of(cls, found: Match, total: MatchTotal) -> "Matched":
        """The match of what was said in the first sum."""
        return cls(
            found.labels,
            found.groups.tolist(),
            found.counts.tolist(),
            None if found.certainty is None else found.certainty.tolist(),
            total.slots.secrets,
            total.survivors,
            total.size,
        )

    @property
    def match(self) -> Match:
        """The match itself."""
        sure = None if self.certainty is None else np.array(self.certainty)
        return Match(self.labels, np.array(self.groups), np.array(self.counts), sure)


@dataclass(frozen=True, repr=False, kw_only=True)
class MomentOutcome(ClassOutcome):
    """What the coordinator has at the end: besides the model, the totals that it was fitted to, and
    what it keeps of the first sum, if there was one."""

    moments: Moments
    extent: Extent
    matched: Matched | None

    @property
    def matched_sites(self) -> list[str]:
        """Who was in the first sum."""
        return [] if self.matched is None else self.matched.survivors

    @property
    def match_size(self) -> int | None:
        """How many numbers each of them sent in it."""
        return None if self.matched is None else self.matched.size

    @property
    def cells_of_classes(self) -> list[int]:
        """The cells of each of the model's classes, over all sites."""
        counts = self.moments.counts
        return counts[counts >= self.study.disclosure.min_cells].tolist()

    def is_exact(self, sites: Mapping[str, MomentSite]) -> bool:
        """Whether the totals are the sums of the survivors' own."""
        n_classes, n_features = self.moments.sums.shape
        total = Moments.none(n_features, n_classes)
        for name in self.survivors:
            total += sites[name].own_moments(sites[name].session.totals)
        return (total.packed(self.extent) == self.moments.packed(self.extent)).all().item()

    def fewest_cells(self, holdings: Iterable[MomentHoldings]) -> int:
        """Of the smallest class at a site or, where only totals left, over all sites."""
        if self.study.agreed:
            return int(self.moments.counts[self.moments.counts > 0].min())
        return min(cells for held in holdings if (cells := held.smallest_group))

    def published(self) -> bytes:
        """What the sites are given."""
        return _published(self.study, self.model, self.matched)

    def to_json(self) -> dict[str, Any]:
        """Plain numbers and words."""
        return super().to_json() | {
            "matched_sites": self.matched_sites,
            "features": self.extent.features,
            "cells": int(self.moments.counts.sum()),
            "cells_by_class": self.moments.counts.tolist(),
            "field_bits": MOMENT_FIELD.bits,
        }


class KeptSum(msgspec.Struct, frozen=True):
    """All that a coordinator can learn from again, for a private file."""

    matched: Matched | None
    survivors: list[str]
    features: int
    of_class: tuple[int, ...]
    moments: bytes

    @classmethod
    def from_bytes(cls, raw: bytes) -> "KeptSum":
        """From such a file."""
        try:
            return msgspec.msgpack.decode(raw, type=cls)
        except (msgspec.MsgspecError, UnicodeDecodeError):
            raise InvalidInput("what was kept of the sum is damaged") from None

    @property
    def total(self) -> MomentTotal:
        """The second sum."""
        packed, extent = np.frombuffer(self.moments, dtype="<i8"), self.extent
        return MomentTotal(Moments.unpacked(packed, extent), extent, self.survivors)

    @property
    def extent(self) -> Extent:
        """How far it goes."""
        return Extent(self.features, self.of_class)


class MomentCoordinator(Coordinator):
    """Two sums, match and learn; where names are agreed, the second only."""

    def __init__(self, study: Study, matched: Matched | None = None):
        self.study: Study = study
        self._matched = matched
        self._news = b""
        self._total: MomentTotal | None = None
        self._model: MomentClassifier | None = None
        self._seconds: dict[str, float] = {}

    def next_sum(self) -> MatchSummation | MomentSummation | None:
        """Match, if that is still to be done, then learn."""
        study = self.study
        if self._total is not None:
            return None
        if study.agreed:
            return MomentSummation(study, 1, len(study.agreed))
        if self._matched is None:
            return MatchSummation(study)
        return MomentSummation(study, 2, max(self._matched.groups) + 1, digest(self._news))

    def kept(self, opened: MatchTotal | MomentTotal) -> bytes | None:
        """The totals, and what they are of; nothing can be learned from the first sum alone."""
        if isinstance(opened, MatchTotal):
            return None
        extent = opened.extent
        packed = opened.moments.packed(extent).astype("<i8").tobytes()
        return msgspec.msgpack.encode(
            KeptSum(self._matched, opened.survivors, extent.features, extent.of_class, packed)
        )

    def take(self, opened: MatchTotal | MomentTotal, seconds: float) -> Publication:
        """After the first sum, which class is which; after the second, the model."""
        begin = perf_counter()
        if isinstance(opened, MatchTotal):
            made = Publication(self._match(opened))
            self._seconds["grouping"] = perf_counter() - begin
        else:
            made = Publication(self._learn(opened), ask=True)
            self._seconds["learning"] = perf_counter() - begin
        return made

    def outcome(self, record: Record, counts: Counts) -> MomentOutcome:
        """All of it."""
        total, model, matched = self._total, self._model, self._matched
        assert total is not None
        assert model is not None
        return MomentOutcome(
            study=self.study,
            survivors=total.survivors,
            model=model,
            match=None if matched is None else matched.match,
            secrets={} if matched is None else matched.secrets,
            learning_seconds=self._seconds,
            counts=counts,
            record=record,
            moments=total.moments,
            extent=total.extent,
            matched=matched,
        )

    def _match(self, opened: MatchTotal) -> bytes:
        study, sketches = self.study, opened.slots.sketches
        # an order that does not depend on labels, which are drawn from the system's randomness
        labels = sorted(sketches, key=lambda label: (sketches[label], label))
        found = match(study, labels, sketches)
        self._matched = Matched.of(found, opened)
        news = MatchNews(max(found.numbers) + 1, {})
        entries = sealed_entries(study, found, opened.slots.secrets, news.bound_to)
        self._news = MatchNews(news.n_classes, entries).to_bytes()
        return self._news

    def _learn(self, opened: MomentTotal) -> bytes:
        study, moments = self.study, opened.moments
        self._total = opened
        enough = np.flatnonzero(moments.counts >= study.disclosure.min_cells)
        if len(enough) < 2:
            raise InvalidInput(
                f"a classifier needs two classes, but {len(enough)} have "
                f"{study.disclosure.min_cells} cells over all sites together"
            )
        self._model = MomentClassifier.from_moments(
            moments.only(enough),
            enough,
            dimension=2,
            n_features=study.learning.features,
            scales=SCALES,
            curvature=study.geometry.curvature,
            seed=study.learning.seed,
        )
        return _published(study, self._model, self._matched)


def _published(study: Study, model: MomentClassifier, matched: Matched | None) -> bytes:
    """The model and, unless names are agreed, which class is which, sealed for each place."""
    if matched is None:
        return publish(study, model, None, {})
    return publish(study, model, matched.match, matched.secrets)
