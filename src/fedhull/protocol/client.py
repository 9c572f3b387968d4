"""The client's side of a session: a state machine that takes and returns messages.

Whatever the server says, a client uploads at most once in a session, gives shares for one list of
survivors only, which it has itself confirmed, never both kinds of share for one client, and answers
what it is shown at most once, under masks.
"""

from collections.abc import Collection, Set
from enum import StrEnum
from functools import cached_property
from typing import Any

from fedhull.errors import BadIdentity, BadMessage, BelowThreshold, InconsistentView, OutOfTurn
from fedhull.protocol import messages as m
from fedhull.protocol.agreement import Agreement
from fedhull.protocol.dealing import (
    Secrets,
    add_shares,
    check_fingerprints,
    deal,
    fingerprints,
    keys_digest,
    lengths,
    order_key,
    place_in_order,
    restore_totals,
    seal_context,
    sized_view,
    survivor_digest,
    view_digest,
)
from fedhull.protocol.graph import Graph, graph_of
from fedhull.protocol.keys import ExchangeKey, Identity, Randomness, digest, seal, stretch, unseal
from fedhull.protocol.masking import answer_salt, pairwise_mask, self_mask
from fedhull.protocol.summation import Contribution, Layout, Totals, Vector


class ClientState(StrEnum):
    """The states of a client, in order."""

    READY = "ready"
    ADVERTISED = "advertised"
    SHARED = "shared"
    ANNOUNCED = "announced"
    UPLOADED = "uploaded"
    CONFIRMED = "confirmed"
    UNMASKED = "unmasked"
    ASKED = "asked to judge"
    JUDGED = "judged"
    DONE = "done"
    ANSWERED = "answered"


_BEFORE_UPLOAD = (
    ClientState.READY,
    ClientState.ADVERTISED,
    ClientState.SHARED,
    ClientState.ANNOUNCED,
)


class ClientSession:
    """One client in one session. Feed it the server's messages, send what it returns.

    `contribution` is the client's part of the sum. After the upload, `drawn` is what it goes by in
    it, `totals` the announced totals, and `size` the number of elements sent. `shown` holds what
    the server has shown last, and `answer` makes the reply. With the `randomness` of an earlier
    object and the same messages, a session takes the same course.
    """

    def __init__(
        self,
        study: Agreement,
        name: str,
        identity: Identity,
        contribution: Contribution,
        randomness: Randomness | None = None,
    ):
        if study.clients.get(name) != identity.public:
            raise BadIdentity(f"the study's roster has no {name!r} with this identity key")
        self.study = study
        self.name = name
        self.state = ClientState.READY
        self.drawn: Any = None
        self.totals: Totals = ()
        self.size = 0
        self._identity = identity
        self._contribution = contribution
        self._summation = contribution.summation
        self._session = b""
        self._randomness = randomness or Randomness()
        self._channel_key = ExchangeKey(self._randomness.token("channel key"))
        self._mask_key = ExchangeKey(self._randomness.token("mask key"))
        self._seed = self._randomness.token("seed")
        self._graph = Graph({}, {}, 0, frozenset(), 0, frozenset())
        self._advertised: dict[str, bytes] = {}
        # what its keys agree on with those of its partners, and of all whom it talks to
        self._masks: dict[str, bytes] = {}
        self._channels: dict[str, bytes] = {}
        self._participants: frozenset[str] = frozenset()
        self._places: dict[str, int] = {}
        self._keys = b""
        self._received: dict[str, Secrets] = {}
        self._order_key = b""
        self._view = b""
        # who is in the sum, as the server says, and as the witnesses have confirmed
        self._survivors: frozenset[str] = frozenset()
        self._settled: frozenset[str] = frozenset()
        self._agreed = b""
        self._question: m.Propose | m.Publish | None = None
        self._asked: frozenset[str] = frozenset()

    def __repr__(self) -> str:
        return f"ClientSession(name={self.name!r}, state={self.state.value!r})"

    def receive(self, raw: bytes) -> bytes | None:
        """Answer a message of the server's; a message that is refused changes nothing."""
        content_expected = self.state in _HANDLERS[m.Publish][0]
        numbers = len(self._summation.most)
        message = m.decode_to_client(raw, self.study, content_expected, numbers)
        states, handle = _HANDLERS[type(message)]
        if self.state not in states:
            raise OutOfTurn(
                f"a client that is {self.state.value} accepts no {m.tag_of(type(message))}"
            )
        if not isinstance(message, m.Invite) and message.session != self._session:
            raise BadMessage("a message belongs to another session")
        reply: m.FromClient | None = handle(self, message)
        return None if reply is None else self._signed(reply)

    # Each handler does whatever can fail before it changes anything.

    def _advertise(self, message: m.Invite) -> m.Advertise:
        if message.number != self._summation.number:
            raise OutOfTurn(
                f"an invitation to session {message.number} of the study, but session "
                f"{self._summation.number} is next"
            )
        self._session = message.session
        self.state = ClientState.ADVERTISED
        return m.Advertise(
            **self._header,
            channel_key=self._channel_key.public,
            mask_key=self._mask_key.public,
            seed_commitment=digest(b"seed", self._seed),
        )

    def _share(self, message: m.KeyList) -> m.Share:
        graph = graph_of(self.study, self._session, self._summation.ordered)
        listed = self._checked_key_list(message, graph)
        channels = {
            name: self._channel_key.agree(each.channel_key)
            for name, each in listed.items()
            if name != self.name
        }
        masks = {
            name: self._mask_key.agree(listed[name].mask_key)
            for name in sorted(graph.partners(self.name) & listed.keys())
        }
        mine = deal(
            self.study,
            graph,
            self.name,
            [name for name in graph.receivers(self.name) if name in listed],
            self._seed,
            self._mask_key.secret,
            self._contribution.announced,
            self._randomness,
        )
        self._graph, self._advertised = graph, dict(message.advertisements)
        self._channels, self._masks = channels, masks
        self._received = {self.name: mine.pop(self.name, Secrets())}
        self.state = ClientState.SHARED
        return m.Share(
            **self._header,
            sealed={
                name: seal(*self._channel(self.name, name), secrets.to_bytes())
                for name, secrets in mine.items()
            },
        )

    def _checked_key_list(self, message: m.KeyList, graph: Graph) -> dict[str, m.Advertise]:
        """The advertisements, each signed by its author, this client's own among them."""
        self._check_enough(message.advertisements.keys(), graph)
        if not message.advertisements.keys() <= set(graph.known_to(self.name)):
            raise InconsistentView("the key list holds keys that this client has no use for")
        listed = m.decode_entries(message.advertisements, m.Advertise, self.study, self._session)
        if self.name not in listed or listed[self.name].mask_key != self._mask_key.public:
            raise InconsistentView("the key list does not hold this client's own keys")
        return listed

    def _announce(self, message: m.SealedList) -> m.Announce:
        graph = self._graph
        participants = self.study.named(message.participants)
        self._check_enough(participants, graph)
        self._check_number(participants)
        known = participants.intersection(graph.known_to(self.name))
        senders = participants.intersection(graph.senders(self.name)) - {self.name}
        if self.name not in participants or not known <= self._advertised.keys():
            raise InconsistentView("there are participants whose keys this client was not shown")
        if message.sealed.keys() != senders:
            raise InconsistentView(
                "the sealed messages are not those of the participants, or some are missing"
            )
        places = self.study.ranked(message.participants)
        if self.name in graph.witnesses and message.keys != keys_digest(
            fingerprints(self._advertised[name] for name in places)
        ):
            raise InconsistentView("the participants' keys are not those that this client knows")
        if self._summation.ordered and not graph.dealers & participants:
            raise BelowThreshold("nobody who deals the key of the order takes part")
        received = {self.name: self._received[self.name]}
        for sender, sealed in message.sealed.items():
            opened = unseal(*self._channel(sender, self.name), sealed)
            if opened is None:
                raise BadMessage(
                    f"what {sender!r} sealed for this site does not open: {sender!r} has sealed "
                    f"something else, it was changed on the way, or the server has shown the two "
                    f"of you different keys"
                )
            parts = lengths(graph, sender, self.name, len(self._summation.most))
            received[sender] = Secrets.from_bytes(opened, parts)
        shares = b""
        if self.name in graph.witnesses:
            shares = add_shares([secrets.count_shares for secrets in received.values()])
        self._received, self._participants = received, participants
        self._places, self._keys = places, message.keys
        self._order_key = order_key(received, graph)
        self._view = view_digest(self._salt, message.participants, message.keys, self._order_key)
        self.state = ClientState.ANNOUNCED
        return m.Announce(**self._header, view=self._view, shares=shares)

    def _upload(self, message: m.Size) -> m.Upload:
        participants = len(self._participants)
        check_fingerprints(message.fingerprints, self._keys, self._places, self._advertised)
        totals = self._checked_totals(message, participants)
        view = sized_view(self._view, totals)
        place = 0
        if self._summation.ordered:
            place = place_in_order(self.name, self._participants, self._order_key)
        drawn = self._contribution.draw(place, self._randomness)
        vector = self._contribution.vector(drawn, totals, participants)
        layout = self._summation.layout(totals, participants)
        masked = self._masked(vector, layout, self._participants, view)
        masked = layout.add(masked, self_mask(self._seed, view, layout))
        self.drawn, self.totals = drawn, totals
        self.size = sum(length for _, length in layout.parts)
        self._view = view
        self.state = ClientState.UPLOADED
        return m.Upload(**self._header, view=self._view, vector=layout.pack(masked))

    def _checked_totals(self, message: m.Size, participants: int) -> Totals:
        """The announced totals, restored from shares of those who have seen the same view: the
        server's word is not enough, for what leaves may depend on it."""
        most, totals = self._summation.most, tuple(message.totals)
        possible = len(totals) == len(most) and all(
            own <= total <= participants * each
            for own, total, each in zip(self._contribution.announced, totals, most, strict=True)
        )
        if not possible:
            raise BadMessage(
                f"the server's totals of {participants} sites, {list(totals)}, are impossible"
            )
        witnesses = self._graph.witnesses & self._participants
        limit = m.size_limit(m.Announce, self.study, 0, len(most))
        announced = m.decode_entries(
            message.announcements, m.Announce, self.study, self._session, limit
        )
        for name, each in announced.items():
            if each.view != self._view or name not in witnesses:
                raise InconsistentView(f"{name!r} has seen other participants than this client")
        shares = {self.study.seats[name]: each.shares for name, each in announced.items()}
        self._check_quorum(len(shares))
        if restore_totals(shares, len(most), self._graph.quorum) != totals:
            raise InconsistentView(
                "the server's totals are not those that the participants have announced"
            )
        return totals

    def _masked(self, vector: Vector, layout: Layout, among: Set[str], salt: bytes) -> Vector:
        """The vector under the masks with those partners who are among these."""
        agreed = {name: secret for name, secret in self._masks.items() if name in among}
        return layout.add(vector, pairwise_mask(self.name, agreed, salt, layout))

    def _confirm(self, message: m.SurvivorList) -> m.Confirm:
        survivors = self.study.named(message.survivors)
        if not survivors <= self._participants:
            raise InconsistentView("the list of survivors names somebody who takes no part")
        if self.name not in survivors:
            raise InconsistentView("the list of survivors omits this client, which uploaded")
        self._check_number(survivors)
        if not self._graph.keeps_all(survivors):
            raise BelowThreshold(
                "too few of those who hold the shares of a survivor are survivors themselves"
            )
        self._survivors, self._agreed = survivors, survivor_digest(message.survivors)
        self.state = ClientState.CONFIRMED
        return m.Confirm(**self._header, view=self._view, survivors=self._agreed)

    def _unmask(self, message: m.ConfirmationList) -> m.Unmask:
        if not message.confirmations.keys() <= self._survivors & self._graph.witnesses:
            raise InconsistentView("a confirmation is of no witness among the survivors")
        self._check_quorum(len(message.confirmations))
        agreed = self._view, self._agreed
        confirmed = m.decode_entries(message.confirmations, m.Confirm, self.study, self._session)
        for name, each in confirmed.items():
            if (each.view, each.survivors) != agreed:
                raise InconsistentView(
                    f"{name!r} was shown different participants or survivors than this client"
                )
        owners = sorted(self._graph.owners[self.name] & self._participants)
        self._settled = self._survivors
        self.state = ClientState.UNMASKED
        return m.Unmask(
            **self._header,
            seed_shares={
                name: self._received[name].seed_share for name in owners if name in self._survivors
            },
            key_shares={
                name: self._received[name].key_share
                for name in owners
                if name not in self._survivors
            },
        )

    def _look_at_proposal(self, message: m.Propose) -> None:
        self._look(message)
        self.state = ClientState.ASKED

    def _look_at_result(self, message: m.Publish) -> None:
        self._look(message)
        self.state = ClientState.DONE

    def _look(self, message: m.Propose | m.Publish) -> None:
        self._asked = self.study.named(message.asked)
        self._question = message

    @property
    def shown(self) -> bytes | None:
        """The last content the server has shown: a proposal, or the result."""
        return None if self._question is None else self._question.content

    def answer(self, layout: Layout, numbers: Vector | None) -> bytes | None:
        """The reply to what was shown; none if the server does not ask this client.

        The numbers are masked with those of all who are asked with it, and have been shown the
        same, so that the server can open their sum only. Without numbers, and if those who are
        asked are not enough or not all in the sum that the witnesses have confirmed, it is noise,
        which looks the same and spoils the sum: the server cannot tell whether, or why, a client
        objects.
        """
        states = {ClientState.ASKED: ClientState.JUDGED, ClientState.DONE: ClientState.ANSWERED}
        question = self._question
        if self.state not in states or question is None:
            raise OutOfTurn(f"a client that is {self.state.value} has nothing to answer")
        self.state, asked = states[self.state], self._asked
        if self.name not in asked:
            return None
        kind = m.tag_of(type(question)).encode()
        enough = len(asked) >= self.study.threshold and self._graph.keeps_all(asked)
        if numbers is None or not enough or not asked <= self._settled:
            noise = self._randomness.token(f"noise {kind.decode()}")
            masked = layout.add_mask(layout.zeros(), noise)
        else:
            salt = answer_salt(kind, self._view, question.content, question.asked)
            masked = self._masked(numbers, layout, asked, salt)
        return self._signed(m.Answer(**self._header, numbers=layout.pack(masked)))

    @property
    def uploaded(self) -> bool:
        """True once the client has sent its masked vector."""
        return self.state not in _BEFORE_UPLOAD

    @property
    def survivors(self) -> list[str]:
        """The names in the sum, as this client has confirmed them."""
        return sorted(self._survivors)

    @property
    def _header(self) -> dict[str, Any]:
        return {"study": self.study.hash, "session": self._session}

    @cached_property
    def _salt(self) -> bytes:
        return self.study.session_salt(self._session, self._summation.context)

    def _signed(self, message: m.FromClient) -> bytes:
        return m.encode_signed(message, self.name, self._identity)

    def _channel(self, sender: str, receiver: str) -> tuple[bytes, bytes]:
        """The key of the one message from one client to another, and what it is bound to."""
        peer = receiver if sender == self.name else sender
        purpose = f"channel {sender}\0{receiver}".encode()
        context = seal_context(self._advertised[sender], self._advertised[receiver])
        return stretch(self._channels[peer], self._salt, purpose), context

    def _check_number(self, there: Collection[str]) -> None:
        if len(there) < self.study.threshold:
            raise BelowThreshold(
                f"{len(there)} participants are fewer than the threshold of {self.study.threshold}"
            )

    def _check_enough(self, there: Collection[str], graph: Graph) -> None:
        """Raise BelowThreshold unless enough of those that this client relies on are there."""
        if not graph.keeps(self.name, there):
            raise BelowThreshold(
                f"fewer than {graph.enough_holders} holders of this client's shares are there"
            )
        self._check_quorum(sum(name in there for name in graph.witnesses), graph.quorum)

    def _check_quorum(self, witnesses: int, quorum: int | None = None) -> None:
        quorum = self._graph.quorum if quorum is None else quorum
        if witnesses < quorum:
            raise BelowThreshold(f"{witnesses} witnesses are fewer than the quorum of {quorum}")


_HANDLERS: dict[type, tuple[set[ClientState], Any]] = {
    m.Invite: ({ClientState.READY}, ClientSession._advertise),
    m.KeyList: ({ClientState.ADVERTISED}, ClientSession._share),
    m.SealedList: ({ClientState.SHARED}, ClientSession._announce),
    m.Size: ({ClientState.ANNOUNCED}, ClientSession._upload),
    m.SurvivorList: ({ClientState.UPLOADED}, ClientSession._confirm),
    m.ConfirmationList: ({ClientState.CONFIRMED}, ClientSession._unmask),
    m.Propose: ({ClientState.UNMASKED}, ClientSession._look_at_proposal),
    m.Publish: (
        {ClientState.UPLOADED, ClientState.CONFIRMED, ClientState.UNMASKED, ClientState.JUDGED},
        ClientSession._look_at_result,
    ),
}
