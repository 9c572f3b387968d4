"""The client's side of a session: a state machine that takes and returns messages.

Whatever the server says, a client uploads at most once in a session, gives shares for one list of
survivors only, which it has itself confirmed, never both kinds of share for one client, and tells
how well the model does at most once, under masks.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

import numpy as np

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
from fedhull.protocol.masking import (
    TALLY_FIELD,
    pairwise_mask,
    self_mask,
    tally_mask,
)
from fedhull.protocol.shares import SHARE_BYTES, split
from fedhull.protocol.summation import Contribution


class ClientState(StrEnum):
    """How far a client has come."""

    READY = "ready"
    ADVERTISED = "advertised"
    SHARED = "shared"
    UPLOADED = "uploaded"
    CONFIRMED = "confirmed"
    UNMASKED = "unmasked"
    DONE = "done"
    TALLIED = "tallied"


class ClientSession:
    """One client in one session. Feed it the server's messages, send what it returns.

    `contribution` is the client's part of the sum. After the upload, `label_of_class` says under
    which label each class was sent, if it is hulls that are summed, and `n_sums` how long the sum
    is; after the end, `result` holds what the server published, and `tally` makes the last message.
    With the `randomness` of an earlier object and the same messages, a session takes the same
    course.
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
        self.label_of_class: list[int] = []
        self.n_sums = 0
        self.result: bytes | None = None
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
        self._evaluators: list[str] = []

    def __repr__(self) -> str:
        return f"ClientSession(name={self.name!r}, state={self.state.value!r})"

    def receive(self, raw: bytes) -> bytes | None:
        """Answer a message of the server's; a message that is refused changes nothing."""
        takes_result = self.state in _HANDLERS[m.Publish][0]
        message = m.decode_to_client(raw, self.study, result_expected=takes_result)
        states, handle = _HANDLERS[type(message)]
        if self.state not in states:
            raise OutOfTurn(f"a client that is {self.state.value} accepts no {_kind(message)}")
        if not isinstance(message, m.Invite) and message.session != self._session:
            raise BadMessage("a message belongs to another session")
        reply: m.FromClient | None = handle(self, message)
        return None if reply is None else m.encode_signed(reply, self.name, self._identity)

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
                _context(self.name, peer, key_list),
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
        seed_shares, key_shares = (
            split(
                int.from_bytes(secret, "big"),
                list(seats.values()),
                self.study.threshold,
                draw=self._randomness.below(f"shares of {kind}"),
            )
            for kind, secret in (("seed", self._seed), ("mask key", self._mask_key.secret))
        )
        return {
            name: m.Secrets(
                self._order,
                self._contribution.announced,
                seed_shares[seat].to_bytes(SHARE_BYTES, "big"),
                key_shares[seat].to_bytes(SHARE_BYTES, "big"),
            )
            for name, seat in seats.items()
        }

    def _upload(self, message: m.SealedList) -> m.Upload:
        if not message.sealed.keys() <= self._peers.keys():
            raise InconsistentView("a sealed message comes from outside the key list")
        self._check_enough(len(message.sealed) + 1)
        received = {self.name: self._received[self.name]}
        for peer, sealed in message.sealed.items():
            key = self._channel(peer, self._peers[peer], outward=False)
            opened = unseal(key, sealed, _context(peer, self.name, self._key_list))
            received[peer] = m.Secrets.from_bytes(opened)
            if not self._summation.accepts(received[peer].announced):
                raise BadMessage(f"{peer!r} announces more or less than the study allows")
        n_sums = self._summation.length([s.announced for s in received.values()])
        order = sorted(received, key=lambda name: (received[name].order, name))
        labels = self._contribution.labels(order.index(self.name), self._randomness)
        masked = self._masked(self._contribution.vector(labels, n_sums), received)
        self._received, self.label_of_class, self.n_sums = received, labels, n_sums
        self._view = _view_digest(self._salt, received)
        self.state = ClientState.UPLOADED
        return m.Upload(
            **self._header,
            view=self._view,
            n_sums=n_sums,
            sums=self._summation.field.pack(masked),
        )

    def _masked(self, vector: np.ndarray, received: Mapping[str, m.Secrets]) -> np.ndarray:
        field, salt, n = self._summation.field, self._salt, len(vector)
        peers = {name: self._peers[name].mask_key for name in received if name != self.name}
        total = field.add(vector, self_mask(self._seed, salt, n, field))
        return field.add(total, pairwise_mask(self.name, self._mask_key, peers, salt, n, field))

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

    def _finish(self, message: m.Publish) -> None:
        self.result = message.result
        self._evaluators = sorted(message.evaluators)
        self.state = ClientState.DONE

    @property
    def survivors(self) -> list[str]:
        """Who is in the sum, as this client has confirmed it."""
        return self._survivors

    @property
    def may_tally(self) -> bool:
        """Whether the server asks this client for its counts, together with enough others that
        took part in what this client has confirmed."""
        asked = set(self._evaluators)
        return (
            self.state == ClientState.DONE
            and self.name in asked
            and asked <= set(self._survivors)
            and self.study.threshold <= len(asked) == len(self._evaluators)
        )

    def tally(self, correct: int, total: int) -> bytes:
        """The last message: of `total` held-out points the model gets `correct` right. The counts
        are masked with the other evaluators', so that the server can open their sum only."""
        if not self.may_tally:
            raise OutOfTurn(f"a client that is {self.state.value} is not asked for its counts")
        peers = {p: self._peers[p].mask_key for p in self._evaluators if p != self.name}
        masked = TALLY_FIELD.add(
            TALLY_FIELD.vector([correct, total]),
            tally_mask(self.name, self._mask_key, peers, self._salt),
        )
        self.state = ClientState.TALLIED
        message = m.Tally(**self._header, counts=TALLY_FIELD.pack(masked))
        return m.encode_signed(message, self.name, self._identity)

    @property
    def _header(self) -> dict[str, Any]:
        return {"study": self.study.hash, "session": self._session}

    @property
    def _salt(self) -> bytes:
        return self.study.session_salt(self._session, self._summation.context)

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
    m.SealedList: ({ClientState.SHARED}, ClientSession._upload),
    m.SurvivorList: ({ClientState.UPLOADED}, ClientSession._confirm),
    m.ConfirmationList: ({ClientState.CONFIRMED}, ClientSession._unmask),
    m.Publish: (
        {ClientState.UPLOADED, ClientState.CONFIRMED, ClientState.UNMASKED},
        ClientSession._finish,
    ),
}


def survivor_digest(survivors: list[str]) -> bytes:
    """What a client signs of a list of survivors."""
    return digest(b"survivors", *(name.encode() for name in sorted(survivors)))


def _context(sender: str, receiver: str, key_list: bytes) -> bytes:
    """What a sealed message is bound to: who, to whom, and the list of keys both have seen."""
    return digest(sender.encode(), receiver.encode(), key_list)


def _view_digest(salt: bytes, received: Mapping[str, m.Secrets]) -> bytes:
    """Which session it is and what it starts from, who takes part, in which order, and what they
    have announced: the same for all, or nothing is unmasked. The order numbers in it are 128-bit
    secrets, so that it tells the server nothing."""
    parts = []
    for name in sorted(received):
        secrets = received[name]
        parts += [name.encode(), secrets.order, secrets.announced.to_bytes(8, "big")]
    return digest(b"view", salt, *parts)


def _kind(message: m.Message) -> str:
    return type(message).__struct_config__.tag  # type: ignore[return-value]
