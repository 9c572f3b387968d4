"""A site in a study: it answers the server's messages, sum after sum."""

from abc import ABC, abstractmethod
from typing import Any

from fedhull.errors import BadMessage, OutOfTurn
from fedhull.protocol.agreement import Agreement
from fedhull.protocol.client import ClientSession, ClientState
from fedhull.protocol.keys import Identity, Randomness
from fedhull.protocol.summation import Contribution, Layout, Vector
from fedhull.study.counts import COUNTS
from fedhull.study.stamp import Stamp


class Site(ABC):
    """A site's sessions, one for each sum of the study, one after the other.

    A kind of study says what the site contributes to the next sum, and what it makes of what is
    published after it. `sums_done` of `n_sums` are over. Whatever the server proposes or publishes,
    the site's reply looks the same; `veto` is what the site itself has found wrong with a proposal,
    `complaint` with what was published. A site that could not use what was published takes no
    further part, or, if that alone would say something about it, goes on and spoils the next sum.
    """

    def __init__(
        self,
        study: Agreement,
        name: str,
        identity: Identity,
        n_sums: int = 1,
        randomness: Randomness | None = None,
        sums_done: int = 0,
    ):
        self.study = study
        self.name = name
        self.n_sums = n_sums
        self.sums_done = sums_done
        self.complaint: Exception | None = None
        self.veto: Exception | None = None
        self._identity = identity
        self._randomness = randomness or Randomness()
        self.session = self._next_session()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r}, {self.sums_done} of {self.n_sums} sums done)"

    @abstractmethod
    def contribution(self) -> Contribution:
        """The site's part of the next sum."""

    @abstractmethod
    def take(self, published: bytes) -> tuple[int, int] | None:
        """Make what the server published after a sum the site's own; BadMessage if it is of no use.

        Returns what the site would answer if it is asked how well it does: of how many held-out
        points how many are classified correctly.
        """

    @abstractmethod
    def files(self, stamp: Stamp | None = None) -> dict[str, bytes]:
        """What the site has at the end, {name of a file: its content}; models bear the stamp."""

    @abstractmethod
    def result(self) -> dict[str, Any]:
        """The same in plain numbers and words."""

    def ballot_layout(self, proposed: bytes) -> Layout:
        """In which numbers sites judge what is proposed: the same for all who are shown the same,
        whatever they make of it. None, where nothing is to be judged."""
        return Layout(())

    def judge(self, proposed: bytes) -> Vector:
        """What the site says to a proposal, laid out as `ballot_layout`; BadMessage if it is of no
        use."""
        raise BadMessage("the server asks for a judgement that the study does not provide for")

    @property
    def checkpoint(self) -> bytes | None:
        """What has to be kept between two sums, if a sum has just ended; None within one."""
        return None

    @property
    def receipt(self) -> bytes | None:
        """What a site that has uploaded needs in order to use what is published, should it miss the
        end of the session: private, and None before the upload."""
        return None

    @property
    def stopped(self) -> bool:
        """Whether the site could not use what was published, and takes no further part."""
        answered = self.session.state is ClientState.ANSWERED
        return answered and self.complaint is not None

    @property
    def done(self) -> bool:
        """Whether the last sum is over."""
        return self.sums_done == self.n_sums

    def receive(self, raw: bytes) -> bytes | None:
        """Answer a message of the server's."""
        if self.done:
            raise OutOfTurn(f"all {self.n_sums} sums of the study are over")
        session = self.session
        if self.stopped:
            raise OutOfTurn("this site could not use what was published, and takes no further part")
        reply = session.receive(raw)
        if session.state is ClientState.ASKED:
            return self._judge(session)
        if session.state is ClientState.DONE:
            return self._take(session)
        return reply

    def _judge(self, session: ClientSession) -> bytes | None:
        numbers, shown = None, session.shown or b""
        try:
            numbers = self.judge(shown)
        except Exception as problem:
            # whatever it is, the server must not hear of it
            self.veto = problem
        return session.answer(self.ballot_layout(shown), numbers)

    def _take(self, session: ClientSession) -> bytes | None:
        counts = None
        try:
            counts = self.take(session.shown or b"") or (0, 0)
        except Exception as problem:
            # whatever it is, the server must not hear of it
            self.complaint = problem
        else:
            self.sums_done += 1
            if not self.done:
                self.session = self._next_session()
        return session.answer(COUNTS, None if counts is None else COUNTS.vector([counts]))

    def _next_session(self) -> ClientSession:
        randomness = self._randomness.branch(f"sum {self.sums_done + 1}")
        return ClientSession(self.study, self.name, self._identity, self.contribution(), randomness)
