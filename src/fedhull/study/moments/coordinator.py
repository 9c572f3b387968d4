"""The coordinator of a study of moments: it learns from totals."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from time import perf_counter
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from fedhull.errors import InvalidInput
from fedhull.learn.centres import Centres
from fedhull.learn.content import Landmarks, landmarks_of_centres
from fedhull.learn.horocycles import SCALES, draw_horocycles
from fedhull.learn.moments import BITS, Extent, Moments
from fedhull.learn.places import landmarks_of_features
from fedhull.study.classes.ballot import Candidate
from fedhull.study.classes.coordinator import ClassCoordinator, Labels, Matched
from fedhull.study.classes.outcome import ClassOutcome
from fedhull.study.coordinator import Record
from fedhull.study.counts import Counts
from fedhull.study.moments.candidates import others, others_in_noise
from fedhull.study.moments.holdings import MomentHoldings
from fedhull.study.moments.site import MomentSite
from fedhull.study.moments.sum import MOMENT_FIELD, MomentSummation, MomentTotal
from fedhull.study.noise import CLEAR, noise_of
from fedhull.study.study import Study

if TYPE_CHECKING:
    from fedhull.learn.moment_classifier import MomentClassifier


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
        return counts[counts >= fewest_cells(self.study, len(self.survivors))].tolist()

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


def fewest_cells(study: Study, survivors: int) -> float:
    """How many cells a class must have over so many sites; in noise, as many as stand out."""
    noise = noise_of(study)
    if noise is None:
        return study.disclosure.min_cells
    return CLEAR * noise.total_deviations(survivors)[2]


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
    # the classes with enough cells over all sites
    _enough = np.empty(0, dtype=np.int64)

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

    def learn(self, opened: MomentTotal) -> Candidate:
        """The classifier of all cells."""
        begin, study = perf_counter(), self.study
        self._total = opened
        least = fewest_cells(study, len(opened.survivors))
        self._enough = np.flatnonzero(opened.moments.counts >= least)
        if len(self._enough) < 2:
            raise InvalidInput(
                f"a classifier needs two classes, but {len(self._enough)} have {least:.0f} cells "
                f"over all sites together"
                + ", so many as stand out from the noise"
                * (study.privacy is not None)
            )
        made = Candidate("moments, as it is", self._fitted(opened))
        self.seconds["learning"] = perf_counter() - begin
        return made

    def alternatives(self, opened: MomentTotal) -> list[Candidate]:
        """Weaker and stronger penalties, and fewer features."""
        found = others(opened.extent) if self.study.privacy is None else others_in_noise()
        return [
            Candidate(words, self._fitted(opened, **settings)) for words, settings in found.items()
        ]

    def landmarks(self, opened: MomentTotal) -> Landmarks:
        """The centres to which sites have aligned themselves and, of classes without one, what
        their mean features say."""
        study, moments, which = self.study, opened.moments, self._enough
        n_features, curvature = study.learning.features, study.geometry.curvature
        drawn = draw_horocycles(n_features, 2, SCALES, study.learning.seed)
        known = self.centres[-1].only(which) if self.centres else Centres.none(len(which), 2)
        missing = known.counts == 0
        found = landmarks_of_centres(known, curvature)
        means = [
            np.ldexp(moments.sums[j, : opened.extent.of_class[j]].astype(np.float64), -BITS)
            / moments.counts[j]
            for j in which[missing].tolist()
        ]
        if not means:
            return found
        others = landmarks_of_features(means, drawn, curvature)
        found.centres[missing], found.spreads[missing] = others.centres, others.spreads
        return found

    @property
    def labels(self) -> Labels:
        """Labels are matched before the last sum, if at all."""
        matched = self.matched
        return (None, {}) if matched is None else (matched.match, matched.secrets)

    def _fitted(self, opened: MomentTotal, **settings: Any) -> "MomentClassifier":
        # scikit-learn takes seconds to import, and sites, which share this module, do not fit
        from fedhull.learn.moment_classifier import MomentClassifier

        study, noise = self.study, noise_of(self.study)
        settings |= {
            "dimension": 2,
            "n_features": study.learning.features,
            "scales": SCALES,
            "curvature": study.geometry.curvature,
            "seed": study.learning.seed,
        }
        moments, classes = opened.moments.only(self._enough), self._enough
        if noise is None:
            return MomentClassifier.from_moments(moments, classes, **settings)
        settings["deviation"] = noise.total_deviations(len(opened.survivors))[0]
        return MomentClassifier.from_noisy_moments(moments, classes, **settings)

    def outcome(self, record: Record, counts: Counts) -> MomentOutcome:
        """All of it."""
        total, matched = self._total, self.matched
        assert total is not None
        match, secrets = self.labels
        return MomentOutcome(
            study=self.study,
            survivors=total.survivors,
            model=self.model,
            match=match,
            secrets=secrets,
            centres=self.centres,
            learning_seconds=self.seconds,
            vote=self.vote,
            counts=self.vote.counts or counts,
            record=record,
            moments=total.moments,
            extent=total.extent,
            matched_sites=[] if matched is None else matched.survivors,
            match_size=None if matched is None else matched.size,
        )
