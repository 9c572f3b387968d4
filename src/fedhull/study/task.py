"""What a kind of study asks of its participants: one interface, whatever is summed.

A `Task` says what a site takes into the study and in which words it is asked, and makes the two
sides that a session needs: a `Site` and a `Coordinator`. Both go through the sums of the study in
the same order, be it one sum of hulls or the three of an encoder. Nothing outside `kinds` asks
which kind of study it has.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from fedhull.errors import InvalidInput
from fedhull.protocol.agreement import Agreement, about_words, collusion_words
from fedhull.protocol.drive import PROPOSE, PUBLISH, STEPS
from fedhull.protocol.keys import Identity, Randomness
from fedhull.study.coordinator import Coordinator
from fedhull.study.plan import Plan
from fedhull.study.site import Site


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
    """What a site takes into a study: its cells, and what of them would leave."""

    def to_bytes(self) -> bytes:
        """All of it, for the process that runs the session. The same data and study always give
        the same bytes, so that consent can be bound to their hash."""

    def table(self) -> tuple[Any, list[str]]:
        """All cells as numbers, a row for each, (n, d) dense or sparse, and the names of the d
        columns: what the data are recognised by, in whichever study or file they come again."""


class Task(ABC):
    """What a kind of study asks of its participants."""

    study: Agreement
    # what people call it, what comes of it, and whether a site's data must have a column of classes
    kind = "Study"
    product: str
    needs_labels: bool
    # the settings of [learning] that can be chosen again when the sum is there
    choices: tuple[str, ...] = ()
    # whether sites are asked to judge something before the last publication
    ballot = False

    @property
    @abstractmethod
    def sums(self) -> int:
        """How many sums the study has, each with all steps of a session."""

    def steps_of(self, number: int) -> tuple[str, ...]:
        """The steps of a sum, from 1, under the names by which engines and logs know them."""
        proposed = self.ballot and number == self.sums
        return (*STEPS[:-1], PROPOSE, PUBLISH) if proposed else tuple(STEPS)

    @abstractmethod
    def read(self, source: Source) -> Holdings:
        """What a site with these data would take into the study; InvalidInput if it cannot."""

    @abstractmethod
    def holdings_from_bytes(self, raw: bytes) -> Holdings:
        """The inverse of the holdings' `to_bytes`."""

    def explain(self, name: str, holdings: Any) -> list[str]:
        """What a person at the site is told before anything leaves, paragraph by paragraph."""
        study = self.study
        return [
            f"{self.kind} '{study.name}', hash {study.hash.hex()}, coordinated by the holder of "
            f"key {study.coordinator or 'none'}; you are {name}, one of {len(study.clients)} "
            f"sites.",
            *about_words(study),
            *self.what_leaves(holdings),
            collusion_words(study),
        ]

    @abstractmethod
    def what_leaves(self, holdings: Any) -> list[str]:
        """What the site holds, what of it would leave, and what may be read from that."""

    def doubts(self, holdings: Any) -> list[str]:
        """What a site may send, or not send, but should know before it does."""
        return []

    @abstractmethod
    def site(
        self,
        name: str,
        identity: Identity,
        holdings: Any,
        randomness: Randomness | None = None,
        checkpoint: bytes | None = None,
    ) -> Site:
        """The side of a site. With the `randomness` and `checkpoint` of an earlier object, and the
        messages since, a site takes the same course."""

    @abstractmethod
    def coordinator(self) -> Coordinator:
        """The coordinator's side."""

    @abstractmethod
    def late(
        self, name: str, identity: Identity, holdings: Any, receipt: bytes, publication: bytes
    ) -> Site:
        """A site that has missed the end of its session, at the end of it: `receipt` is what it has
        kept since its upload, `publication` the coordinator's last message. BadMessage if that is
        of no use to it."""

    def plan(self, holdings: Any, corners: int) -> Plan:
        """What the study would send, if a site holds this; with None, for any site, whose hulls, if
        it sends any, have so many corners."""
        raise InvalidInput(f"there are no plans for a study of an {self.product}")

    def learn(self, kept: bytes, votes: bytes | None = None, **settings: Any) -> Any:
        """What the coordinator has at the end if it learns once more from the sum that it has kept,
        with other settings as far as there are `choices`; `votes` are what it has kept of a ballot,
        which say nothing of what is learned with other settings."""
        raise InvalidInput(f"nothing can be learned again in a study of an {self.product}")

    @abstractmethod
    def summarize(self, result: Mapping[str, Any]) -> str:
        """The result of a run, a site's or the coordinator's, in a few words."""
