"""The server's side of a session: a state machine that learns the sum over the clients, no more."""

import secrets
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from enum import StrEnum
from typing import Any

from fedhull.errors import (
    BadIdentity,
    BadMessage,
    BadShares,
    BelowThreshold,
    InconsistentView,
    InvalidInput,
    OutOfTurn,
    ProtocolError,
)
from fedhull.protocol import messages as m
from fedhull.protocol.agreement import Agreement
from fedhull.protocol.keys import ExchangeKey, Identity
from fedhull.protocol.layout import Layout, Vector
from fedhull.protocol.shares import (
    COUNT_BYTES,
    COUNT_PRIME,
    restore_totals,
    share_of,
    wrong_holders,
)
from fedhull.protocol.summation import Summation, Totals
from fedhull.protocol.unmasking import unmasked_sum
from fedhull.protocol.views import sized_view, survivor_digest


class Step(StrEnum):
    """What the server is waiting for."""

    ADVERTISE = "advertise"
    SHARE = "share"
    ANNOUNCE = "announce"
    UPLOAD = "upload"
    CONFIRM = "confirm"
    UNMASK = "unmask"
    DONE = "done"


class ServerSession:
    """One session at the server. `start` and `advance` return what to send to whom.

    A client whose reply is missing or refused takes no further part; `refused` says why. When too
    few are left, BelowThreshold ends the session and nothing has been learned.

    `summation` says what is summed; `aggregate` is what it makes of the sum in the end. `identity`
    signs what the server says, if the study names the coordinator's key. With the `session` of an
    earlier object and the same replies, a session takes the same course. `invited` are those who
    are asked at all; the others have as good as vanished, and count for the threshold.
    """

    def __init__(
        self,
        study: Agreement,
        summation: Summation,
        identity: Identity | None = None,
        session: bytes | None = None,
        invited: Collection[str] | None = None,
    ):
        if study.coordinator != (identity and identity.public):
            raise BadIdentity("the coordinator's key is not the one that the study names")
        self.study = study
        self.step = Step.ADVERTISE
        self.refused: dict[str, ProtocolError] = {}
        self.aggregate: Any = None
        self._identity = identity
        self._session = session or secrets.token_bytes(16)
        self._summation = summation
        self._asked: set[str] = set(study.clients if invited is None else invited)
        self._advertised: dict[str, m.Advertise] = {}
        self._participants: set[str] = set()
        self._uploads: dict[str, Vector] = {}
        self._unmaskers: list[str] = []
        self._view = b""
        # how much has been announced, and how the vectors that are expected next are laid out
        self._totals: Totals = ()
        self._layout = Layout(())
        # who is asked how well the result does, or to judge proposals
        self.evaluators: list[str] = []

    def __repr__(self) -> str:
        return f"ServerSession(study={self.study.name!r}, step={self.step.value!r})"

    def start(self) -> dict[str, bytes]:
        """The invitations."""
        return self._to_all(
            sorted(self._asked), m.Invite(**self._header, number=self._summation.number)
        )

    def advance(self, replies: Mapping[str, bytes]) -> dict[str, bytes]:
        """Take the replies of this step, keyed by the sender that the transport vouches for, and
        return the next messages; none when the aggregate is there."""
        if self.step == Step.DONE:
            raise OutOfTurn("the session is over; a new attempt is a new session")
        expected, handle = _HANDLERS[self.step]
        accepted: dict[str, tuple[Any, bytes]] = {}
        for name, raw in replies.items():
            try:
                accepted[name] = self._accept(name, raw, expected), raw
            except ProtocolError as problem:
                self._refuse(name, problem)
        outgoing: dict[str, bytes] = handle(self, accepted)
        self._asked = set(outgoing)
        return outgoing

    def propose(self, content: bytes, layout: Layout) -> dict[str, bytes]:
        """Candidates, for those who were there to the end to judge in so many numbers."""
        return self._show(m.Propose, content, self._unmaskers, layout)

    def publish(self, content: bytes, layout: Layout | None = None) -> dict[str, bytes]:
        """The result, for everybody who uploaded, the same for all. Those who were there to the end
        are asked how well it does, if there is a layout for what they answer."""
        return self._show(m.Publish, content, list(self._uploads), layout)

    def _show(
        self, kind: Any, content: bytes, to: list[str], layout: Layout | None
    ) -> dict[str, bytes]:
        if self.step != Step.DONE:
            raise OutOfTurn("there is nothing to show before the session is over")
        self._layout = layout or Layout(())
        self.evaluators = self._unmaskers if layout else []
        self._asked = set(self.evaluators)
        return self._to_all(to, kind(**self._header, content=content, asked=self.evaluators))

    def answers(self, replies: Mapping[str, bytes]) -> list[list[int]] | None:
        """The sum of the answers of everybody who was asked last; None if one of them has not
        answered, for then the masks do not cancel. Whoever has not is not asked again."""
        layout = self._layout
        total = layout.zeros()
        answered = []
        for name in self.evaluators:
            try:
                message = self._accept(name, replies.get(name, b""), m.Answer)
                total = layout.add(total, layout.unpack(message.numbers))
                answered.append(name)
            except (ProtocolError, InvalidInput):
                continue
        complete, self._unmaskers = len(answered) == len(self.evaluators), answered
        return layout.to_ints(total) if complete else None

    @property
    def silent(self) -> list[str]:
        """Who was asked last and has not answered."""
        return [name for name in self.evaluators if name not in self._unmaskers]

    @property
    def session(self) -> bytes:
        """The session's number, which every message carries."""
        return self._session

    @property
    def number(self) -> int:
        """Which of the study's sums this is, from 1."""
        return self._summation.number

    def expects(self, name: str) -> bool:
        """Whether a reply of this client is asked for in this step."""
        return name in self._asked

    def check(self, name: str, raw: bytes) -> None:
        """Raise what `advance` would refuse this reply for. A transport that anybody can write to
        asks this first, so that a forged reply does not stand for its supposed author."""
        expected = _HANDLERS[self.step][0] if self.step in _HANDLERS else m.Answer
        self._accept(name, raw, expected)

    def _accept(self, name: str, raw: bytes, expected: type) -> Any:
        if name not in self._asked:
            raise OutOfTurn(f"{name!r} was not asked in this step")
        numbers = len(self._summation.most)
        limit = m.size_limit(expected, self.study, self._layout.packed_size, numbers)
        sender, message = m.decode_signed(raw, self.study, self._session, limit)
        if sender != name:
            raise BadMessage(f"a message from {name!r} is signed by {sender!r}")
        if not isinstance(message, expected):
            raise OutOfTurn(f"{name!r} sent something other than this step asks for")
        if isinstance(message, m.Advertise):
            for public in (message.channel_key, message.mask_key):
                ExchangeKey().derive(public, b"", b"")
        return message

    def _refuse(self, name: str, problem: ProtocolError) -> None:
        # without its traceback, which would keep the message alive
        self.refused[name] = problem.with_traceback(None)

    def _after_advertise(self, replies: dict[str, tuple[m.Advertise, bytes]]) -> dict[str, bytes]:
        self._check_enough(replies)
        self._advertised = {name: message for name, (message, _) in replies.items()}
        self.step = Step.SHARE
        listed = {name: raw for name, (_, raw) in replies.items()}
        return self._to_all(replies, m.KeyList(**self._header, advertisements=listed))

    def _after_share(self, replies: dict[str, tuple[m.Share, bytes]]) -> dict[str, bytes]:
        size = m.sealed_bytes(len(self._summation.most))
        for name, (message, _) in list(replies.items()):
            one_size = all(len(sealed) == size for sealed in message.sealed.values())
            if not one_size or message.sealed.keys() != self._advertised.keys() - {name}:
                self._refuse(name, BadMessage(f"{name!r} has not sealed one message for each peer"))
                del replies[name]
        self._check_enough(replies)
        self._participants = set(replies)
        self.step = Step.ANNOUNCE
        return {
            name: m.encode_to_client(
                m.SealedList(
                    **self._header,
                    sealed={
                        peer: message.sealed[name]
                        for peer, (message, _) in replies.items()
                        if peer != name
                    },
                ),
                self._identity,
            )
            for name in replies
        }

    def _after_announce(self, replies: dict[str, tuple[m.Announce, bytes]]) -> dict[str, bytes]:
        # all honest clients have the same view; those who have another cannot be summed with them
        self._view = _most_common(message.view for message, _ in replies.values())
        size = len(self._summation.most) * COUNT_BYTES
        shares = {}
        for name, (message, _) in replies.items():
            if message.view != self._view:
                self._refuse(name, _different_view(name))
            elif len(message.shares) != size:
                self._refuse(name, BadMessage(f"{name!r} has not announced what it should"))
            else:
                shares[name] = message.shares
        right = self._right_shares(shares)
        enough = dict(list(right.items())[: self.study.threshold])
        self._totals = self._restored_totals(enough)
        self._layout = self._summation.layout(self._totals, len(self._participants))
        self._view = sized_view(self._view, self._totals)
        self.step = Step.UPLOAD
        size_message = m.Size(
            **self._header,
            totals=list(self._totals),
            announcements={name: replies[name][1] for name in enough},
        )
        return self._to_all(right, size_message)

    def _right_shares(self, shares: dict[str, bytes]) -> dict[str, bytes]:
        """The shares of what is announced, without those that do not fit together with the rest."""
        self._check_enough(shares)
        seats = {self.study.seats[name]: name for name in shares}
        given = {seat: shares[name] for seat, name in seats.items()}
        for number in range(len(self._summation.most)):
            numbers = {seat: share_of(raw, number) for seat, raw in given.items()}
            wrong = wrong_holders(numbers, self.study.threshold, COUNT_PRIME)
            if wrong is None:
                raise BadShares(
                    "the shares of how much the sites will send do not fit together: too many of "
                    "them are wrong"
                )
            for seat in wrong:
                self._refuse(
                    seats[seat],
                    BadShares(f"{seats[seat]!r}'s share of how much all sites will send is wrong"),
                )
        right = {name: raw for name, raw in shares.items() if name not in self.refused}
        self._check_enough(right)
        return right

    def _restored_totals(self, shares: dict[str, bytes]) -> Totals:
        """What all participants have announced together."""
        held = {self.study.seats[name]: raw for name, raw in shares.items()}
        totals = restore_totals(held, len(self._summation.most), self.study.threshold)
        for total, most in zip(totals, self._summation.most, strict=True):
            if total > len(self._participants) * most:
                raise BadMessage(
                    f"the sites announce more together than the study allows: {total}, but at most "
                    f"{len(self._participants) * most}; one of them lies about how much it will "
                    f"send"
                )
        return totals

    def _after_upload(self, replies: dict[str, tuple[m.Upload, bytes]]) -> dict[str, bytes]:
        for name, (message, _) in replies.items():
            try:
                if message.view != self._view:
                    raise _different_view(name)
                self._uploads[name] = self._layout.unpack(message.vector)
            except InvalidInput as problem:
                self._refuse(name, BadMessage(f"the upload of {name!r} is malformed: {problem}"))
            except ProtocolError as problem:
                self._refuse(name, problem)
        self._check_enough(self._uploads)
        self.step = Step.CONFIRM
        survivors = sorted(self._uploads)
        return self._to_all(survivors, m.SurvivorList(**self._header, survivors=survivors))

    def _after_confirm(self, replies: dict[str, tuple[m.Confirm, bytes]]) -> dict[str, bytes]:
        agreed = self._view, survivor_digest(list(self._uploads))
        confirmed = {}
        for name, (message, raw) in replies.items():
            if (message.view, message.survivors) == agreed:
                confirmed[name] = raw
            else:
                self._refuse(name, InconsistentView(f"{name!r} has not confirmed the survivors"))
        self._check_enough(confirmed)
        self.step = Step.UNMASK
        return self._to_all(confirmed, m.ConfirmationList(**self._header, confirmations=confirmed))

    def _after_unmask(self, replies: dict[str, tuple[m.Unmask, bytes]]) -> dict[str, bytes]:
        vanished = self._participants - self._uploads.keys()
        shares = {}
        for name, (message, _) in replies.items():
            if set(message.seed_shares) == set(self._uploads) and (
                set(message.key_shares) == vanished
            ):
                shares[name] = message
            else:
                self._refuse(name, BadMessage(f"{name!r} has not given the shares asked for"))
        self._check_enough(shares)
        salt = self.study.session_salt(self._session, self._summation.context)
        total, wrong = unmasked_sum(
            self.study, salt, self._layout, self._uploads, self._advertised, shares
        )
        for name, owners in wrong.items():
            self._refuse(name, _wrong_shares(name, owners))
        self.aggregate = self._summation.open(
            total, self._totals, sorted(self._uploads), len(self._participants)
        )
        self._unmaskers = sorted(shares)
        self.step = Step.DONE
        return {}

    @property
    def _header(self) -> dict[str, Any]:
        return {"study": self.study.hash, "session": self._session}

    def _to_all(self, names: Any, message: m.ToClient) -> dict[str, bytes]:
        return dict.fromkeys(names, m.encode_to_client(message, self._identity))

    def _check_enough(self, present: Any) -> None:
        if len(present) < self.study.threshold:
            why = "".join(f"; {name}: {problem}" for name, problem in self.refused.items())
            raise BelowThreshold(
                f"only {len(present)} of {len(self.study.clients)} sites completed the step "
                f"'{self.step.value}', but the threshold is {self.study.threshold}{why}"
            )


_HANDLERS: dict[Step, tuple[type, Any]] = {
    Step.ADVERTISE: (m.Advertise, ServerSession._after_advertise),
    Step.SHARE: (m.Share, ServerSession._after_share),
    Step.ANNOUNCE: (m.Announce, ServerSession._after_announce),
    Step.UPLOAD: (m.Upload, ServerSession._after_upload),
    Step.CONFIRM: (m.Confirm, ServerSession._after_confirm),
    Step.UNMASK: (m.Unmask, ServerSession._after_unmask),
}


def _most_common(views: Iterable[bytes]) -> bytes:
    counted = Counter(views).most_common(1)
    return counted[0][0] if counted else b""


def _different_view(name: str) -> InconsistentView:
    return InconsistentView(f"{name!r} has seen different participants than most")


def _wrong_shares(name: str, owners: list[str]) -> BadShares:
    if owners == [owners[0]]:
        return BadShares(
            f"{name!r} has handed in a wrong share of {owners[0]!r}'s secret, or {owners[0]!r} has "
            f"dealt it one"
        )
    return BadShares(f"{name!r} has handed in wrong shares of {len(owners)} sites' secrets")
