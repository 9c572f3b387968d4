"""The site's side of a study: it folds over the rounds."""

from dataclasses import replace
from typing import Any

import msgspec

from fedhull.errors import BadMessage, InvalidInput, OutOfTurn
from fedhull.protocol.agreement import Agreement
from fedhull.protocol.client import ClientSession, ClientState
from fedhull.protocol.keys import Identity, Randomness
from fedhull.protocol.summation import Contribution, Layout
from fedhull.rounds.counts import COUNTS
from fedhull.rounds.disclosure import Disclosure
from fedhull.rounds.round import (
    Final,
    Known,
    Own,
    Passed,
    Round,
    RoundContribution,
    Rounds,
    RoundSummation,
    disclosures,
    final_of,
)
from fedhull.rounds.spoiled import PoisonedContribution

DAMAGED = "what was kept between two rounds is damaged; start a new session with --again"


class Site:
    """A site in a study: it answers the coordinator's messages, round after round.

    Whatever the coordinator proposes or publishes, the site's reply looks the same; `veto` is what
    the site itself has found wrong with a proposal, `complaint` with a publication. A site that
    could not use a publication takes no further part or, if that alone would tell something about
    it, goes on and poisons the next sum.

    With the `randomness` and the `checkpoint` of an earlier object, and the messages since, a site
    takes the same course.
    """

    def __init__(
        self,
        study: Agreement,
        rounds: Rounds,
        name: str,
        identity: Identity,
        holdings: Any,
        randomness: Randomness | None = None,
        checkpoint: bytes | None = None,
    ):
        self.study, self.rounds, self.name = study, rounds, name
        self.own = Own(holdings, randomness or Randomness())
        self.known = Known()
        self.complaint: Exception | None = None
        self.veto: Exception | None = None
        # what the last round's `take` made of the final publication
        self.finding: Any = None
        self._identity = identity
        if checkpoint is not None:
            self._remember(checkpoint)
        if self.own.objection:
            self.complaint = BadMessage(self.own.objection)
        self.session = self._next_session()

    def __repr__(self) -> str:
        return f"Site({self.name!r}, {self.rounds_done} of {len(self.rounds)} rounds done)"

    @property
    def holdings(self) -> Any:
        """The site's holdings in the study."""
        return self.own.holdings

    @property
    def rounds_done(self) -> int:
        """The number of rounds that are over."""
        return len(self.own.passed)

    @property
    def done(self) -> bool:
        """True if the last round is over."""
        return self.rounds_done == len(self.rounds)

    @property
    def stopped(self) -> bool:
        """True if the site could not use a publication, and takes no further part."""
        answered = self.session.state is ClientState.ANSWERED
        return answered and self.complaint is not None

    @property
    def round(self) -> Round:
        """The round that is next or under way, or was the last."""
        return self.rounds[min(self.rounds_done, len(self.rounds) - 1)]

    @property
    def outcome(self) -> Any:
        """The site's result, with `files` and `to_json`."""
        return final_of(self.rounds).site_outcome(self)

    @property
    def disclosures(self) -> list[Disclosure]:
        """Everything that has left this site, or would."""
        return disclosures(self.rounds, self.holdings)

    def contribution(self) -> Contribution:
        """The site's part of the next sum."""
        own = RoundContribution(RoundSummation(self.round, self.known), self.own)
        return PoisonedContribution(own) if self.own.objection else own

    @property
    def checkpoint(self) -> bytes | None:
        """State to keep between two rounds; None within one."""
        between = 0 < self.rounds_done < len(self.rounds)
        return self._memory() if between and self.session.state is ClientState.READY else None

    @property
    def receipt(self) -> bytes | None:
        """Receipt with which a site that has uploaded can use the final publication, should it miss
        the end of the session: private, and None before the first upload."""
        if not self.session.uploaded and not self.rounds_done:
            return None
        under_way = self.session.uploaded and not self.done
        return self._memory(*([self._passed(b"")] if under_way else []))

    def receive(self, raw: bytes) -> bytes | None:
        """Answer a message of the coordinator's."""
        if self.done:
            raise OutOfTurn(f"all {len(self.rounds)} rounds of the study are over")
        if self.stopped:
            raise OutOfTurn("this site could not use what was published, and takes no further part")
        session = self.session
        reply = session.receive(raw)
        if session.state is ClientState.ASKED:
            return self._judge(session)
        if session.state is ClientState.DONE:
            return self._take(session)
        return reply

    def take_late(self, published: bytes, receipt: bytes) -> None:
        """Use the final publication after the session, given the receipt of an upload."""
        self._remember(receipt)
        latest = self.own.passed[-1]
        if not latest.published and self.done:
            # it was stopped in the last round
            self.own.drawn = self.own.passed.pop().drawn
        taken = final_of(self.rounds).take_late(self.known, self.own, published)
        self.finding = taken.memory
        missed = len(self.rounds) - self.rounds_done
        self.own.passed += [Passed(each.name, published) for each in self.rounds[-missed:]]

    def files(self, stamp: Any = None) -> dict[str, bytes]:
        """The site's result as {name of a file: its content}; models bear the stamp."""
        return self.outcome.files(stamp)

    def result(self) -> dict[str, Any]:
        """The same in plain numbers and words."""
        return self.outcome.to_json()

    def _judge(self, session: ClientSession) -> bytes | None:
        numbers, layout, shown = None, Layout(()), session.shown or b""
        try:
            final = self._final()
            layout = final.ballot_layout(self.known, shown)
            if self.own.objection:
                raise BadMessage(self.own.objection)
            numbers = final.judge(self.known, self.own, shown)
        except Exception as problem:
            # whatever it is, the coordinator must not hear of it
            self.veto = problem
        return session.answer(layout, numbers)

    def _final(self) -> Final:
        if not isinstance(self.round, Final):
            raise BadMessage("the server asks for a judgement that the study does not provide for")
        return self.round

    def _take(self, session: ClientSession) -> bytes | None:
        counts = None
        try:
            counts = self._use(session.shown or b"")
        except Exception as problem:
            # whatever it is, the coordinator must not hear of it
            self.complaint = problem
        else:
            if not self.done:
                self.session = self._next_session()
        return session.answer(COUNTS, None if counts is None else COUNTS.vector([counts]))

    def _use(self, published: bytes) -> tuple[int, int]:
        """Make a publication the site's own; BadMessage if it is of no use. Returns the site's
        answer if it is asked how well it does: the held-out points classified correctly, and
        all."""
        round, own, is_last = self.round, self.own, self.rounds_done == len(self.rounds) - 1
        if own.objection and is_last:
            raise BadMessage(own.objection)
        news = round.read(self.known, published)
        round.check(self.known, news, self.session.totals)
        # a site with an objection goes on without what it is told
        taken = None if own.objection else round.take(self.known, own, news)
        self.known = self.known.plus(published, news)
        passed = self._passed(published)
        if taken is not None:
            passed = replace(
                passed, memory=None if is_last else taken.memory, objection=taken.objection
            )
            if taken.objection:
                self.complaint = BadMessage(taken.objection)
            self.finding = taken.memory
        own.passed.append(passed)
        return (0, 0) if taken is None else taken.counts

    def _passed(self, published: bytes) -> Passed:
        session = self.session
        return Passed(self.round.name, published, session.totals, session.size, self.own.drawn)

    def _memory(self, *more: Passed) -> bytes:
        return msgspec.msgpack.encode([_as_plain(each) for each in (*self.own.passed, *more)])

    def _remember(self, raw: bytes) -> None:
        try:
            for round, plain in zip(self.rounds, msgspec.msgpack.decode(raw), strict=False):
                passed = Passed(**plain)
                passed = replace(
                    passed,
                    totals=tuple(passed.totals),
                    drawn=_typed(passed.drawn, round.Drawn),
                    memory=_typed(passed.memory, round.Memory),
                )
                self.own.passed.append(passed)
                if passed.published:
                    news = round.read(self.known, passed.published)
                    self.known = self.known.plus(passed.published, news)
        except (msgspec.MsgspecError, UnicodeDecodeError, TypeError, BadMessage):
            raise InvalidInput(DAMAGED) from None

    def _next_session(self) -> ClientSession:
        randomness = self.own.randomness.branch(f"sum {self.rounds_done + 1}")
        return ClientSession(self.study, self.name, self._identity, self.contribution(), randomness)


def _as_plain(passed: Passed) -> dict[str, Any]:
    plain = {name: getattr(passed, name) for name in Passed.__dataclass_fields__}
    return plain | {"drawn": _plain(passed.drawn), "memory": _plain(passed.memory)}


def _plain(value: Any) -> Any:
    return msgspec.to_builtins(value, builtin_types=(bytes,))


def _typed(value: Any, kind: Any) -> Any:
    return None if value is None or kind is None else msgspec.convert(value, kind)
