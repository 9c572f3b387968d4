"""What tasks in which sites have classes share: how data are read, and what is said at the end."""

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np

from fedhull.data.files import read_column
from fedhull.embed.embedder import CellEmbedder
from fedhull.errors import InvalidInput
from fedhull.protocol.keys import Identity, Randomness
from fedhull.protocol.messages import published_content
from fedhull.study.classes.ballot import MOST_CANDIDATES
from fedhull.study.classes.holdings import ClassHoldings
from fedhull.study.classes.standing import stages_of
from fedhull.study.classes.told import BOTH_FROM
from fedhull.study.frame import load_points, read_encoder
from fedhull.study.naming import agreed_labels, read_map
from fedhull.study.study import Study
from fedhull.study.task import Source, Task
from fedhull.text import printable


@dataclass(frozen=True)
class ClassTask(Task):
    """A classifier is learned from what sites say of their classes; `encoder` places cells in the
    disc, if the study has one."""

    # what a summary has of its own: what sites hold, and the two sides of a session
    Holdings: ClassVar[Any]
    Site: ClassVar[Any]
    Coordinator: ClassVar[Any]

    study: Study
    encoder: CellEmbedder | None = None
    product = "model"
    needs_labels = True

    @classmethod
    def of(cls, study: Study, encoder: bytes | None) -> Self:
        """The task, given the content of the encoder's file if the study names one."""
        return cls(study, read_encoder(study, encoder))

    @property
    def sums(self) -> int:
        """As many as it takes to match classes, to align sites, and to learn."""
        return len(stages_of(self.study))

    @property
    def ballot(self) -> bool:  # type: ignore[override]
        """Unless the study does without."""
        return self.study.learning.ballot

    @abstractmethod
    def prepare(
        self,
        x: np.ndarray,
        y: np.ndarray,
        donors: np.ndarray | None = None,
        several: Mapping[str, list[str]] | None = None,
    ) -> Any:
        """What a site with points (n, 2) and labels (n,) would take into the study; some of its
        classes may stand for `several` of those that are agreed on."""

    @abstractmethod
    def hold(
        self, x: np.ndarray, y: np.ndarray, classes: np.ndarray, donors: np.ndarray | None = None
    ) -> Any:
        """The same for a rehearsal: the site numbers its classes in this order, and may have none
        that leaves."""

    def holdings_from_bytes(self, raw: bytes) -> Any:
        """The inverse of the holdings' `to_bytes`."""
        return self.Holdings.from_bytes(raw)

    def site(
        self,
        name: str,
        identity: Identity,
        holdings: Any,
        randomness: Randomness | None = None,
        checkpoint: bytes | None = None,
    ) -> Any:
        """A site with these holdings."""
        return self.Site(self.study, name, identity, holdings, randomness, checkpoint)

    def coordinator(self) -> Any:
        """The coordinator's side."""
        return self.Coordinator(self.study)

    def late(
        self, name: str, identity: Identity, holdings: Any, receipt: bytes, publication: bytes
    ) -> Any:
        """A site that makes the published model its own after the session."""
        site = self.site(name, identity, holdings)
        site.take_late(published_content(publication, self.study), receipt)
        return site

    @abstractmethod
    def leaving(self, holdings: Any) -> list[str]:
        """What of these holdings would leave, in words: class by class, and in all."""

    @property
    def of_slots(self) -> str:
        """What is said of the cells of a class so that it can be matched, besides their number."""
        if self.study.alignments:
            return (
                f"its place, five numbers for where their middle is and how they spread, and if "
                f"there are {BOTH_FROM} or more a sketch, eight sums over them,"
            )
        return "a sketch, eight sums over them,"

    def aligning(self) -> list[str]:
        """What leaves of a site, and what it does itself, so that sites fit together."""
        times = self.study.alignments
        if not times:
            return []
        return [
            f"{'Once' if times == 1 else 'Twice'} before the last sum, the number of cells of each "
            f"class and the sum of their positions leave, masked. The coordinator reads the totals "
            f"over all sites, the centres of the classes, and publishes them to all sites; of a "
            f"class that is yours alone nothing leaves here. Your cells are then turned and moved "
            f"as a whole, on this machine, so that they fit the others'; nobody is told how."
        ]

    def testing(self, tested: int) -> str:
        """What leaves of so many points that are kept for testing."""
        least = self.study.disclosure.min_cells
        if self.study.privacy is not None:
            return self._testing_in_noise(tested)
        if not self.ballot:
            return (
                f"The coordinator also gets one masked count: how many of your {tested:,} test "
                f"points the model gets right, which it can only read as a sum over sites."
            )
        if tested < least:
            return (
                f"Before the model is published, sites judge up to {MOST_CANDIDATES} candidates on "
                f"their test points. You have {tested:,}, fewer than {least}: your site will count "
                f"none of them, and nobody can tell."
            )
        return (
            f"Before the model is published, up to {MOST_CANDIDATES} candidates are tried on your "
            f"{tested:,} test points, on this machine. How many points of each class each of them "
            f"takes for which, how sure it is, and how far points are from all classes: these "
            f"numbers leave, masked, and the coordinator can only read their totals over all sites "
            f"that it asks."
        )

    def _testing_in_noise(self, tested: int) -> str:
        if not self.ballot:
            return f"Nothing leaves of your {tested:,} test points."
        return (
            f"Before the model is published, up to {MOST_CANDIDATES} candidates are tried on your "
            f"{tested:,} test points, on this machine. How many each takes for which class, "
            f"how sure it is, and how far they are from all classes: these numbers leave, masked "
            f"and with your share of the noise, and the coordinator can only read their totals."
        )

    def read(self, source: Source) -> Any:
        """Place the cells, keep some for testing, and make of the others what would leave."""
        donor, privacy = source.donor, self.study.privacy
        if privacy is not None and privacy.donors is not None:
            donor = donor or privacy.donors  # the study names the column; a site may call it else
        points, labels, notes = load_points(
            self.encoder, source.data, source.label, source.layer, donor
        )
        donors = None if donor is None else read_column(source.data, donor)
        if not self.study.agreed:
            if source.names is not None:
                raise InvalidInput("--map is for studies with [classes] names; this one has none")
            return replace(self.prepare(points, labels, donors), notes=notes)
        own = {} if source.names is None else read_map(source.names)
        names, several = agreed_labels(labels.tolist(), self.study.agreed, own)
        return replace(self.prepare(points, names, donors, several), notes=notes)

    def what_leaves(self, holdings: ClassHoldings) -> list[str]:
        """How many of how many points leave, in what form, to whom."""
        study = self.study
        placed = (
            f"Your cells are placed in the disc on this machine, by the study's encoder "
            f"{study.attached} (SHA-256)."
        )
        return [
            *([placed] if study.attached else []),
            *holdings.notes,
            f"You hold {len(holdings.x):,} points in {len(holdings.lines)} classes:",
            *self.leaving(holdings),
            self.testing(len(holdings.test_y)),
        ]

    def doubts(self, holdings: ClassHoldings) -> list[str]:
        """How the data were read, which classes are withheld, and whether any cells are tested."""
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

    def summarize(self, result: Mapping[str, Any]) -> str:
        """How well the model does, and at a site in which words it speaks."""
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
        words += _ballot_words(result["ballot"])
        return words


def _ballot_words(ballot: Mapping[str, Any]) -> str:
    """What the coordinator is told of how the model was chosen."""
    if not ballot["held"]:
        return f"\nThe model is the default, not calibrated: {ballot['why_not']}."
    chosen = "the default" if ballot["chosen"] == 0 else ballot["candidate"]
    words = f"\nChosen out of {ballot['candidates']} candidates: {chosen}."
    if ballot["tolerance"]:
        words += f" Counts of held-out points are off by at most {ballot['tolerance']:,} of them."
    off = 100 * ballot["calibration_error"]
    return f"{words} Its probabilities are calibrated: on average they are off by {off:.1f} points."
