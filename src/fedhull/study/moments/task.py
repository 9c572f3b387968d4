"""The task of a study of moments."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from fedhull.errors import InvalidInput
from fedhull.learn.centres import Centres
from fedhull.study.classes.holdings import hold_out
from fedhull.study.classes.task import ClassTask
from fedhull.study.coordinator import Record, Votes
from fedhull.study.counts import Counts
from fedhull.study.moments.coordinator import KeptSum, MomentCoordinator, MomentOutcome
from fedhull.study.moments.holdings import MomentHoldings, class_table, make_moments, prepare
from fedhull.study.moments.plan import plan_moments
from fedhull.study.moments.site import MomentSite
from fedhull.study.noise import Noise, noise_of
from fedhull.study.plan import Plan
from fedhull.study.privacy_words import NOT_COVERED, promise_words, sharing_words


@dataclass(frozen=True)
class MomentTask(ClassTask):
    """Classes are matched, unless their names are agreed, sites align themselves, as often as the
    study says, and then the moments of all cells are summed."""

    Holdings, Site, Coordinator = MomentHoldings, MomentSite, MomentCoordinator

    def prepare(
        self,
        x: np.ndarray,
        y: np.ndarray,
        donors: np.ndarray | None = None,
        several: Mapping[str, list[str]] | None = None,
    ) -> MomentHoldings:
        """Keep some points for testing, sketch the others."""
        return prepare(self.study, x, y, donors, several)

    def hold(
        self, x: np.ndarray, y: np.ndarray, classes: np.ndarray, donors: np.ndarray | None = None
    ) -> MomentHoldings:
        """Keep some points for testing, sketch the others."""
        return hold_out(make_moments, self.study, x, y, classes, donors)

    def learn(self, kept: bytes, votes: bytes | None = None, **settings: Any) -> MomentOutcome:
        """Fit the classifier to the totals again."""
        if settings:
            raise InvalidInput(
                f"{', '.join(f'--{name}' for name in settings)} cannot be chosen again: in a study "
                f"of moments, classes are matched before their totals are summed, and one "
                f"classifier is fitted to totals; leave it out"
            )
        found = KeptSum.from_bytes(kept)
        coordinator = MomentCoordinator(self.study, found.matched)
        n_classes = len(found.of_class)
        coordinator.centres = [Centres.unpacked(np.array(c), n_classes) for c in found.centres]
        coordinator.learn_again(found.total, None if votes is None else Votes.from_bytes(votes))
        return coordinator.outcome(Record(), Counts(None, None, []))

    def plan(self, holdings: MomentHoldings | None, corners: int) -> Plan:
        """What the study would send."""
        return plan_moments(self.study, holdings)

    def leaving(self, holdings: MomentHoldings) -> list[str]:
        """Which cells go into which sums, and who can read what of them."""
        study, features = self.study, self.study.learning.features
        noise = noise_of(study)
        if noise is not None:
            return [
                *class_table(holdings.lines),
                *self._leaving_in_noise(noise),
                "No cell's position leaves.",
            ]
        words = class_table(holdings.lines)
        if not study.agreed:
            words.append(
                f"First, for each of these classes, the number of its cells and {self.of_slots} "
                f"leave, masked, without names. The coordinator reads them for all sites' classes, "
                f"but not whose they are, and finds out whose class is whose."
            )
        return [
            *words,
            *self.aligning(),
            f"{'Then' if words else 'What leaves are'} sums over all cells, of at most {features} "
            f"functions of where they lie, by class, and of the products of these functions. They "
            f"are masked: the coordinator reads the totals over all sites, and nothing of yours "
            f"alone, unless a class is yours alone.",
            "No cell's position leaves.",
        ]

    def _leaving_in_noise(self, noise: Noise) -> list[str]:
        """What leaves where noise hides single cells."""
        words, features = [], self.study.learning.features
        if not self.study.agreed:
            words.append(
                f"First, for each of {self.study.labels.classes} classes that a site may have, the "
                f"number of its cells and a sketch, eight sums over them, leave, masked, without "
                f"names, and with noise that this machine adds; for those that you do not have, "
                f"noise alone. The coordinator reads them for all sites' classes, but not whose "
                f"they are, and finds out whose class is whose."
            )
        return [
            *words,
            f"{'Then' if words else 'What leaves are'} sums over all cells, of {features} "
            f"functions of where they lie, by class, and of the products of these functions, with "
            f"your share of the noise. They are masked: the coordinator reads the totals over all "
            f"sites, noise included.",
            promise_words(noise.privacy),
            sharing_words(noise),
            NOT_COVERED,
        ]
