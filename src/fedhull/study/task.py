"""The task of a study: what a site takes into it, the words in which people are asked, and the two
sides of a run, both of which fold over the same rounds."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from fedhull.errors import InvalidInput
from fedhull.protocol.agreement import Agreement, about_words, collusion_words
from fedhull.protocol.drive import PROPOSE, PUBLISH, STEPS
from fedhull.protocol.keys import Identity, Randomness
from fedhull.protocol.messages import published_content
from fedhull.rounds.disclosure import Disclosure, Plan, sentences
from fedhull.rounds.round import Final, Round, disclosures, final_of
from fedhull.rounds.run import Coordinator
from fedhull.rounds.site import Site


@dataclass(frozen=True)
class Source:
    """A site's data: a file, the column with the classes, for .h5ad files a layer to take instead
    of X, the column that says whose cells they are, if the minimum is to be counted in donors as
    well, and a file that maps the site's names onto those that the study has agreed on."""

    data: str
    label: str = "label"
    layer: str | None = None
    donor: str | None = None
    names: str | None = None


class Holdings(Protocol):
    """A site's contribution to a study: its cells, and what of them would leave."""

    def to_bytes(self) -> bytes:
        """All of it, for the process that runs the session. The same data and study always give
        the same bytes, so that consent can be bound to their hash."""

    def table(self) -> tuple[Any, list[str]]:
        """All cells as numbers, a row for each, (n, d) dense or sparse, and the names of the d
        columns: what the data are recognised by, in whichever study or file they come again."""


class Task(ABC):
    """A study as its participants run it."""

    study: Any
    rounds: tuple[Round, ...]
    # what people call it, what comes of it, and whether a site's data must have a column of classes
    kind = "Study"
    product: str
    needs_labels: bool

    @property
    def last(self) -> Final:
        """The last round, which says what comes of the study."""
        return final_of(self.rounds)

    @property
    def sums(self) -> int:
        """The number of rounds, each with all steps of a session."""
        return len(self.rounds)

    @property
    def choices(self) -> tuple[str, ...]:
        """The settings of [learning] that can be chosen again when the sum is there."""
        return self.last.choices

    @property
    def ballot(self) -> bool:
        """True if sites judge candidates before the last publication."""
        return self.last.has_ballot

    def steps_of(self, number: int) -> tuple[str, ...]:
        """The steps of a round, from 1, under the names by which engines and logs know them."""
        proposed = self.ballot and number == self.sums
        return (*STEPS[:-1], PROPOSE, PUBLISH) if proposed else tuple(STEPS)

    @abstractmethod
    def read(self, source: Source) -> Any:
        """A site's holdings, from its data; InvalidInput if it cannot take part with them."""

    @abstractmethod
    def holdings_from_bytes(self, raw: bytes) -> Any:
        """The inverse of the holdings' `to_bytes`."""

    def disclosures(self, holdings: Any = None) -> list[Disclosure]:
        """Everything that leaves in all rounds, from any site or from one with these holdings."""
        return disclosures(self.rounds, holdings)

    def explain(self, name: str, holdings: Any) -> list[str]:
        """The explanation for a person at the site before anything leaves, in paragraphs."""
        study: Agreement = self.study
        return [
            f"{self.kind} '{study.name}', hash {study.hash.hex()}, coordinated by the holder of "
            f"key {study.coordinator or 'none'}; you are {name}, one of {len(study.clients)} "
            f"sites.",
            *about_words(study),
            *self.what_leaves(holdings),
            collusion_words(study),
        ]

    def what_leaves(self, holdings: Any) -> list[str]:
        """The site's holdings, what of them would leave, and what may be read from that."""
        return [
            *self.holds(holdings),
            *sentences(self.disclosures(holdings)),
            *self.warnings(holdings),
        ]

    @abstractmethod
    def holds(self, holdings: Any) -> list[str]:
        """The site's holdings, in paragraphs."""

    def warnings(self, holdings: Any) -> list[str]:
        """Warnings besides the disclosures."""
        return []

    def doubts(self, holdings: Any) -> list[str]:
        """Warnings to show before consent."""
        return []

    def site(
        self,
        name: str,
        identity: Identity,
        holdings: Any,
        randomness: Randomness | None = None,
        checkpoint: bytes | None = None,
    ) -> Site:
        """A site's side. With the `randomness` and `checkpoint` of an earlier object, and the
        messages since, a site takes the same course."""
        return Site(self.study, self.rounds, name, identity, holdings, randomness, checkpoint)

    def coordinator(self) -> Coordinator:
        """The coordinator's side."""
        return Coordinator(self.study, self.rounds)

    def late(
        self, name: str, identity: Identity, holdings: Any, receipt: bytes, publication: bytes
    ) -> Site:
        """A site that has missed the end of its session, at the end of it: `receipt` is what it has
        kept since its upload, `publication` the coordinator's last message. BadMessage if that is
        of no use to it."""
        site = self.site(name, identity, holdings)
        site.take_late(published_content(publication, self.study), receipt)
        return site

    @abstractmethod
    def plan(self, holdings: Any, corners: int = 0) -> Plan:
        """Plan of what a site with these holdings would send; with None, of what any site would,
        whose hulls, if it sends any, have this many corners."""

    def learn(self, kept: bytes, votes: bytes | None = None, **settings: Any) -> Any:
        """The coordinator's result, learned once more from the sums it has kept, with other
        settings as far as there are `choices`; `votes` are what it has kept of a ballot, which say
        nothing of what is learned with other settings."""
        raise InvalidInput(f"nothing can be learned again in a study of an {self.product}")

    @abstractmethod
    def summarize(self, result: Mapping[str, Any]) -> str:
        """The result of a run, a site's or the coordinator's, in a few words."""
