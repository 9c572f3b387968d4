"""A site in a study of moments: in the last sum it adds its moments to the totals."""

from typing import Any

from fedhull.learn.moments import Extent, Moments
from fedhull.protocol.summation import Totals
from fedhull.study.classes.site import ClassSite
from fedhull.study.classes.standing import LAST
from fedhull.study.moments.holdings import MomentHoldings, extent_of
from fedhull.study.moments.sum import MomentContribution, MomentSummation


class MomentSite(ClassSite):
    """By the last sum the site knows which class is which."""

    holdings: MomentHoldings

    def last_contribution(self) -> MomentContribution:
        """The site's moments."""
        summation = MomentSummation(self.study, self.n_sums, self.n_classes, self.standing.basis)
        announced = self.holdings.counts(self.class_numbers, self.n_classes)
        if self.noise is not None:
            announced = ()
        return MomentContribution(summation, announced, self.own_moments)

    def own_moments(self, totals: Totals) -> Moments:
        """What the site adds to the sum, if all sites have so many cells of each class."""
        extent = self.extent(totals)
        own = self.holdings.moments(self.study, self.class_numbers, extent, self.isometry)
        if self.noise is None:
            return own
        key = self.noise_key("moments", self.standing.basis)
        added = self.noise.totals(self.n_classes, key)
        return own + Moments.unpacked(added, extent)

    def extent(self, totals: Totals) -> Extent:
        """What may be known of so many cells."""
        return extent_of(self.study, totals, self.n_classes)

    def size_of(self, stage: str) -> int | None:
        """How many numbers the site sent to a sum of this stage, as far as the site, which may have
        come late, remembers it."""
        if stage == LAST:
            totals = self.session.totals
            return self.extent(totals).size if totals or self.noise else None
        known = zip(self.stages, self.standing.sizes, strict=False)
        return next((size for of_stage, size in known if of_stage == stage), None)

    @property
    def n_features(self) -> int:
        """How many features the totals are of; a site that came late knows how many at most."""
        totals = self.session.totals
        return self.extent(totals).features if totals else self.study.learning.features

    def result(self) -> dict[str, Any]:
        """Plain numbers and words."""
        held = self.holdings
        return super().result() | {
            "cells": held.points_held,
            "classes_withheld": list(map(str, held.withheld)),
        }
