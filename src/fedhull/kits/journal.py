"""What a site needs in order to take a session up again in another process."""

import secrets

import msgspec

from fedhull.errors import InvalidInput


class Journal(msgspec.Struct, forbid_unknown_fields=True):
    """The root of the session's randomness, and the messages it has accepted so far. Where a study
    has several sessions, `checkpoint` is what the last one ended with, and only the messages since
    are kept.

    It is as secret as the session itself: whoever has it and the identity key can unmask the site's
    upload. It is kept until the session is over and no longer.
    """

    root: bytes = msgspec.field(default_factory=lambda: secrets.token_bytes(32))
    accepted: list[bytes] = []
    checkpoint: bytes | None = None

    def note(self, message: bytes, checkpoint: bytes | None) -> None:
        """Keep an accepted message, or what it has ended with."""
        self.accepted = [] if checkpoint else [*self.accepted, message]
        self.checkpoint = checkpoint or self.checkpoint

    def to_bytes(self) -> bytes:
        """For a private file or an engine's memory."""
        return msgspec.msgpack.encode(self)

    @classmethod
    def from_bytes(cls, raw: bytes) -> "Journal":
        """The inverse of `to_bytes`."""
        try:
            return msgspec.msgpack.decode(raw, type=cls)
        except msgspec.MsgspecError:
            raise InvalidInput(
                "the session's journal is damaged; start a new session with --again"
            ) from None

    def __repr__(self) -> str:
        return f"Journal(accepted={len(self.accepted)})"

    def __rich_repr__(self) -> list[tuple[str, int]]:
        return [("accepted", len(self.accepted))]
