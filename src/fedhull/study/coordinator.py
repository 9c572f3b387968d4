"""The coordinator's side of a study: sum, make something of the sum, publish it, and so on."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from time import perf_counter
from typing import Any

import msgspec

from fedhull.errors import InvalidInput
from fedhull.progress import Report, ignore
from fedhull.protocol.agreement import Agreement
from fedhull.protocol.drive import PROPOSE, PUBLISH, Engine, Metered, drive
from fedhull.protocol.keys import Identity
from fedhull.protocol.server import ServerSession
from fedhull.protocol.summation import Layout, Summation
from fedhull.study.counts import COUNTS, Counts


@dataclass(frozen=True)
class Publication:
    """What all who are in the sum are given. With `ask`, those who stayed to its end are asked how
    well it does."""

    content: bytes
    ask: bool = False


@dataclass(frozen=True)
class Proposal:
    """Candidates that those who stayed to the end of a sum are asked to judge, in numbers that are
    laid out like this."""

    content: bytes
    layout: Layout


class Votes(msgspec.Struct, frozen=True):
    """The sum of what all `judges` say to a proposal; None if some of them, the `silent` ones, did
    not answer."""

    judged: list[list[int]] | None
    judges: list[str]
    silent: list[str] = []

    def to_bytes(self) -> bytes:
        """For a private file."""
        return msgspec.msgpack.encode(self)

    @classmethod
    def from_bytes(cls, raw: bytes) -> "Votes":
        """The inverse of `to_bytes`."""
        try:
            return msgspec.msgpack.decode(raw, type=cls)
        except (msgspec.MsgspecError, UnicodeDecodeError):
            raise InvalidInput("what was kept of the ballot is damaged") from None


@dataclass
class Record:
    """What a run has cost, and who did not stay: {site: why}."""

    failures: dict[str, str] = field(default_factory=dict)
    bytes_up: dict[str, int] = field(default_factory=dict)
    bytes_down: dict[str, int] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)


class Coordinator(ABC):
    """Which sums a study has, and what comes of each. A kind of study is one subclass."""

    study: Agreement

    @abstractmethod
    def next_sum(self) -> Summation | None:
        """What is summed next; None when the study is over."""

    @abstractmethod
    def take(self, opened: Any, seconds: float) -> Publication | Proposal:
        """Make something of an opened sum, which took so many seconds."""

    def choose(self, votes: "Votes") -> Publication:
        """What is published after a proposal."""
        raise NotImplementedError

    def kept(self, opened: Any) -> bytes | None:
        """An opened sum in a form from which something can be made again, if that is possible: it
        is kept before anything is made of it, because the sum cannot be had a second time."""
        return None

    @abstractmethod
    def outcome(self, record: Record, counts: Counts) -> Any:
        """What the coordinator has at the end."""

    def purpose(self) -> str | None:
        """What the next sum is for, in a word, where a study has a few; None if it has one."""
        return None


OpenSession = Callable[..., ServerSession]
# Writes what the coordinator keeps for itself: a name, and the content.
Keep = Callable[[str, bytes], None]
SUM, VOTES, PUBLICATION = "sum.bin", "votes.bin", "publication.bin"


def keep_nothing(name: str, content: bytes) -> None:
    """What a rehearsal does."""


def run_study(
    coordinator: Coordinator,
    engine: Engine,
    identity: Identity | None = None,
    timeout: float = 600.0,
    report: Report = ignore,
    open_session: OpenSession = ServerSession,
    keep: Keep = keep_nothing,
) -> Any:
    """A whole study over an engine: one session for each sum, and a publication after it.

    A site that does not answer a step in `timeout` seconds is left out of the sum and of all later
    ones; too few of them end the study with BelowThreshold. `identity` signs what the coordinator
    says, if the study names its key. `open_session` makes the sessions, for engines that go on with
    one that was begun earlier. `keep` is given the decoded sum before anything is made of it, the
    sites' votes, if there is a ballot, and what is published before it is sent.
    """
    study = coordinator.study
    metered = Metered(engine)
    invited, counts = sorted(study.clients), Counts(None, None, [])
    while (summation := coordinator.next_sum()) is not None:
        begin = perf_counter()
        metered.report = _of_sum(coordinator.purpose(), report)
        session = open_session(study, summation, identity, invited=invited)
        opened = drive(session, metered, timeout)
        kept = coordinator.kept(opened)
        if kept is not None:
            keep(SUM, kept)
        publication = coordinator.take(opened, perf_counter() - begin)
        if isinstance(publication, Proposal):
            outgoing = session.propose(publication.content, publication.layout)
            replies, _ = metered.step(PROPOSE, outgoing, timeout)
            votes = Votes(session.answers(replies), session.evaluators, session.silent)
            if votes.judged is not None:
                keep(VOTES, votes.to_bytes())
            publication = coordinator.choose(votes)
        outgoing = session.publish(publication.content, COUNTS if publication.ask else None)
        keep(PUBLICATION, next(iter(outgoing.values())))
        replies, lost = metered.step(PUBLISH, outgoing, timeout)
        if publication.ask:
            counts = Counts.of(session.answers(replies), session.evaluators)
        metered.failures |= {name: type(why).__name__ for name, why in session.refused.items()}
        # who has not heard what the next sum starts from cannot take part in it
        invited = [name for name in sorted(outgoing) if name not in lost]
    record = Record(metered.failures, metered.bytes_up, metered.bytes_down, metered.seconds)
    return coordinator.outcome(record, counts)


def _of_sum(purpose: str | None, report: Report) -> Report:
    """A report of steps that says what their sum is for."""
    if purpose is None:
        return report
    return lambda progress: report(replace(progress, step=f"{purpose}: {progress.step}"))
