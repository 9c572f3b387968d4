"""The messages, version 1: MessagePack, every field typed and bounded, unknown fields refused.

    server                                      client
    Invite            ───────────────────────▶
                      ◀───────────────────────  Advertise      fresh public keys
    KeyList           ───────────────────────▶
                      ◀───────────────────────  Share          sealed, one for each peer
    SealedList        ───────────────────────▶
                      ◀───────────────────────  Upload         masked vector, once
    SurvivorList      ───────────────────────▶
                      ◀───────────────────────  Confirm        signs who is there
    ConfirmationList  ───────────────────────▶
                      ◀───────────────────────  Unmask         shares
    Publish           ───────────────────────▶
                      ◀───────────────────────  Tally          masked counts, once

What a client says travels in a `Signed` envelope under its identity key; what the server says does
too, if the study names the coordinator's key.
"""

from dataclasses import dataclass
from typing import Annotated, Any, TypeVar

import msgspec

from fedhull.errors import BadIdentity, BadMessage
from fedhull.protocol.agreement import Agreement, Name
from fedhull.protocol.keys import Identity, digest, verify
from fedhull.protocol.masking import TALLY_FIELD, TALLY_SIZE
from fedhull.protocol.shares import SHARE_BYTES

VERSION = 1
T = TypeVar("T")
# What surrounds the payload of a message: names, keys, lengths.
_OVERHEAD_PER_CLIENT, _OVERHEAD = 1_000, 4_000
_LARGEST_RESULT = 64_000_000
# What a signature is over besides the message, so that none can be passed off as the other kind.
_FROM_CLIENT, _TO_CLIENT, _SERVER = b"fedhull message", b"fedhull server message", "server"

Bytes16 = Annotated[bytes, msgspec.Meta(min_length=16, max_length=16)]
Bytes32 = Annotated[bytes, msgspec.Meta(min_length=32, max_length=32)]
Bytes64 = Annotated[bytes, msgspec.Meta(min_length=64, max_length=64)]
ShareBytes = Annotated[bytes, msgspec.Meta(min_length=SHARE_BYTES, max_length=SHARE_BYTES)]
Number = Annotated[int, msgspec.Meta(ge=0, le=2**40)]


class Message(
    msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, tag_field="kind"
):
    """What every message carries: the study's hash and the session."""

    version: Annotated[int, msgspec.Meta(ge=VERSION, le=VERSION)] = VERSION
    study: Bytes32
    session: Bytes16


class Invite(Message, frozen=True, kw_only=True, tag="invite"):
    """The server opens a session, the only one of its study or one of several, from 1."""

    number: Annotated[int, msgspec.Meta(ge=1, le=2**40)] = msgspec.field(default=1, name="turn")


class Advertise(Message, frozen=True, kw_only=True, tag="advertise"):
    """Fresh X25519 keys for channel and masks, and a commitment to the self-mask seed."""

    channel_key: Bytes32
    mask_key: Bytes32
    seed_commitment: Bytes32


class KeyList(Message, frozen=True, kw_only=True, tag="key-list"):
    """All advertisements, signed by their authors."""

    advertisements: dict[Name, bytes]


class Share(Message, frozen=True, kw_only=True, tag="share"):
    """For each peer a sealed `Secrets`."""

    sealed: dict[Name, bytes]


class SealedList(Message, frozen=True, kw_only=True, tag="sealed-list"):
    """What the peers have sealed for this client."""

    sealed: dict[Name, bytes]


@dataclass(frozen=True, repr=False)
class Secrets:
    """What one client tells another, sealed: its order number, what it announces (how many bins it
    will fill at most, or the length of its vector), and the other's shares of its self-mask seed
    and of its mask key. Always of the same length, so that the sealed message does not tell its
    content by its size."""

    order: bytes
    announced: int
    seed_share: bytes
    key_share: bytes

    def to_bytes(self) -> bytes:
        """90 bytes."""
        return self.order + self.announced.to_bytes(8, "big") + self.seed_share + self.key_share

    @classmethod
    def from_bytes(cls, raw: bytes) -> "Secrets":
        """The inverse of `to_bytes`."""
        if len(raw) != 24 + 2 * SHARE_BYTES:
            raise BadMessage("a peer's sealed message does not have the right length")
        announced = int.from_bytes(raw[16:24], "big")
        return cls(raw[:16], announced, raw[24 : 24 + SHARE_BYTES], raw[24 + SHARE_BYTES :])


class Upload(Message, frozen=True, kw_only=True, tag="upload"):
    """The masked vector, power sums or weighted numbers, packed, and a digest of what the client
    saw before it made it."""

    view: Bytes32
    n_sums: Number
    sums: bytes


class SurvivorList(Message, frozen=True, kw_only=True, tag="survivor-list"):
    """Whose uploads the server will sum."""

    survivors: list[Name]


class Confirm(Message, frozen=True, kw_only=True, tag="confirm"):
    """The client's word on what it saw and on the survivors, as digests; it gives shares for no
    other list."""

    view: Bytes32
    survivors: Bytes32


class ConfirmationList(Message, frozen=True, kw_only=True, tag="confirmation-list"):
    """The survivors' confirmations, signed by their authors."""

    confirmations: dict[Name, bytes]


class Unmask(Message, frozen=True, kw_only=True, tag="unmask"):
    """Shares of the survivors' seeds and of the vanished clients' mask keys, never both of one."""

    seed_shares: dict[Name, ShareBytes]
    key_shares: dict[Name, ShareBytes]

    def __repr__(self) -> str:
        return "Unmask(…)"

    def __rich_repr__(self) -> list[tuple[str, Any]]:
        return []


class Publish(Message, frozen=True, kw_only=True, tag="publish"):
    """The study's result, in whatever form the caller gives it, and who is to say how well it does;
    their counts are masked with one another."""

    result: Annotated[bytes, msgspec.Meta(max_length=_LARGEST_RESULT)]
    evaluators: list[Name]


class Tally(Message, frozen=True, kw_only=True, tag="tally"):
    """How many held-out points the model gets right, of how many, masked and packed."""

    counts: Annotated[bytes, msgspec.Meta(max_length=TALLY_FIELD.packed_size(TALLY_SIZE))]


class Signed(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A message under its author's signature."""

    sender: Name
    body: bytes
    signature: Bytes64


ToClient = Invite | KeyList | SealedList | SurvivorList | ConfirmationList | Publish
FromClient = Advertise | Share | Upload | Confirm | Unmask | Tally

_to_client = msgspec.msgpack.Decoder(ToClient)
_from_client = msgspec.msgpack.Decoder(FromClient)
_signed = msgspec.msgpack.Decoder(Signed)
_encode = msgspec.msgpack.Encoder(order="deterministic").encode


def encode_to_client(message: ToClient, identity: Identity | None) -> bytes:
    """A message of the server's, in a signed envelope if it has an identity. The same message
    always gives the same bytes."""
    body = _encode(message)
    if identity is None:
        return body
    return _encode(Signed(_SERVER, body, identity.sign(_signing_input(_SERVER, body, _TO_CLIENT))))


def encode_signed(message: FromClient, sender: str, identity: Identity) -> bytes:
    """A client's message in its signed envelope."""
    body = _encode(message)
    return _encode(Signed(sender, body, identity.sign(_signing_input(sender, body))))


def decode_to_client(raw: bytes, study: Agreement, result_expected: bool = True) -> ToClient:
    """A message from the server, checked against the study. Only a result may be large."""
    limit = (_LARGEST_RESULT if result_expected else 0) + _small(study)
    if study.coordinator is not None:
        envelope = _decode(_signed, raw, limit)
        verify(
            study.coordinator,
            _signing_input(envelope.sender, envelope.body, _TO_CLIENT),
            envelope.signature,
        )
        raw = envelope.body
    message = _decode(_to_client, raw, limit)
    _check_study(message, study)
    return message


def decode_signed(
    raw: bytes, study: Agreement, session: bytes, largest_upload: int = 0
) -> tuple[str, FromClient]:
    """Sender and message of an envelope, its signature checked against the roster. Only an upload
    may be large: so many bytes of it are its vector."""
    envelope = _decode(_signed, raw, largest_upload + _small(study))
    if envelope.sender not in study.clients:
        raise BadIdentity(f"{envelope.sender!r} is not on the study's roster")
    verify(
        study.clients[envelope.sender],
        _signing_input(envelope.sender, envelope.body),
        envelope.signature,
    )
    message = _decode(_from_client, envelope.body, len(envelope.body))
    _check_study(message, study)
    if message.session != session:
        raise BadMessage(f"a message from {envelope.sender!r} belongs to another session")
    return envelope.sender, message


def _small(study: Agreement) -> int:
    """The size of a message that holds a few hundred bytes for each client."""
    return _OVERHEAD + _OVERHEAD_PER_CLIENT * len(study.clients)


def _decode(decoder: "msgspec.msgpack.Decoder[T]", raw: bytes, limit: int) -> T:
    if len(raw) > limit:
        raise BadMessage(f"a message has {len(raw)} bytes, but at most {limit} are possible")
    try:
        return decoder.decode(raw)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError):
        # msgspec's own words may quote the message
        raise BadMessage("a message is damaged or does not belong to this protocol") from None


def _check_study(message: Message, study: Agreement) -> None:
    if message.study != study.hash:
        raise BadMessage(
            "a message belongs to another study file; all participants must hold the same one"
        )


def _signing_input(sender: str, body: bytes, domain: bytes = _FROM_CLIENT) -> bytes:
    return digest(domain, sender.encode(), body)
