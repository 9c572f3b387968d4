"""The messages, version 3: MessagePack, every field typed and bounded, unknown fields refused.

    server                                      client
    Invite            ───────────────────────▶
                      ◀───────────────────────  Advertise      fresh public keys
    KeyList           ───────────────────────▶
                      ◀───────────────────────  Share          sealed, for holders and witnesses
    SealedList        ───────────────────────▶
                      ◀───────────────────────  Announce       what it has seen; a witness: shares
    Size              ───────────────────────▶
                      ◀───────────────────────  Upload         masked vector, once
    SurvivorList      ───────────────────────▶
                      ◀───────────────────────  Confirm        signs who is there
    ConfirmationList  ───────────────────────▶
                      ◀───────────────────────  Unmask         shares
    Propose           ───────────────────────▶  (if the study has a ballot)
                      ◀───────────────────────  Answer         masked numbers, once
    Publish           ───────────────────────▶
                      ◀───────────────────────  Answer         masked numbers, once

A study has one such session for each of its sums, each under fresh keys. `graph` says who shares
masks with whom, who holds whose shares, and who bears witness. A list of clients is a bit for each
seat of the roster.

What a client says travels in a `Signed` envelope under its identity key; what the server says does
too, if the study names the coordinator's key. Every message has one form only: bytes that decode to
a message but are not what encoding it gives are refused, and so is a message that is longer than
its kind can be.
"""

from collections.abc import Mapping
from typing import Annotated, Any, TypeVar

import msgspec

from fedhull.errors import BadIdentity, BadMessage
from fedhull.protocol.agreement import Agreement, Name
from fedhull.protocol.dealing import COUNT_BYTES, largest_sealed
from fedhull.protocol.keys import VERSION, Identity, digest, verify
from fedhull.protocol.shares import SHARE_BYTES

T = TypeVar("T")
S = TypeVar("S", bound="Message")
# What surrounds the payload of a message: kind, study, session, envelope, signature.
_OVERHEAD = 500
# A name of 64 characters, and what stands around an entry of a list.
_OVERHEAD_PER_ENTRY = 80
_LARGEST_RESULT = 64_000_000
# What a signature is over besides the message, so that none can be passed off as the other kind.
_FROM_CLIENT, _TO_CLIENT, _SERVER = b"fedhull message", b"fedhull server message", "server"

Bytes16 = Annotated[bytes, msgspec.Meta(min_length=16, max_length=16)]
Bytes32 = Annotated[bytes, msgspec.Meta(min_length=32, max_length=32)]
Bytes64 = Annotated[bytes, msgspec.Meta(min_length=64, max_length=64)]
ShareBytes = Annotated[bytes, msgspec.Meta(min_length=SHARE_BYTES, max_length=SHARE_BYTES)]
# A short message of one client's, which the server passes on to the others as it is.
SmallMessage = Annotated[bytes, msgspec.Meta(max_length=_OVERHEAD)]
Number = Annotated[int, msgspec.Meta(ge=0, le=2**40)]
Content = Annotated[bytes, msgspec.Meta(max_length=_LARGEST_RESULT)]


class Message(
    msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, tag_field="kind"
):
    """Fields of every message: the study's hash and the session."""

    version: Annotated[int, msgspec.Meta(ge=VERSION, le=VERSION)] = VERSION
    study: Bytes32
    session: Bytes16


class Invite(Message, frozen=True, kw_only=True, tag="invite"):
    """The server opens a session, the only one of its study or one of several, from 1."""

    number: Annotated[int, msgspec.Meta(ge=1, le=2**40)] = 1


class Advertise(Message, frozen=True, kw_only=True, tag="advertise"):
    """Fresh X25519 keys for channel and masks, and a commitment to the self-mask seed."""

    channel_key: Bytes32
    mask_key: Bytes32
    seed_commitment: Bytes32


class KeyList(Message, frozen=True, kw_only=True, tag="key-list"):
    """The advertisements of all whose keys the client needs, signed by their authors."""

    advertisements: dict[Name, SmallMessage]


class Share(Message, frozen=True, kw_only=True, tag="share"):
    """For each receiver that has advertised, sealed `Secrets`."""

    sealed: dict[Name, bytes]


class SealedList(Message, frozen=True, kw_only=True, tag="sealed-list"):
    """The participants, a digest of their keys, and their sealed messages to this client."""

    participants: bytes
    keys: Bytes32
    sealed: dict[Name, bytes]


class Announce(Message, frozen=True, kw_only=True, tag="announce"):
    """A digest of what the client has seen. From a witness also, of each number that is announced,
    the sum of the shares that it holds of the participants' numbers: a share of their total."""

    view: Bytes32
    shares: bytes


class Size(Message, frozen=True, kw_only=True, tag="size"):
    """The totals of what participants have announced, and enough witnesses' shares of them, signed
    by their authors, for every client to restore the totals itself. And the fingerprints of all
    participants' advertisements, in which it looks up those that it was shown."""

    totals: list[Number]
    fingerprints: bytes
    announcements: dict[Name, bytes]


class Upload(Message, frozen=True, kw_only=True, tag="upload"):
    """The masked vector, packed, and a digest of what the client saw before it made it."""

    view: Bytes32
    vector: bytes


class SurvivorList(Message, frozen=True, kw_only=True, tag="survivor-list"):
    """The clients whose uploads the server will sum."""

    survivors: bytes


class Confirm(Message, frozen=True, kw_only=True, tag="confirm"):
    """Digests of what the client saw and of the survivors; it gives shares for no other list."""

    view: Bytes32
    survivors: Bytes32


class ConfirmationList(Message, frozen=True, kw_only=True, tag="confirmation-list"):
    """The witnesses' confirmations, signed by their authors."""

    confirmations: dict[Name, SmallMessage]


class Unmask(Message, frozen=True, kw_only=True, tag="unmask"):
    """Shares of the survivors' seeds and of the vanished clients' mask keys, never both of one."""

    seed_shares: dict[Name, ShareBytes]
    key_shares: dict[Name, ShareBytes]

    def __repr__(self) -> str:
        return "Unmask(…)"

    def __rich_repr__(self) -> list[tuple[str, Any]]:
        return []


class Propose(Message, frozen=True, kw_only=True, tag="propose"):
    """Candidates to choose from, the same for all, and who is asked to judge them."""

    content: Content
    asked: bytes


class Publish(Message, frozen=True, kw_only=True, tag="publish"):
    """The study's result, the same for all, and who is asked how well it does."""

    content: Content
    asked: bytes


class Answer(Message, frozen=True, kw_only=True, tag="answer"):
    """A client's answer to a proposal or a publication: numbers, packed, under masks that cancel
    only among those who were asked and were shown the same."""

    numbers: bytes


class Signed(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A message under its author's signature."""

    sender: Name
    body: bytes
    signature: Bytes64


ToClient = (
    Invite | KeyList | SealedList | Size | SurvivorList | ConfirmationList | Propose | Publish
)
FromClient = Advertise | Share | Announce | Upload | Confirm | Unmask | Answer

_to_client = msgspec.msgpack.Decoder(ToClient)
_from_client = msgspec.msgpack.Decoder(FromClient)
_signed = msgspec.msgpack.Decoder(Signed)
_encode = msgspec.msgpack.Encoder(order="deterministic").encode


def encode_to_client(message: ToClient, identity: Identity | None) -> bytes:
    """A message of the server's, signed if it has an identity; always the same bytes."""
    body = _encode(message)
    if identity is None:
        return body
    return _encode(Signed(_SERVER, body, identity.sign(_signing_input(_SERVER, body, _TO_CLIENT))))


def encode_signed(message: FromClient, sender: str, identity: Identity) -> bytes:
    """A client's message in its signed envelope."""
    body = _encode(message)
    return _encode(Signed(sender, body, identity.sign(_signing_input(sender, body))))


def decode_to_client(
    raw: bytes, study: Agreement, content_expected: bool = True, numbers: int = 1
) -> ToClient:
    """A checked message from the server. Only proposals and results may be large."""
    limit = largest_to_client(study, numbers) - (0 if content_expected else _LARGEST_RESULT)
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


def published_content(raw: bytes, study: Agreement) -> bytes:
    """The content of a publication, for a site that has missed the end of its session."""
    message = decode_to_client(raw, study)
    if not isinstance(message, Publish):
        raise BadMessage("this is not what the coordinator has published")
    return message.content


def decode_signed(
    raw: bytes, study: Agreement, session: bytes, limit: int = _OVERHEAD
) -> tuple[str, FromClient]:
    """Sender and message of an envelope of at most `limit` bytes, signed as the roster says."""
    envelope = _decode(_signed, raw, limit)
    if envelope.sender not in study.clients:
        raise BadIdentity(f"{envelope.sender!r} is not on the study's roster")
    verify(
        study.clients[envelope.sender],
        _signing_input(envelope.sender, envelope.body),
        envelope.signature,
    )
    message = _decode(_from_client, envelope.body, limit)
    _check_study(message, study)
    if message.session != session:
        raise BadMessage(f"a message from {envelope.sender!r} belongs to another session")
    return envelope.sender, message


def decode_entries(
    entries: Mapping[str, bytes],
    kind: type[S],
    study: Agreement,
    session: bytes,
    limit: int = _OVERHEAD,
) -> dict[str, S]:
    """The messages of {author: signed message}, each of this kind and its author's own."""
    decoded: dict[str, S] = {}
    for name, raw in entries.items():
        sender, message = decode_signed(raw, study, session, limit)
        if sender != name or not isinstance(message, kind):
            raise BadMessage(f"what the server passes on as the {tag_of(kind)} of {name!r} is none")
        decoded[name] = message
    return decoded


def size_limit(kind: type, study: Agreement, payload: int, numbers: int = 1) -> int:
    """Maximum length of a client's message; `payload` is the size of its vector."""
    if kind is Share:
        return list_limit(study, largest_sealed(numbers))
    if kind is Unmask:
        return list_limit(study, SHARE_BYTES)
    if kind is Announce:
        return _OVERHEAD + numbers * COUNT_BYTES
    return _OVERHEAD + (payload if kind in (Upload, Answer) else 0)


def largest_to_client(study: Agreement, numbers: int = 1) -> int:
    """Maximum length of a message of the server's."""
    return _LARGEST_RESULT + list_limit(study, _OVERHEAD + numbers * (COUNT_BYTES + 9))


def list_limit(study: Agreement, entry: int) -> int:
    """Maximum length of a message with an entry of this many bytes for each client."""
    return _OVERHEAD + (_OVERHEAD_PER_ENTRY + entry) * len(study.clients)


def _decode(decoder: "msgspec.msgpack.Decoder[T]", raw: bytes, limit: int) -> T:
    if len(raw) > limit:
        raise BadMessage(f"a message has {len(raw)} bytes, but at most {limit} are possible")
    try:
        message = decoder.decode(raw)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError):
        # msgspec's own words may quote the message
        raise BadMessage("a message is damaged or does not belong to this protocol") from None
    if _encode(message) != raw:
        raise BadMessage("a message is not in the one form that its content has")
    return message


def _check_study(message: Message, study: Agreement) -> None:
    if message.study != study.hash:
        raise BadMessage(
            "a message belongs to another study file; all participants must hold the same one"
        )


def tag_of(kind: type[Message]) -> str:
    """The tag of a kind of message."""
    return str(kind.__struct_config__.tag)


def _signing_input(sender: str, body: bytes, domain: bytes = _FROM_CLIENT) -> bytes:
    return digest(domain, sender.encode(), body)
