"""The task of a study of classes: how a site's data are read, and what is said at the end."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

import msgspec
import numpy as np

from fedhull.errors import InvalidInput
from fedhull.rounds.counts import Counts
from fedhull.rounds.disclosure import Plan, sentences
from fedhull.rounds.holdings import ClassHoldings, class_table
from fedhull.rounds.learning import Summary
from fedhull.rounds.round import Record, Round, Votes
from fedhull.study.kinds import class_rounds
from fedhull.study.study import SUMMARIES, Study
from fedhull.study.task import Source, Task
from fedhull.text import printable

if TYPE_CHECKING:
    from fedhull.embed.embedder import CellEmbedder


@dataclass(frozen=True)
class ClassTask(Task):
    """A classifier is learned from what sites say of their classes; `encoder` places cells in the
    disc, if the study has one."""

    study: Study
    encoder: "CellEmbedder | None" = None
    product = "model"
    needs_labels = True

    @classmethod
    def of(cls, study: Study, encoder: bytes | None) -> Self:
        """The task, given the content of the encoder's file if the study names one."""
        if study.attached is None:
            return cls(study)
        from fedhull.study.frame import read_encoder

        return cls(study, read_encoder(study, encoder))

    @cached_property
    def rounds(self) -> tuple[Round, ...]:  # type: ignore[override]
        """The rounds of the study."""
        return class_rounds(self.study)

    @property
    def summary(self) -> Summary:
        """The last round, whose sum is learned from."""
        last = self.rounds[-1]
        assert isinstance(last, Summary)
        return last

    @property
    def ballot(self) -> bool:
        """True if sites judge candidates before the model is published."""
        return self.study.learning.ballot

    def prepare(
        self,
        x: np.ndarray,
        y: np.ndarray,
        donors: np.ndarray | None = None,
        several: Mapping[str, list[str]] | None = None,
    ) -> ClassHoldings:
        """The holdings of a site with points (n, 2) and labels (n,); some of its classes may stand
        for `several` of those that are agreed on."""
        return self.summary.prepare(x, y, donors, several)

    def hold(
        self, x: np.ndarray, y: np.ndarray, classes: np.ndarray, donors: np.ndarray | None = None
    ) -> ClassHoldings:
        """The same for a rehearsal: the site numbers its classes in this order, and may have none
        that leaves."""
        return self.summary.hold(x, y, classes, donors)

    def holdings_from_bytes(self, raw: bytes) -> ClassHoldings:
        """The inverse of the holdings' `to_bytes`."""
        return ClassHoldings.from_bytes(raw, self.summary.Prepared)

    def read(self, source: Source) -> ClassHoldings:
        """Place the cells, keep some for testing, and make of the others what would leave."""
        # a rehearsal reads no files
        from fedhull.data.files import read_column
        from fedhull.study.frame import load_points
        from fedhull.study.naming import agreed_labels, read_map

        donor = source.donor or self.study.donors
        points, labels, notes = load_points(
            self.encoder, source.data, source.label, source.layer, donor
        )
        donors = None if donor is None else read_column(source.data, donor)
        names = self.study.classes.names
        if not names:
            if source.names is not None:
                raise InvalidInput("--map is for studies with [classes] names; this one has none")
            return replace(self.prepare(points, labels, donors), notes=notes)
        own = {} if source.names is None else read_map(source.names)
        called, several = agreed_labels(labels.tolist(), names, own)
        return replace(self.prepare(points, called, donors, several), notes=notes)

    def holds(self, holdings: ClassHoldings) -> list[str]:
        """The site's classes, and how they were read."""
        placed = (
            f"Your cells are placed in the disc on this machine, by the study's encoder "
            f"{self.study.attached} (SHA-256)."
        )
        return [
            *([placed] if self.study.attached else []),
            *holdings.notes,
            *self._from_elsewhere(),
            f"You hold {len(holdings.x):,} points in {len(holdings.lines)} classes:",
            *class_table(holdings.lines),
        ]

    def _from_elsewhere(self) -> list[str]:
        """The package that makes what is sent, if it is not fedhull."""
        summary = self.study.learning.summary
        source = SUMMARIES.source(summary)
        if not source:
            return []
        return [
            f"What leaves in the last round is made by the summary {summary!r} of the package "
            f"{source}, and what it discloses is said by that package. All sites must have the "
            f"same version."
        ]

    def warnings(self, holdings: ClassHoldings) -> list[str]:
        """Warnings besides the disclosures."""
        return [
            *self.summary.warnings(holdings),
            *self.summary.ballot.abstains(len(holdings.test_y)),
        ]

    def doubts(self, holdings: ClassHoldings) -> list[str]:
        """Notes on how the data were read, classes withheld, and a lack of cells to test."""
        withheld = [
            f"Nothing of the class {line.name} leaves: it {line.withheld}."
            for line in holdings.lines
            if line.withheld
        ]
        untested = (
            ["No cells can be kept for testing: this site says nothing of how good the model is."]
            if len(holdings.test_y) == 0
            else []
        )
        return [*holdings.notes, *withheld, *untested]

    def plan(self, holdings: ClassHoldings | None, corners: int = 0) -> Plan:
        """Plan of what a site would send."""
        study = self.study
        early = [each.plan(holdings) for each in self.rounds[:-1]]
        last = self.summary.plan(holdings, corners)
        numbers: dict[str, Any] = {"bytes_up_match": 0, "bytes_up_centres": 0}
        for each in (*early, last):
            numbers |= each.numbers
        in_advance = sum(each.size for each in early)
        numbers |= {
            "sums": len(self.rounds),
            "bytes_up_early": in_advance,
            "bytes_up_per_client": in_advance + last.size,
            "threshold": study.threshold,
            "tolerated": study.tolerated,
        }
        total = (
            f"In all {in_advance + last.size:,} bytes up per site, if every site holds the same."
        )
        words = [
            *sentences(self.disclosures(holdings)),
            *(line for each in (*early, last) for line in each.words),
            total,
        ]
        if holdings is not None:
            told = self.summary.describe_plan(holdings)
            numbers |= {
                "classes": len(holdings.classes),
                "points_held": holdings.points_held,
                "smallest_group": holdings.smallest_group,
                "cells_exposed": holdings.cells_exposed,
                "by_class": [msgspec.structs.asdict(line) for line in holdings.lines],
                **told.numbers,
            }
            words += [*told.words, *class_table(holdings.lines)]
        return Plan(numbers, words, in_advance + last.size)

    def learn(self, kept: bytes, votes: bytes | None = None, **settings: Any) -> Any:
        """Learn again from the sums that were kept, with other settings of [learning]."""
        if unknown := settings.keys() - set(self.choices):
            raise InvalidInput(
                f"{', '.join(f'--{name}' for name in sorted(unknown))} cannot be chosen again: in "
                f"a study of {self.study.learning.summary}, classes are matched before the last "
                f"sum, and what is learned from it has no such setting; leave it out"
            )
        learning = msgspec.structs.replace(self.study.learning, **settings)
        task = replace(self, study=msgspec.structs.replace(self.study, learning=learning))
        coordinator = task.coordinator()
        cast = None if votes is None or settings else Votes.from_bytes(votes)
        coordinator.replay(kept, cast)
        return coordinator.outcome(Record(), Counts(None, None, []))

    def summarize(self, result: Mapping[str, Any]) -> str:
        """The model's accuracy and, at a site, the class names it uses."""
        doubtful = [match for match in result["matches"] if match["doubtful"]]
        if "site" not in result:
            known = result["accuracy"] is not None
            words = (
                f"Accuracy: {result['accuracy']:.2f} % of {result['tested']:,} held-out points, "
                f"counted at {len(result['evaluators'])} sites."
                if known
                else "Accuracy: not known, because a site that was asked did not answer, or no "
                "site held points out."
            )
            words += _ballot_words(result["ballot"])
            if doubtful:
                numbers = ", ".join(str(match["number"] + 1) for match in doubtful)
                words += (
                    f"\nCareful: it is not certain that all that was put into class {numbers} "
                    f"belongs there; the page says how certain."
                )
            return words
        names = ", ".join(map(printable, result["classes"].values()))
        words = f"The model uses your class names: {names}."
        if doubtful:
            names = ", ".join(printable(match["name"]) for match in doubtful)
            words += (
                f"\nCareful: the coordinator is not sure that it has matched these with the right "
                f"classes of other sites: {names}."
            )
        if result["tested"]:
            words += (
                f"\nIt is right on {result['accuracy']:.2f} % of the {result['tested']:,} points "
                f"you held out."
            )
        return words + _ballot_words(result["ballot"])


def _ballot_words(ballot: Mapping[str, Any]) -> str:
    """Sentences on the choice of the model."""
    if not ballot["held"]:
        return f"\nThe model is the default, not calibrated: {ballot['why_not']}."
    chosen = "the default" if ballot["chosen"] == 0 else ballot["candidate"]
    words = f"\nChosen out of {ballot['candidates']} candidates: {chosen}."
    if ballot["tolerance"]:
        words += f" Counts of held-out points are off by at most {ballot['tolerance']:,} of them."
    off = 100 * ballot["calibration_error"]
    return f"{words} Its probabilities are calibrated: on average they are off by {off:.1f} points."
