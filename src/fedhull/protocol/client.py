"""The client's side of a session: a state machine that takes and returns messages.

Whatever the server says, a client uploads at most once in a session, gives shares for one list of
survivors only, which it has itself confirmed, never both kinds of share for one client, and answers
what it is shown at most once, under masks.
"""

from enum import StrEnum
from typing import Any

from fedhull.errors import (
    BadIdentity,
    BadMessage,
    BelowThreshold,
    InconsistentView,
    OutOfTurn,
)
from fedhull.protocol import messages as m
from fedhull.protocol.agreement import Agreement
from fedhull.protocol.keys import ExchangeKey, Identity, Randomness, digest, seal, unseal
from fedhull.protocol.layout import Layout, Vector
from fedhull.protocol.masking import answer_salt, pairwise_mask, self_mask
from fedhull.protocol.shares import (
    PRIME,
    SHARE_BYTES,
    add_shares,
    restore_totals,
    share_numbers,
    split,
)
from fedhull.protocol.summation import Contribution, Totals
from fedhull.protocol.views import seal_context, sized_view, survivor_digest, view_digest


class ClientState(StrEnum):
    """How far a client has come."""

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
    it, and `totals` what all participants have announced. When the server has shown something, a
    proposal or the result, `shown` holds it, and `answer` makes the reply. With the `randomness` of
    an earlier object and the same messages, a session takes the same course.
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
        self._identity = identity
        self._contribution = contribution
        self._summation = contribution.summation
        self._session = b""
        self._randomness = randomness or Randomness()
        self._channel_key = ExchangeKey(self._randomness.token("channel key"))
        self._mask_key = ExchangeKey(self._randomness.token("mask key"))
        self._seed = self._randomness.token("seed")
        self._order = self._randomness.token("order", 16)
        self._peers: dict[str, m.Advertise] = {}
        self._key_list = b""
        self._received: dict[str, m.Secrets] = {}
        self._view = b""
        self._survivors: list[str] = []
        self._question: m.Propose | m.Publish | None = None

    def __repr__(self) -> str:
        return f"ClientSession(name={self.name!r}, state={self.state.value!r})"

    @property
    def participants(self) -> int:
        """How many have dealt out shares, this client included."""
        return len(self._received)

    def receive(self, raw: bytes) -> bytes | None:
        """Answer a message of the server's; a message that is refused changes nothing."""
        content_expected = self.state in _HANDLERS[m.Publish][0]
        numbers = len(self._summation.most)
        message = m.decode_to_client(raw, self.study, content_expected, numbers)
        states, handle = _HANDLERS[type(message)]
        if self.state not in states:
            raise OutOfTurn(f"a client that is {self.state.value} accepts no {_kind(message)}")
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
        peers = self._checked_key_list(message)
        key_list = digest(*(name.encode() + message.advertisements[name] for name in sorted(peers)))
        del peers[self.name]
        mine = self._secrets_for([self.name, *peers])
        sealed = {
            peer: seal(
                self._channel(peer, advertisement, outward=True),
                mine[peer].to_bytes(),
                seal_context(self.name, peer, key_list),
            )
            for peer, advertisement in peers.items()
        }
        self._peers, self._key_list = peers, key_list
        self._received = {self.name: mine[self.name]}
        self.state = ClientState.SHARED
        return m.Share(**self._header, sealed=sealed)

    def _checked_key_list(self, message: m.KeyList) -> dict[str, m.Advertise]:
        """The advertisements, each signed by its author, this client's own among them."""
        self._check_enough(len(message.advertisements))
        peers: dict[str, m.Advertise] = {}
        for name, raw in message.advertisements.items():
            sender, advertisement = m.decode_signed(raw, self.study, self._session)
            if sender != name or not isinstance(advertisement, m.Advertise):
                raise BadMessage(f"the key list's entry for {name!r} is not its advertisement")
            # a key that nothing can be derived from is noticed here, not half way through
            self._mask_key.derive(advertisement.mask_key, b"", b"")
            peers[name] = advertisement
        if self.name not in peers or peers[self.name].mask_key != self._mask_key.public:
            raise InconsistentView("the key list does not hold this client's own keys")
        return peers

    def _secrets_for(self, names: list[str]) -> dict[str, m.Secrets]:
        """What each of the participants, this client included, is to hold."""
        seats = {name: self.study.seats[name] for name in names}
        holders, threshold = list(seats.values()), self.study.threshold
        seed_shares, key_shares = (
            split(
                int.from_bytes(secret, "big"),
                holders,
                threshold,
                PRIME,
                self._randomness.below(f"shares of {kind}"),
            )
            for kind, secret in (("seed", self._seed), ("mask key", self._mask_key.secret))
        )
        count_shares = share_numbers(
            self._contribution.announced,
            holders,
            threshold,
            self._randomness.below("shares of count"),
        )
        return {
            name: m.Secrets(
                self._order,
                seed_shares[seat].to_bytes(SHARE_BYTES, "big"),
                key_shares[seat].to_bytes(SHARE_BYTES, "big"),
                count_shares[seat],
            )
            for name, seat in seats.items()
        }

    def _announce(self, message: m.SealedList) -> m.Announce:
        if not message.sealed.keys() <= self._peers.keys():
            raise InconsistentView("a sealed message comes from outside the key list")
        self._check_enough(len(message.sealed) + 1)
        received = {self.name: self._received[self.name]}
        for peer, sealed in message.sealed.items():
            key = self._channel(peer, self._peers[peer], outward=False)
            opened = unseal(key, sealed, seal_context(peer, self.name, self._key_list))
            if opened is None:
                raise BadMessage(
                    f"what {peer!r} sealed for this site does not open: {peer!r} has sealed "
                    f"something else, it was changed on the way, or the server has shown the two "
                    f"of you different lists of keys"
                )
            received[peer] = m.Secrets.from_bytes(opened)
        shares = add_shares([secrets.count_shares for secrets in received.values()])
        self._received = received
        self._view = view_digest(
            self._salt, {peer: secrets.order for peer, secrets in received.items()}
        )
        self.state = ClientState.ANNOUNCED
        return m.Announce(
            **self._header,
            view=self._view,
            shares=shares,
        )

    def _upload(self, message: m.Size) -> m.Upload:
        received, participants = self._received, len(self._received)
        totals = self._checked_totals(message, participants)
        order = sorted(received, key=lambda name: (received[name].order, name))
        drawn = self._contribution.draw(order.index(self.name), self._randomness)
        vector = self._contribution.vector(drawn, totals, participants)
        layout = self._summation.layout(totals, participants)
        masked = self._masked(vector, layout)
        self.drawn, self.totals = drawn, totals
        self._view = sized_view(self._view, totals)
        self.state = ClientState.UPLOADED
        return m.Upload(**self._header, view=self._view, vector=layout.pack(masked))

    def _checked_totals(self, message: m.Size, participants: int) -> Totals:
        """What all participants have announced together, restored from their shares: the server's
        word is not enough, for what leaves may depend on it."""
        most, totals = self._summation.most, tuple(message.totals)
        possible = len(totals) == len(most) and all(
            own <= total <= participants * each
            for own, total, each in zip(self._contribution.announced, totals, most, strict=True)
        )
        if not possible:
            raise BadMessage(
                f"the server says that {participants} sites have announced {list(totals)} "
                f"together, which they cannot"
            )
        limit = m.size_limit(m.Announce, self.study, 0, len(most))
        shares = {}
        for name, raw in message.announcements.items():
            sender, announced = m.decode_signed(raw, self.study, self._session, limit)
            if sender != name or not isinstance(announced, m.Announce):
                raise BadMessage(f"the announcement of {name!r} is not its own")
            if announced.view != self._view or name not in self._received:
                raise InconsistentView(f"{name!r} has seen other participants than this client")
            shares[self.study.seats[name]] = announced.shares
        self._check_enough(len(shares))
        if restore_totals(shares, len(most), self.study.threshold) != totals:
            raise InconsistentView(
                "the server's totals are not those that the participants have announced"
            )
        return totals

    def _masked(self, vector: Vector, layout: Layout) -> Vector:
        peers = {name: self._peers[name].mask_key for name in self._received if name != self.name}
        total = layout.add(vector, self_mask(self._seed, self._salt, layout))
        masks = pairwise_mask(self.name, self._mask_key, peers, self._salt, layout)
        return layout.add(total, masks)

    def _confirm(self, message: m.SurvivorList) -> m.Confirm:
        survivors = message.survivors
        if len(set(survivors)) != len(survivors) or not set(survivors) <= self._received.keys():
            raise InconsistentView("the list of survivors names somebody twice, or an outsider")
        if self.name not in survivors:
            raise InconsistentView("the list of survivors omits this client, which uploaded")
        self._check_enough(len(survivors))
        self._survivors = sorted(survivors)
        self.state = ClientState.CONFIRMED
        return m.Confirm(
            **self._header, view=self._view, survivors=survivor_digest(self._survivors)
        )

    def _unmask(self, message: m.ConfirmationList) -> m.Unmask:
        if not message.confirmations.keys() <= set(self._survivors):
            raise InconsistentView("a confirmation comes from outside the survivors")
        self._check_enough(len(message.confirmations))
        agreed = self._view, survivor_digest(self._survivors)
        for name, raw in message.confirmations.items():
            sender, confirmation = m.decode_signed(raw, self.study, self._session)
            if sender != name or not isinstance(confirmation, m.Confirm):
                raise BadMessage(f"the confirmation of {name!r} is not its own")
            if (confirmation.view, confirmation.survivors) != agreed:
                raise InconsistentView(
                    f"{name!r} was shown different participants or survivors than this client"
                )
        vanished = self._received.keys() - set(self._survivors)
        self.state = ClientState.UNMASKED
        return m.Unmask(
            **self._header,
            seed_shares={name: self._received[name].seed_share for name in self._survivors},
            key_shares={name: self._received[name].key_share for name in sorted(vanished)},
        )

    def _look_at_proposal(self, message: m.Propose) -> None:
        self._question = message
        self.state = ClientState.ASKED

    def _look_at_result(self, message: m.Publish) -> None:
        self._question = message
        self.state = ClientState.DONE

    @property
    def shown(self) -> bytes | None:
        """What the server has shown last: a proposal, or the result."""
        return None if self._question is None else self._question.content

    def answer(self, layout: Layout, numbers: Vector | None) -> bytes | None:
        """The reply to what was shown; none if the server does not ask this client.

        The numbers are masked with those of all who are asked with it, and have been shown the
        same, so that the server can open their sum only. Without numbers, and if those who are
        asked are not enough or not those whom this client has confirmed, it is noise, which looks
        the same and spoils the sum: the server cannot tell whether, or why, a client objects.
        """
        states = {ClientState.ASKED: ClientState.JUDGED, ClientState.DONE: ClientState.ANSWERED}
        question = self._question
        if self.state not in states or question is None:
            raise OutOfTurn(f"a client that is {self.state.value} has nothing to answer")
        self.state, asked = states[self.state], set(question.asked)
        if self.name not in asked:
            return None
        kind = _kind(question).encode()
        enough = self.study.threshold <= len(asked) == len(question.asked)
        if numbers is None or not enough or not asked <= set(self._survivors):
            noise = self._randomness.token(f"noise {kind.decode()}")
            masked = layout.add_mask(layout.zeros(), noise)
        else:
            peers = {p: self._peers[p].mask_key for p in asked if p != self.name}
            salt = answer_salt(kind, self._salt, question.content, question.asked)
            mask = pairwise_mask(self.name, self._mask_key, peers, salt, layout)
            masked = layout.add(numbers, mask)
        return self._signed(m.Answer(**self._header, numbers=layout.pack(masked)))

    @property
    def uploaded(self) -> bool:
        """Whether the client has sent its masked vector."""
        return self.state not in _BEFORE_UPLOAD

    @property
    def survivors(self) -> list[str]:
        """Who is in the sum, as this client has confirmed it."""
        return self._survivors

    @property
    def _header(self) -> dict[str, Any]:
        return {"study": self.study.hash, "session": self._session}

    @property
    def _salt(self) -> bytes:
        return self.study.session_salt(self._session, self._summation.context)

    def _signed(self, message: m.FromClient) -> bytes:
        return m.encode_signed(message, self.name, self._identity)

    def _channel(self, peer: str, advertisement: m.Advertise, outward: bool) -> bytes:
        """The key of the one message from this client to the peer, or the other way."""
        sender, receiver = (self.name, peer) if outward else (peer, self.name)
        return self._channel_key.derive(
            advertisement.channel_key,
            self._salt,
            f"channel {sender}\0{receiver}".encode(),
        )

    def _check_enough(self, present: int) -> None:
        if present < self.study.threshold:
            raise BelowThreshold(
                f"{present} participants are fewer than the threshold of {self.study.threshold}"
            )


_HANDLERS: dict[type, tuple[set[ClientState], Any]] = {
    m.Invite: ({ClientState.READY}, ClientSession._advertise),
    m.KeyList: ({ClientState.ADVERTISED}, ClientSession._share),
    m.SealedList: ({ClientState.SHARED}, ClientSession._announce),
    m.Size: ({ClientState.ANNOUNCED}, ClientSession._upload),
    m.SurvivorList: ({ClientState.UPLOADED}, ClientSession._confirm),
    m.ConfirmationList: ({ClientState.CONFIRMED}, ClientSession._unmask),
    m.Propose: ({ClientState.UNMASKED}, ClientSession._look_at_proposal),
    m.Publish: (
        {
            ClientState.UPLOADED,
            ClientState.CONFIRMED,
            ClientState.UNMASKED,
            ClientState.JUDGED,
        },
        ClientSession._look_at_result,
    ),
}


def _kind(message: m.Message) -> str:
    return type(message).__struct_config__.tag  # type: ignore[return-value]
