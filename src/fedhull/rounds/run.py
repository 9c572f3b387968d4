"""The one loop: both sides of a study fold over its rounds."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import msgspec

from fedhull.errors import InvalidInput
from fedhull.progress import Report, ignore
from fedhull.protocol.agreement import Agreement
from fedhull.protocol.drive import PROPOSE, PUBLISH, Engine, Metered, drive
from fedhull.protocol.keys import Identity
from fedhull.protocol.server import ServerSession
from fedhull.rounds.counts import COUNTS, Counts
from fedhull.rounds.round import (
    Conclusion,
    Final,
    Known,
    Opened,
    Proposal,
    Record,
    Round,
    Rounds,
    RoundSummation,
    Votes,
    final_of,
)


@dataclass(frozen=True)
class Publication:
    """A publication for all sites in a sum. With `ask`, those who stayed to its end are asked how
    well it does."""

    content: bytes
    ask: bool = False


class Coordinator:
    """The coordinator's side of a study: open a sum, conclude, publish, and so on."""

    def __init__(self, study: Agreement, rounds: Rounds):
        self.study, self.rounds = study, rounds
        self.known = Known()
        self.opened: list[Opened] = []
        self.findings: list[Any] = []
        self.seconds: dict[str, float] = {}
        self._proposal: Proposal | None = None

    @property
    def round(self) -> Round:
        """The round that is next or under way."""
        return self.rounds[len(self.known.raw)]

    def next_sum(self) -> RoundSummation | None:
        """The next round's sum; None when the study is over."""
        over = len(self.known.raw) == len(self.rounds)
        return None if over else RoundSummation(self.round, self.known)

    def purpose(self) -> str | None:
        """The next of several rounds, in a word; None in a study of one."""
        n, of = len(self.known.raw) + 1, len(self.rounds)
        return None if of == 1 else f"{self.round.purpose} ({n} of {of})"

    def take(self, opened: Opened) -> Publication | Proposal:
        """Make something of an opened sum."""
        self.opened.append(opened)
        round = self.round
        if isinstance(round, Final):
            self._proposal = round.propose(self.known, self.opened)
        return self._proposal or self._conclude(round.conclude(self.known, self.opened))

    def choose(self, votes: Votes | None) -> Publication:
        """Publish what the sites' judgements of the proposal speak for, if there are any."""
        assert self._proposal is not None
        return self._conclude(final_of(self.rounds).choose(self._proposal, votes))

    def publish(self, news: Any) -> bytes:
        """Write news down for all, and stand by them."""
        raw = self.round.write(news)
        self.known = self.known.plus(raw, news)
        return raw

    def kept(self, opened: Opened) -> bytes | None:
        """All rounds so far, if the latest is one that can be concluded again: it is kept before
        anything is made of it, because the sum cannot be had a second time."""
        if not isinstance(self.round, Final) or not self.round.can_learn_again:
            return None
        rounds = zip((*self.known.raw, b""), (*self.opened, opened), strict=True)
        sums = [
            _KeptRound(published, o.packed, o.survivors, o.totals, o.participants)
            for published, o in rounds
        ]
        return msgspec.msgpack.encode(sums)

    def reopen(self, kept: bytes) -> Opened:
        """The last of the sums that were kept; the rounds before it are over again."""
        try:
            rounds = msgspec.msgpack.decode(kept, type=list[_KeptRound])
        except (msgspec.MsgspecError, UnicodeDecodeError):
            raise InvalidInput("what was kept of the sum is damaged") from None
        for each in rounds:
            summation = RoundSummation(self.round, self.known)
            vector = summation.layout(each.totals, each.participants).unpack(each.packed)
            opened = summation.open(vector, each.totals, each.survivors, each.participants)
            if each.published:
                self.opened.append(opened)
                self.findings.append(None)
                news = self.round.read(self.known, each.published)
                self.known = self.known.plus(each.published, news)
        return opened

    def replay(self, kept: bytes, votes: Votes | None) -> None:
        """Conclude once more from the sums that were kept, and from votes that were cast on the
        same candidates."""
        if isinstance(self.take(self.reopen(kept)), Proposal):
            self.choose(votes)

    def outcome(self, record: Record, counts: Counts) -> Any:
        """The coordinator's result."""
        return final_of(self.rounds).outcome(self, record, counts)

    def _conclude(self, made: Conclusion) -> Publication:
        self.findings.append(made.finding)
        for name, seconds in made.seconds.items():
            self.seconds[name] = self.seconds.get(name, 0.0) + seconds
        return Publication(self.publish(made.news), made.ask)


class _KeptRound(msgspec.Struct, array_like=True):
    published: bytes
    packed: bytes
    survivors: list[str]
    totals: tuple[int, ...]
    participants: int


OpenSession = Callable[..., ServerSession]
# Writes what the coordinator keeps for itself: a name, and the content.
Keep = Callable[[str, bytes], None]
SUM, VOTES, PUBLICATION = "sum.bin", "votes.bin", "publication.bin"


def keep_nothing(name: str, content: bytes) -> None:
    """Keep nothing, as a rehearsal does."""


def run_study(
    coordinator: Coordinator,
    engine: Engine,
    identity: Identity | None = None,
    timeout: float = 600.0,
    report: Report = ignore,
    open_session: OpenSession = ServerSession,
    keep: Keep = keep_nothing,
) -> Any:
    """Run a whole study over an engine: one session for each round, and a publication after it.

    A site that does not answer a step in `timeout` seconds is left out of that round and of all
    later ones; too few of them end the study with BelowThreshold. `identity` signs what the
    coordinator says, if the study names its key. `open_session` makes the sessions, for engines
    that go on with one that was begun earlier. `keep` is given the sums before anything is made of
    them, the sites' votes, if there is a ballot, and each publication before it is sent.
    """
    study = coordinator.study
    metered = Metered(engine)
    invited, counts = sorted(study.clients), Counts(None, None, [])
    while (summation := coordinator.next_sum()) is not None:
        metered.report = _of_round(coordinator.purpose(), report)
        session = open_session(study, summation, identity, invited=invited)
        opened = drive(session, metered, timeout)
        kept = coordinator.kept(opened)
        if kept is not None:
            keep(SUM, kept)
        publication = coordinator.take(opened)
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
        # a site that has not heard what the next round starts from cannot take part in it
        invited = [name for name in sorted(outgoing) if name not in lost]
    record = Record(metered.failures, metered.bytes_up, metered.bytes_down, metered.seconds)
    return coordinator.outcome(record, counts)


def _of_round(purpose: str | None, report: Report) -> Report:
    """A report of steps that says what their round is for."""
    if purpose is None:
        return report
    return lambda progress: report(replace(progress, step=f"{purpose}: {progress.step}"))
