"""The coordinator of a study of moments: it learns from totals."""

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
from fedhull.study.classes.coordinator import ClassCoordinator, Matched
from fedhull.study.classes.outcome import ClassOutcome
from fedhull.study.classes.publication import publish
from fedhull.study.coordinator import Record
from fedhull.study.counts import Counts
from fedhull.study.moments.holdings import MomentHoldings
from fedhull.study.moments.site import MomentSite
from fedhull.study.moments.sum import MOMENT_FIELD, MomentSummation, MomentTotal


@dataclass(frozen=True, repr=False, kw_only=True)
class MomentOutcome(ClassOutcome):
    """What the coordinator has at the end: besides the model, the totals that it was fitted to, and
    who was in the first sum, if there was one, and how many numbers each of them sent in it."""

    moments: Moments
    extent: Extent
    matched_sites: list[str]
    match_size: int | None = None

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
    centres: list[list[int]] = []

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


class MomentCoordinator(ClassCoordinator):
    """By the last sum classes are matched, so that it gives totals, to which a classifier is
    fitted."""

    _total: MomentTotal | None = None
    _model: MomentClassifier | None = None

    def last_sum(self, number: int, n_classes: int, basis: bytes) -> MomentSummation:
        """Moments of all classes."""
        return MomentSummation(self.study, number, n_classes, basis)

    def kept_last(self, opened: MomentTotal) -> bytes:
        """The totals, and what they are of."""
        extent = opened.extent
        packed = opened.moments.packed(extent).astype("<i8").tobytes()
        centres = [centres.packed().tolist() for centres in self.centres]
        return msgspec.msgpack.encode(
            KeptSum(
                self.matched, opened.survivors, extent.features, extent.of_class, packed, centres
            )
        )

    def learn(self, opened: MomentTotal) -> bytes:
        """The model, and for each site which class is which."""
        begin, study, matched = perf_counter(), self.study, self.matched
        moments = opened.moments
        enough = np.flatnonzero(moments.counts >= study.disclosure.min_cells)
        if len(enough) < 2:
            raise InvalidInput(
                f"a classifier needs two classes, but {len(enough)} have "
                f"{study.disclosure.min_cells} cells over all sites together"
            )
        self._total = opened
        self._model = MomentClassifier.from_moments(
            moments.only(enough),
            enough,
            dimension=2,
            n_features=study.learning.features,
            scales=SCALES,
            curvature=study.geometry.curvature,
            seed=study.learning.seed,
        )
        self.seconds["learning"] = perf_counter() - begin
        if matched is None:
            return publish(study, self._model, None, {})
        return publish(study, self._model, matched.match, matched.secrets)

    def outcome(self, record: Record, counts: Counts) -> MomentOutcome:
        """All of it."""
        total, model, matched = self._total, self._model, self.matched
        assert total is not None
        assert model is not None
        return MomentOutcome(
            study=self.study,
            survivors=total.survivors,
            model=model,
            match=None if matched is None else matched.match,
            secrets={} if matched is None else matched.secrets,
            centres=self.centres,
            learning_seconds=self.seconds,
            counts=counts,
            record=record,
            moments=total.moments,
            extent=total.extent,
            matched_sites=[] if matched is None else matched.survivors,
            match_size=None if matched is None else matched.size,
        )
