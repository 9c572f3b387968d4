"""The server's side of a session: a state machine that learns the sum over the clients, no more."""

import secrets
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from enum import StrEnum
from typing import Any, TypeAlias, TypeVar

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
from fedhull.protocol.dealing import (
    COUNT_BYTES,
    check_allowed,
    fingerprints,
    keys_digest,
    restore_totals,
    sealed_bytes,
    sized_view,
    survivor_digest,
    wrong_witnesses,
)
from fedhull.protocol.graph import Graph, graph_of
from fedhull.protocol.keys import ExchangeKey, Identity
from fedhull.protocol.masking import unmasked_sum
from fedhull.protocol.summation import Layout, Summation, Totals, Vector

M = TypeVar("M", bound=m.Message)
# Sender, message, and the signed bytes to be passed on.
Accepted: TypeAlias = Iterator[tuple[str, M, bytes]]


class Step(StrEnum):
    """The step whose replies the server awaits."""

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
    few are left, BelowThreshold ends the session and nothing has been learned. `aggregate` is what
    the `summation` makes of the sum. `identity` signs messages, if the study names the
    coordinator's key. With the `session` of an earlier object and the same replies, a session takes
    the same course. Sites that are not `invited` have as good as vanished, and count for the
    threshold.
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
        # which the clients' keys are tried on
        self._probe = ExchangeKey()
        self._session = session or secrets.token_bytes(16)
        self._summation = summation
        self._graph: Graph = graph_of(study, self._session, summation.ordered)
        self._asked: set[str] = set(study.clients if invited is None else invited)
        self._advertised: dict[str, m.Advertise] = {}
        self._listed: dict[str, bytes] = {}
        self._fingerprints = b""
        self._participants: set[str] = set()
        # whose uploads are in the sum, which is all that is kept of them
        self._survivors: list[str] = []
        self._masked: Vector = []
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
        outgoing: dict[str, bytes] = handle(self, self._accepted(replies, expected))
        self._asked = set(outgoing)
        return outgoing

    def _accepted(self, replies: Mapping[str, bytes], expected: type) -> Accepted[Any]:
        """Those that are in order, one at a time: uploads can be large."""
        for name, raw in replies.items():
            try:
                yield name, self._accept(name, raw, expected), raw
            except ProtocolError as problem:
                self._refuse(name, problem)

    def propose(self, content: bytes, layout: Layout) -> dict[str, bytes]:
        """Candidates, for those who were there to the end to judge; answers have this layout."""
        return self._show(m.Propose, content, self._unmaskers, layout)

    def publish(self, content: bytes, layout: Layout | None = None) -> dict[str, bytes]:
        """The result, for everybody who uploaded, the same for all. Those who were there to the end
        are asked how well it does, if there is a layout for what they answer."""
        return self._show(m.Publish, content, self._survivors, layout)

    def _show(
        self, kind: Any, content: bytes, to: list[str], layout: Layout | None
    ) -> dict[str, bytes]:
        if self.step != Step.DONE:
            raise OutOfTurn("there is nothing to show before the session is over")
        self._layout = layout or Layout(())
        self.evaluators = self._unmaskers if layout else []
        self._asked = set(self.evaluators)
        asked = self.study.marked(self.evaluators)
        return self._to_all(to, kind(**self._header, content=content, asked=asked))

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
        complete = len(answered) == len(self.evaluators)
        self._unmaskers = sorted(self._graph.bearable(answered))
        return layout.to_ints(total) if complete else None

    @property
    def silent(self) -> list[str]:
        """Those who were asked last and have not answered."""
        return [name for name in self.evaluators if name not in self._unmaskers]

    @property
    def session(self) -> bytes:
        """The session's number, which every message carries."""
        return self._session

    @property
    def number(self) -> int:
        """The position of this sum in the study, from 1."""
        return self._summation.number

    def expects(self, name: str) -> bool:
        """True if this client owes a reply in this step."""
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
                self._probe.agree(public)
        return message

    def _refuse(self, name: str, problem: ProtocolError) -> None:
        # without its traceback, which would keep the message alive
        self.refused[name] = problem.with_traceback(None)

    def _after_advertise(self, accepted: Accepted[m.Advertise]) -> dict[str, bytes]:
        listed, advertised = {}, {}
        for name, message, raw in accepted:
            listed[name], advertised[name] = raw, message
        self._check_enough(listed)
        self._advertised, self._listed = advertised, listed
        self.step = Step.SHARE
        # witnesses know everybody: the same, large message for all of them
        whole = self._encode(m.KeyList(**self._header, advertisements=listed))
        return {
            name: whole if name in self._graph.witnesses else self._key_list(name, listed)
            for name in listed
        }

    def _key_list(self, name: str, listed: dict[str, bytes]) -> bytes:
        known = {each: listed[each] for each in self._graph.known_to(name) if each in listed}
        return self._encode(m.KeyList(**self._header, advertisements=known))

    def _after_share(self, accepted: Accepted[m.Share]) -> dict[str, bytes]:
        numbers, graph = len(self._summation.most), self._graph
        shared = {}
        for name, message, _ in accepted:
            receivers = (self._advertised.keys() & graph.receivers(name)) - {name}
            sizes = {receiver: len(sealed) for receiver, sealed in message.sealed.items()}
            if sizes == sealed_bytes(graph, name, receivers, numbers):
                shared[name] = message.sealed
            else:
                self._refuse(name, BadMessage(f"{name!r} has not sealed one message for each peer"))
        self._check_enough(shared)
        # nobody has used a mask yet: whose circle is too thin can still be left out
        self._participants = self._graph.bearable(shared)
        for name in sorted(shared.keys() - self._participants):
            self._refuse(name, _thin(name))
            del shared[name]
        self._check_enough(self._participants)
        self.step = Step.ANNOUNCE
        participants = self.study.marked(self._participants)
        self._fingerprints = fingerprints(
            self._listed[name] for name in self.study.ranked(participants)
        )
        keys = keys_digest(self._fingerprints)
        sealed_for: dict[str, dict[str, bytes]] = {name: {} for name in shared}
        for name, sealed_by in shared.items():
            for receiver in sealed_by.keys() & self._participants:
                sealed_for[receiver][name] = sealed_by[receiver]
        return {
            name: self._encode(
                m.SealedList(**self._header, participants=participants, keys=keys, sealed=sealed)
            )
            for name, sealed in sealed_for.items()
        }

    def _after_announce(self, accepted: Accepted[m.Announce]) -> dict[str, bytes]:
        replies = {name: (message, raw) for name, message, raw in accepted}
        self._check_enough(replies)
        # all honest clients have the same view; those who have another cannot be summed with them
        self._view = _most_common(message.view for message, _ in replies.values())
        size = len(self._summation.most) * COUNT_BYTES
        shares = {}
        for name, (message, _) in replies.items():
            is_witness = name in self._graph.witnesses
            if message.view != self._view:
                self._refuse(name, _different_view(name))
            elif len(message.shares) != size * is_witness:
                self._refuse(name, BadMessage(f"{name!r} has not announced what it should"))
            elif is_witness:
                shares[name] = message.shares
        right = self._right_shares(shares)
        enough = dict(list(right.items())[: self._graph.quorum])
        held = {self.study.seats[name]: raw for name, raw in enough.items()}
        self._totals = restore_totals(held, len(self._summation.most), self._graph.quorum)
        check_allowed(self._totals, self._summation.most, len(self._participants))
        self._layout = self._summation.layout(self._totals, len(self._participants))
        self._view = sized_view(self._view, self._totals)
        self.step = Step.UPLOAD
        size_message = m.Size(
            **self._header,
            totals=list(self._totals),
            fingerprints=self._fingerprints,
            announcements={name: replies[name][1] for name in enough},
        )
        return self._to_all([name for name in replies if name not in self.refused], size_message)

    def _right_shares(self, shares: dict[str, bytes]) -> dict[str, bytes]:
        """The shares of what is announced, without those that do not fit together with the rest."""
        self._check_quorum(shares)
        held = {self.study.seats[name]: raw for name, raw in shares.items()}
        wrong = wrong_witnesses(held, len(self._summation.most), self._graph.quorum)
        for name in shares:
            if self.study.seats[name] in wrong:
                self._refuse(
                    name, BadShares(f"{name!r}'s share of how much all sites will send is wrong")
                )
        right = {name: raw for name, raw in shares.items() if name not in self.refused}
        self._check_quorum(right)
        return right

    def _after_upload(self, accepted: Accepted[m.Upload]) -> dict[str, bytes]:
        survivors, total = [], self._layout.zeros()
        for name, message, _ in accepted:
            try:
                if message.view != self._view:
                    raise _different_view(name)
                total = self._layout.add(total, self._layout.unpack(message.vector))
                survivors.append(name)
            except InvalidInput as problem:
                self._refuse(name, BadMessage(f"the upload of {name!r} is malformed: {problem}"))
            except ProtocolError as problem:
                self._refuse(name, problem)
        self._check_enough(survivors)
        self._check_circles(set(survivors))
        self._survivors, self._masked = sorted(survivors), total
        self.step = Step.CONFIRM
        marked = self.study.marked(survivors)
        return self._to_all(self._survivors, m.SurvivorList(**self._header, survivors=marked))

    def _after_confirm(self, accepted: Accepted[m.Confirm]) -> dict[str, bytes]:
        agreed = self._view, survivor_digest(self.study.marked(self._survivors))
        confirmed = {}
        for name, message, raw in accepted:
            if (message.view, message.survivors) == agreed:
                confirmed[name] = raw
            else:
                self._refuse(name, InconsistentView(f"{name!r} has not confirmed the survivors"))
        self._check_enough(confirmed)
        witnesses = [name for name in confirmed if name in self._graph.witnesses]
        self._check_quorum(witnesses)
        self.step = Step.UNMASK
        some = {name: confirmed[name] for name in witnesses[: self._graph.quorum]}
        return self._to_all(confirmed, m.ConfirmationList(**self._header, confirmations=some))

    def _after_unmask(self, accepted: Accepted[m.Unmask]) -> dict[str, bytes]:
        survivors = set(self._survivors)
        vanished = self._participants - survivors
        shares = {}
        for name, message, _ in accepted:
            owners = self._graph.owners[name]
            if (
                message.seed_shares.keys() == owners & survivors
                and message.key_shares.keys() == owners & vanished
            ):
                shares[name] = message
            else:
                self._refuse(name, BadMessage(f"{name!r} has not given the shares asked for"))
        self._check_enough(shares)
        self._check_circles(shares)
        total, wrong = unmasked_sum(
            self.study,
            self._graph,
            self._view,
            self._layout,
            self._masked,
            self._survivors,
            self._advertised,
            shares,
        )
        for name, theirs in wrong.items():
            self._refuse(name, _wrong_shares(name, theirs))
        self.aggregate = self._summation.open(
            total, self._totals, self._survivors, len(self._participants)
        )
        self._unmaskers = sorted(self._graph.bearable(shares))
        self.step = Step.DONE
        return {}

    @property
    def _header(self) -> dict[str, Any]:
        return {"study": self.study.hash, "session": self._session}

    def _to_all(self, names: Any, message: m.ToClient) -> dict[str, bytes]:
        return dict.fromkeys(names, self._encode(message))

    def _encode(self, message: m.ToClient) -> bytes:
        return m.encode_to_client(message, self._identity)

    def _check_enough(self, present: Any) -> None:
        if len(present) < self.study.threshold:
            why = "".join(f"; {name}: {problem}" for name, problem in self.refused.items())
            raise BelowThreshold(
                f"only {len(present)} of {len(self.study.clients)} sites completed the step "
                f"'{self.step.value}', but the threshold is {self.study.threshold}{why}"
            )

    def _check_circles(self, there: Collection[str]) -> None:
        """Raise BelowThreshold unless what is needed of every participant can be restored."""
        for name in sorted(self._participants):
            if not self._graph.keeps(name, there):
                raise BelowThreshold(
                    f"more sites dropped out up to the step '{self.step.value}' than the graph of "
                    f"masks is made for: {_thin(name)}. Start again, with a larger dropout or with "
                    f'graph = "complete" in a new study if this happens often'
                )

    def _check_quorum(self, witnesses: Collection[str]) -> None:
        if len(witnesses) < self._graph.quorum:
            raise BelowThreshold(
                f"only {len(witnesses)} of {len(self._graph.witnesses)} witnesses completed the "
                f"step '{self.step.value}', but their quorum is {self._graph.quorum}"
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


def _thin(name: str) -> BelowThreshold:
    return BelowThreshold(f"too many of those who hold the shares of {name!r} have dropped out")


def _wrong_shares(name: str, owners: list[str]) -> BadShares:
    if owners == [owners[0]]:
        return BadShares(
            f"{name!r} has handed in a wrong share of {owners[0]!r}'s secret, or {owners[0]!r} has "
            f"dealt it one"
        )
    return BadShares(f"{name!r} has handed in wrong shares of {len(owners)} sites' secrets")
