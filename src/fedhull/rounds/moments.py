"""Moments: the totals, over all sites, of features of cells and of their products. All sites know
which classes are the same, so that their moments add up inside the masks: the coordinator opens
totals over all sites and nothing else."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any, ClassVar

import numpy as np

from fedhull.codes.field import Field, from_elements, to_elements
from fedhull.disc.isometry import Isometry
from fedhull.errors import InvalidInput
from fedhull.learn.centres import Centres
from fedhull.learn.content import Landmarks, landmarks_of_centres
from fedhull.learn.horocycles import SCALES, Horocycles, draw_horocycles
from fedhull.learn.moments import BITS, MOST_CELLS, Extent, Moments, moments_of_points
from fedhull.learn.places import landmarks_of_features
from fedhull.protocol.summation import Layout, Totals, Vector
from fedhull.rounds.ballot import Candidate
from fedhull.rounds.centres import CentreNews, class_numbers, isometry_of, n_classes
from fedhull.rounds.disclosure import Disclosure, Plan, total_over
from fedhull.rounds.holdings import ClassHoldings, too_few
from fedhull.rounds.learning import Learned, Summary
from fedhull.rounds.round import Known, Opened, Own, Sum

# Moments of fewer than 2²⁸ cells lie between −2⁶⁰ and 2⁶⁰ (learn/moments.py).
MOMENT_FIELD = Field(2**61 - 1)
# Other penalties, and this many times fewer features, are the ballot's alternatives.
_PENALTIES, _FEWER = (0.001, 0.3, 3.0), (2, 4)


@dataclass(frozen=True, repr=False)
class MomentTotal:
    """The moments of all classes over all sites, and how far they go."""

    moments: Moments
    extent: Extent


@dataclass(frozen=True)
class MomentSums(Summary):
    """The round in which moments are summed."""

    summary = "moments"

    def most(self, known: Known) -> Totals:
        """The cells of each class: what of it may leave depends on how many there are in all."""
        return (MOST_CELLS // len(self.study.clients),) * n_classes(self.study, known)

    def extent(self, totals: Totals, n: int) -> Extent:
        """Extent of the moments of n classes with these cells."""
        least = self.study.disclosure.min_cells
        return Extent.of(totals, self.study.learning.features, 2, least)

    def layout(self, known: Known, totals: Totals, participants: int) -> Layout:
        """As many numbers as may be known of the cells, in a field wide enough for any sum."""
        extent = self.extent(totals, n_classes(self.study, known))
        return Layout(((MOMENT_FIELD, extent.size),))

    def discloses(self, held: ClassHoldings | None = None) -> list[Disclosure]:
        """Sums of features and of their products."""
        features = self.study.learning.features
        n = self.study.labels.classes * (1 if self.study.classes.names else len(self.study.clients))
        return [
            Disclosure(
                round=self.name,
                what=(
                    f"sums of {self.at_most}{features:,} functions of where cells lie (features), "
                    f"by class, and of all products of two of them, over all classes; and the "
                    f"number of cells of each class. No cell's position leaves"
                ),
                of_whom=(
                    "all cells that are not held out"
                    if held is None
                    else f"your {held.cells_summed:,} cells that are not held out"
                ),
                how_many=features * (features + 1) // 2 + n * (features + 1),
                protection=self.protection,
            ),
            *self.ballot.discloses(self.study, held),
        ]

    at_most = "at most "

    @property
    def protection(self) -> str:
        """The protection of a site's own sums from the coordinator."""
        return (
            f"{total_over(self.study.threshold)}; of a class that one site has alone, the total is "
            f"that site's"
        )

    def too_few(self, members: np.ndarray, donors: np.ndarray | None) -> str:
        """With agreed names, only the totals over all sites must have enough cells."""
        least = 1 if self.study.classes.names else self.study.disclosure.min_cells
        return too_few(self.study, members, donors, least)

    def announce(self, known: Known, own: Own) -> Totals:
        """The cells of each class."""
        n = n_classes(self.study, known)
        return own.holdings.counts(class_numbers(self.study, own), n)

    # the longest that the vector of a cell's features may be, if noise goes by it
    longest: ClassVar[float | None] = None

    def own_moments(self, known: Known, own: Own, totals: Totals) -> Moments:
        """The site's part of the sum, if all sites announced these totals."""
        extent = self.extent(totals, n_classes(self.study, known))
        numbers = class_numbers(self.study, own)
        return self.moments_held(own.holdings, numbers, extent, isometry_of(own))

    def moments_held(
        self,
        held: ClassHoldings,
        numbers: Sequence[Sequence[int]],
        extent: Extent,
        isometry: Isometry | None = None,
    ) -> Moments:
        """The moments of a site's cells, where an isometry moves them, if its classes have these
        numbers."""
        n = len(extent.of_class)
        x, of_class = held.taking_part(isometry)
        total = Moments.none(extent.features, n)
        for column in zip_longest(*numbers, fillvalue=-1):
            total += self.moments_of(x, np.array(column)[of_class], n, extent)
        return total.cut(extent)

    def moments_of(self, x: np.ndarray, number: np.ndarray, n: int, extent: Extent) -> Moments:
        """The moments of points (m, 2) of classes with these numbers (m,), of n, as far as the
        extent knows them; −1 is none."""
        study = self.study
        drawn = draw_horocycles(study.learning.features, 2, SCALES, study.learning.seed)
        first = Horocycles(*(part[: extent.features] for part in drawn))
        there = (np.append(extent.of_class, 0) > 0)[number]
        curvature = study.geometry.curvature
        return moments_of_points(x[there], number[there], n, first, curvature, self.longest)

    def encode(self, known: Known, own: Own, totals: Totals, participants: int) -> Vector:
        """The site's moments as elements of the field."""
        extent = self.extent(totals, n_classes(self.study, known))
        return [to_elements(self.own_moments(known, own, totals).packed(extent), MOMENT_FIELD)]

    def decode(self, known: Known, summed: Sum) -> MomentTotal:
        """The totals, if cells can have them."""
        extent = self.extent(summed.totals, n_classes(self.study, known))
        moments = Moments.unpacked(from_elements(summed.vector[0], MOMENT_FIELD), extent)
        if (moments.counts > np.array(summed.totals)).any():
            raise InvalidInput("there are more cells than sites have announced")
        moments.check(extent)
        return MomentTotal(moments, extent)

    def enough(self, opened: Opened) -> np.ndarray:
        """The numbers of the classes with enough cells over all sites."""
        counts, least = opened.total.moments.counts, self.least_cells(len(opened.survivors))
        which = np.flatnonzero(counts >= least)
        if len(which) < 2:
            raise InvalidInput(
                f"a classifier needs two classes, but {len(which)} have {least:.0f} cells over all "
                f"sites together{self.standing_out}"
            )
        return which

    standing_out = ""

    def least_cells(self, survivors: int) -> float:
        """The fewest cells that a class must have over this many sites."""
        return self.study.disclosure.min_cells

    def learn(self, known: Known, opened: Sequence[Opened]) -> Learned:
        """The classifier of all cells."""
        model = self.fitted(opened[-1])
        which = self.enough(opened[-1])
        return Learned(model=model, words="moments, as it is", more=which, **self.match_of(opened))

    def alternatives(
        self, known: Known, opened: Sequence[Opened], learned: Learned
    ) -> list[Candidate]:
        """Weaker and stronger penalties, and fewer features."""
        settings = self.other_settings(opened[-1].total.extent)
        return [
            Candidate(words, self.fitted(opened[-1], **chosen))
            for words, chosen in settings.items()
        ]

    def other_settings(self, extent: Extent) -> dict[str, dict[str, Any]]:
        """The settings of the alternatives, in words and as arguments."""
        found: dict[str, dict[str, Any]] = {
            f"moments, alpha = {alpha:g}": {"alpha": alpha} for alpha in _PENALTIES
        }
        fewer = [extent.features // times for times in _FEWER]
        return found | {f"moments, {most} features": {"most": most} for most in fewer if most > 1}

    def fitted(self, opened: Opened, **settings: Any) -> Any:
        """A classifier fitted to the totals of classes with enough cells."""
        # scikit-learn takes seconds to import, and sites, which share this module, do not fit
        from fedhull.learn.moment_classifier import MomentClassifier

        which = self.enough(opened)
        moments = opened.total.moments.only(which)
        return MomentClassifier.from_moments(moments, which, **self.features | settings)

    @property
    def features(self) -> dict[str, Any]:
        """The settings of the features."""
        return {
            "dimension": 2,
            "n_features": self.study.learning.features,
            "scales": SCALES,
            "curvature": self.study.geometry.curvature,
            "seed": self.study.learning.seed,
        }

    def landmarks(self, known: Known, opened: Sequence[Opened], learned: Learned) -> Landmarks:
        """The centres to which sites have aligned themselves and, of classes without one, what
        their mean features say."""
        study, (moments, extent) = self.study, (opened[-1].total.moments, opened[-1].total.extent)
        which, curvature = learned.model.classes_, study.geometry.curvature
        drawn = draw_horocycles(study.learning.features, 2, SCALES, study.learning.seed)
        news = known.last_of(CentreNews)
        centres = (
            Centres.none(len(which), 2)
            if news is None
            else news.centres(n_classes(study, known)).only(which)
        )
        missing = centres.counts == 0
        marks = landmarks_of_centres(centres, curvature)
        means = [
            np.ldexp(moments.sums[j, : extent.of_class[j]].astype(np.float64), -BITS)
            / moments.counts[j]
            for j in which[missing].tolist()
        ]
        if means:
            others = landmarks_of_features(means, drawn, curvature)
            marks.centres[missing], marks.spreads[missing] = others.centres, others.spreads
        return marks

    def describe(self, total: MomentTotal) -> dict[str, Any]:
        """The size of the totals."""
        return {
            "features": total.extent.features,
            "cells": int(total.moments.counts.sum()),
            "cells_by_class": total.moments.counts.tolist(),
            "field_bits": MOMENT_FIELD.bits,
        }

    def fewest_cells(self, total: MomentTotal, holdings: Iterable[ClassHoldings]) -> int:
        """The cells of the smallest class at a site or, where only totals left, over all sites."""
        if self.study.classes.names:
            return int(total.moments.counts[total.moments.counts > 0].min())
        return super().fewest_cells(total, holdings)

    def plan_sum(self, holdings: ClassHoldings | None, corners: int) -> tuple[Plan, Layout, int]:
        """The features, and the numbers that totals of them are."""
        planned, layout, announced = super().plan_sum(holdings, corners)
        totals = self.assumed_totals(holdings)
        extent = self.extent(totals, len(totals))
        numbers = planned.numbers | {
            "features": extent.features,
            "features_of_class": list(extent.of_class),
            "field_bits": MOMENT_FIELD.bits,
        }
        return Plan(numbers, list(self.rule)), layout, announced

    rule: ClassVar[Sequence[str]] = (
        "Of cells never as many numbers are known as they have coordinates: with fewer cells, "
        "moments are of fewer features.",
    )

    def n_alternatives(self, holdings: ClassHoldings | None) -> int:
        """Weaker and stronger penalties, and fewer features."""
        totals = self.assumed_totals(holdings)
        return len(self.other_settings(self.extent(totals, len(totals))))
