"""All that is known of a study of classes to the reader of a page."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import msgspec

from fedhull.learn.content import Judged
from fedhull.report.head import CAME_LATE, site_lines
from fedhull.report.matches import FoundClasses, MatchMap, OwnMatches
from fedhull.report.page import SiteLine
from fedhull.report.sections import SIMULATION, SITE, Confusion, Score, Space, TradeoffRow
from fedhull.report.words import DESCRIPTIONS
from fedhull.rounds.noise import Noise, noise_of
from fedhull.study.study import Study


@dataclass(frozen=True, repr=False, kw_only=True)
class Simulated:
    """All that only a simulation knows: its sites, the real names of the numbered classes, and the
    scores of all trials. Sites that are `called` something have that name on the page."""

    title: str
    sites: Mapping[str, Any]
    names: Mapping[int, Any]
    classes: list[str]
    seconds: dict[str, float]
    accuracy: Mapping[str, Mapping[str, Any]]
    testing: Confusion
    tradeoff: list[TradeoffRow]
    grouping_correct: float
    decoded_exactly: bool
    called: Mapping[str, str]

    def name(self, site: str) -> str:
        """The site's name on the page."""
        return self.called.get(site, site)

    @property
    def scores(self) -> list[Score]:
        """Accuracy of each method, the federated one first."""
        return [
            Score(name=DESCRIPTIONS.get(name, name), mean=score["mean"], ci95=score["ci95"],
                  trials=len(score["trials"]))
            for name, score in self.accuracy.items()
        ]  # fmt: skip


@dataclass(frozen=True, repr=False, kw_only=True)
class Known:
    """The outcome of a study, `of` its coordinator or of a site, for the `viewer` of a page; a site
    knows the bytes that it has sent and received, and its number of `earlier` sessions."""

    viewer: str
    of: Any
    bytes_up: int | None = None
    bytes_down: int | None = None
    earlier: int = 0
    simulation: Simulated | None = None

    @property
    def study(self) -> Study:
        """The study."""
        return self.of.study

    @property
    def own(self) -> bool:
        """True if the page is a site's."""
        return self.viewer == SITE

    @property
    def simulated(self) -> bool:
        """True if the page is a simulation's."""
        return self.viewer == SIMULATION

    @cached_property
    def noise(self) -> Noise | None:
        """The noise that hides single cells, where there is any."""
        return noise_of(self.study)

    @cached_property
    def sites(self) -> list[SiteLine]:
        """Each site on the roster, and in which of several rounds it is. A site knows that of the
        last only, and so does a coordinator if classes were not matched."""
        study, survivors, rounds = self.study, self.of.survivors, len(self.of.rounds)
        two, matched = rounds == 2, [] if self.own else self.of.matched_sites
        if study.has_bins or rounds == 1:
            fates, out = dict.fromkeys(survivors, "in the sum"), "not in the sum"
        elif self.own or self.named:
            last = "second" if two else "last"
            fates, out = (
                dict.fromkeys(survivors, f"in the {last} round"),
                f"not in the {last} round",
            )
        else:
            only = "in the first round only" if two else "in the first round, but not in the last"
            fates, out = dict.fromkeys(matched, only), "in neither round" if two else "in no round"
            fates |= dict.fromkeys(survivors, "in both rounds" if two else "in all rounds")
        failures = {} if self.own else self.of.record.failures
        lines = site_lines(study, fates, survivors, out if survivors else CAME_LATE, failures)
        if self.simulation is None:
            return lines
        called = self.simulation.name
        return [msgspec.structs.replace(line, name=called(line.name)) for line in lines]

    @property
    def n_in_sum(self) -> int:
        """Sites that took part to the end of the upload."""
        return sum(site.taking_part for site in self.sites)

    @property
    def n_gone(self) -> int:
        """Sites on the roster that are not in the sum."""
        return len(self.sites) - self.n_in_sum

    @property
    def classes(self) -> list[str]:
        """The names of the model's classes."""
        if self.simulation is not None:
            return self.simulation.classes
        return [str(name) for name in self.of.model.classes_] if self.own else self.of.names

    @property
    def judged(self) -> Judged | None:
        """The verdict of the sites' held-out cells."""
        return self.of.model.judged_ if self.own else self.of.vote.judged

    @property
    def counted(self) -> Any:
        """Held-out points that are classified correctly, and all; of a simulation there are more
        trials than one."""
        return self.of.finding if self.own else None if self.simulated else self.of.counts

    @property
    def space(self) -> Space:
        """The disc."""
        geometry = self.study.geometry
        epsilon = geometry.epsilon if self.study.has_bins else None
        return Space(curvature=geometry.curvature, radius=geometry.radius or None, epsilon=epsilon)

    @property
    def named(self) -> bool:
        """True if names were agreed, and nothing had to be matched."""
        return bool(self.study.classes.names)

    @property
    def alignments(self) -> int:
        """Rounds in which sites aligned themselves."""
        return self.study.alignments

    @property
    def placed(self) -> bool:
        """True if sites said where their classes lie, instead of sending sketches of them."""
        return self.alignments > 0 and not self.named

    @cached_property
    def matches(self) -> OwnMatches | FoundClasses | MatchMap:
        """The classes of all sites by number, as far as the reader knows."""
        if self.simulation is not None:
            return MatchMap.of(self.of, self.simulation)
        return OwnMatches.of(self.of) if self.own else FoundClasses.of(self.of)
