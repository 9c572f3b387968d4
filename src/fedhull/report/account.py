"""An account of a study of classes: the texts of its pages.

`Account` is of any summary, also one that fedhull does not know; `hulls` and `moments` say more.
"""

from collections.abc import Sequence
from typing import Any, ClassVar

import msgspec

from fedhull.registry import name_of
from fedhull.report import claims
from fedhull.report.alignment import Alignment
from fedhull.report.head import (
    COORDINATOR_CHECKS,
    bytes_figure,
    collusion_words,
    sessions,
    sites_figure,
)
from fedhull.report.known import Known, Simulated
from fedhull.report.page import AnySection, Check, Figure
from fedhull.report.sections import ClassesLeft, ClassRow, Held, Hull, Step, WhoLearnsWhat
from fedhull.report.words import count, prose, said, size
from fedhull.rounds.disclosure import sentences

Fact = tuple[str, str]
STEPS = prose("steps")


class Account(Known):
    """The texts of any study of classes."""

    # a site's upload; numbers of each site in a simulation; fields of a class that left, by name
    once: ClassVar[str] = "once in each round"
    held_title: ClassVar[str] = "points held"
    columns: ClassVar[dict[str, str]] = {"smallest": "in the sums"}
    exactly: ClassVar[str] = (
        "The coordinator's totals are the sums of the sites' own, to the last bit"
    )
    matched: ClassVar[str] = "Classes matched rightly"
    hulls: ClassVar[list[Hull]] = []

    # the top of the page

    def kicker(self) -> str:
        """The kind of page."""
        if self.own:
            return f"Study report for {self.of.name}"
        if self.simulated:
            return "Report of a simulated study"
        return "Study report for the coordinator"

    def lead(self) -> str:
        """The study in a few sentences; the first needs no word of ours."""
        n = len(self.sites)
        if self.own:
            return (
                f"{self.of.name} and {count(n - 1, 'other site')} learned together to tell kinds "
                f"of cells apart. {self.sent()}"
            )
        stayed = f"{self.n_in_sum if self.n_gone else 'all'} of them stayed to the end"
        where = " Everything ran on one machine, through the whole protocol." * self.simulated
        return (
            f"{count(n, 'site')} learned together to tell kinds of cells apart; {stayed}.{where} "
            f"{self.sent()}"
        )

    def sent(self) -> str:
        """A site's part, or all sites'."""
        return "Each site sent numbers under masks; who can read what of them is said below."

    def figures(self) -> list[Figure]:
        """The numbers at the top."""
        shown = [] if self.own else [self.sites_figure()]
        sent = bytes_figure(self.bytes_up, self.bytes_down, self.own)
        return [*shown, *self.own_figures(), *sent, self.accuracy_figure()]

    def own_figures(self) -> list[Figure]:
        """Numbers of this kind of study."""
        if not self.own:
            return []
        held = getattr(self.of.holdings, "points_held", 0)
        return [Figure(value=f"{held:,}", label="of your points are in the study")]

    def sites_figure(self) -> Figure:
        """Sites in the sum."""
        return sites_figure(self.sites, "sites in the sum", "before the sum")

    def accuracy_figure(self) -> Figure:
        """Accuracy, as far as the reader knows."""
        if self.simulation is not None:
            score = self.simulation.scores[0]
            interval = f" ± {score.ci95:.1f}" if score.trials > 1 else ""
            return Figure(
                value=f"{score.mean:.1f} %{interval}",
                label="of test points classified correctly",
                note=count(score.trials, "trial"),
            )
        correct, tested = self.counted.correct, self.counted.tested
        if not tested or correct is None:
            why = "a site did not answer, or no site held points out"
            return Figure(value="not known", label="accuracy", note=why)
        where = "that you held out"
        if not self.own:
            where = f"held out by {len(self.counted.evaluators)} sites; only the sum is known"
        return Figure(
            value=f"{100 * correct / tested:.1f} %",
            label="classified correctly",
            note=f"{correct:,} of {tested:,} points {where}",
        )

    # who learns what

    def learned(self) -> WhoLearnsWhat:
        """The three lists."""
        seen, hidden = sentences(self.of.disclosures), self.hidden()
        if self.n_gone:
            seen, hidden = [*seen, *self.seen_of_gone()], [*hidden, claims.UPLOAD_OF_VANISHED]
        return WhoLearnsWhat(
            seen=[claims.WHO, claims.SETTINGS, *seen], hidden=hidden, unprotected=self.unprotected()
        )

    def seen_of_gone(self) -> list[str]:
        """Seen of sites that have dropped out."""
        return [claims.VANISHED]

    def hidden(self) -> list[str]:
        """Data that the coordinator could not see on its own."""
        aligned = (claims.CENTRES_OF_ONE, claims.ISOMETRY) if self.alignments else ()
        ballot = (claims.BALLOT_OF_ONE,) if self.judged else ()
        return [*self.own_hidden(), claims.UPLOAD, *aligned, claims.ACCURACY_OF_ONE, *ballot]

    def own_hidden(self) -> list[str]:
        """The same in this kind of study."""
        return []

    def unprotected(self) -> list[str]:
        """Data that nobody should take to be protected."""
        return said(
            *self.own_unprotected(),
            claims.CENTRES_TELL if self.alignments else "",
            claims.BALLOT_ASKS if self.judged and self.noise is None else "",
            self.collusion(),
            sessions(self.earlier),
            claims.NOT_AUDITED,
        )

    def own_unprotected(self) -> list[str]:
        """The same in this kind of study; what is empty is not said."""
        slots = claims.OF_PLACES if self.alignments else claims.OF_SKETCHES
        own = claims.OWN_CLASSES if self.own else ""
        return [own, claims.TOTALS, "" if self.named else slots, claims.ONE_SITE]

    def collusion(self) -> str:
        """Sites with which the coordinator could learn more."""
        return collusion_words(self.study)

    # settings, checks, steps, classes

    def parameters(self) -> dict[str, str]:
        """The settings that matter."""
        study, learning = self.study, self.study.learning
        protection = {"fewest cells of a class": f"{study.disclosure.min_cells:,}"}
        if self.noise is not None:
            promise = self.noise.promise
            epsilon = f"ε = {promise.epsilon:g}, δ = {promise.delta:g}"
            protection = {"differential privacy": epsilon, "of every": promise.unit}
        return {
            "summary": learning.summary,
            "curvature": f"−{study.geometry.curvature:g}",
            "classes": f"{study.n_classes or 'as many as are found'}",
            **protection,
            "class names": "agreed" if self.named else "each site's own",
            **({} if self.named else {"grouping": name_of(learning.grouping)}),
            "sites align themselves": ("never", "once", "twice")[self.alignments],
            "held out at each site": f"{learning.holdout:.0%}",
            "ballot": "yes" if learning.ballot else "no",
            "threshold": f"{study.threshold} of {len(study.clients)} sites",
        }

    def checks(self) -> tuple[str, ...]:
        """Passed by the coordinator of a study that has come to its end."""
        return COORDINATOR_CHECKS

    def exact(self, simulated: Simulated) -> list[Check]:
        """Checks that only a simulation can make."""
        share = simulated.grouping_correct
        matched = Check(words=f"{self.matched}: {share:.1%}", passed=share == 1.0)
        exactly = Check(words=self.exactly, passed=simulated.decoded_exactly)
        return [exactly, *([] if self.named and not self.study.has_bins else [matched])]

    def more(self) -> list[AnySection | None]:
        """Sections of this kind of study."""
        return [self.left()] if self.own else []

    def steps(self) -> list[Step]:
        """The method with the study's own numbers; a kind that is not known has only its end."""
        return [*self.aligned(), self.classifier(STEPS["ends"]["any"])]

    def step(
        self, name: str, *facts: Fact, rows: Sequence[Fact] = (), caption: str = "", **own: Any
    ) -> Step:
        """The step of this name, with numbers that matter, and a study's own words."""
        told = STEPS[name]
        return Step(
            picture=told["picture"],
            title=told["title"],
            words=told["words"].format(**own),
            facts=list(facts),
            caption=caption,
            rows=list(rows),
        )

    def aligned(self, *travelled: Fact) -> list[Step]:
        """Bringing together sites that were measured differently, where they do."""
        moves: list[Fact] = []
        if self.own and self.of.isometry is not None:
            found = Alignment.of(self.of, self.of.name)
            moves = [
                (f"{found.moved:.3f}", "is how far the middle of your disc was moved"),
                (f"{found.turned:.1f}°", "is by how much your disc was turned"),
            ]
        again = " All of this is done twice." if self.alignments > 1 else ""
        return [self.step("align", *travelled, *moves, again=again)] if self.alignments else []

    def numbered(self, name: str, *facts: Fact, **own: Any) -> Step:
        """Classes by number, as far as the reader knows them."""
        rows = self.matches.numbered() or [(name, "") for name in self.classes]
        return self.step(name, (f"{len(self.classes):,}", "classes"), *facts, rows=rows, **own)

    def masked(self, name: str, *facts: Fact, caption: str, **own: Any) -> Step:
        """Masks that cancel."""
        up = []
        if self.bytes_up is not None:
            whose = "sent by you" if self.own else "the most any site sent"
            up = [(size(self.bytes_up), f"{whose}, in all steps together")]
        names = [site.name for site in self.sites if site.taking_part]
        rows = [*((name, "noise") for name in names[:5]), ("the sum", "clear")]
        return self.step(name, *facts, *up, rows=rows, caption=caption, **own)

    def classifier(self, how: str, *facts: Fact) -> Step:
        """The end."""
        words = STEPS["classifier"]["judged"]
        judged = words.format(candidates=self.judged.candidates) if self.judged else ""
        return self.step("classifier", *facts, how=how, judged=judged)

    def left(self) -> ClassesLeft | None:
        """Data that left the site, class by class. A site that has aligned itself may have made
        anew what it sends, of the cells that are not kept for testing."""
        again = {line.name: line for line in self.of.sent.lines}
        rows = []
        for line in self.of.holdings.lines:
            sent = msgspec.structs.asdict(again.get(line.name, line))
            own = {"name": str(line.name), "cells": line.cells, "tested": line.tested}
            rows.append(ClassRow(**sent | own))
        columns = {"cells": "cells", "tested": "kept for testing"} | self.columns
        return (
            ClassesLeft(words=self.left_words(rows), columns=columns, rows=rows) if rows else None
        )

    def left_words(self, rows: list[ClassRow]) -> str:
        """A sentence above the table."""
        return "Who can read what of it, and how, is said at the top."

    def sent_by(self, site: Any) -> int | None:
        """Of what a site holds, that which left it."""
        return None

    def held(self) -> Held | None:
        """A number for each site of a simulation."""
        assert self.simulation is not None
        sent = {
            name: self.sent_by(site) if name in self.of.survivors else None
            for name, site in self.simulation.sites.items()
        }
        if not any(sent.values()):
            return None
        return Held(
            title=self.held_title,
            sites={
                self.simulation.name(name): f"{'none' if sent[name] is None else f'{sent[name]:,}'}"
                f" of {site.holdings.points_held:,}"
                for name, site in self.simulation.sites.items()
            },
        )
