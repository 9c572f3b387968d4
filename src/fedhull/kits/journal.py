"""A site's journal, from which another process can resume its session."""

import secrets
from typing import Annotated

import msgspec

from fedhull.kits.files import decoded

# In a run's results, for engines without a memory of their own.
JOURNAL = "session.secret"
Count = Annotated[int, msgspec.Meta(ge=0)]


class Journal(msgspec.Struct, forbid_unknown_fields=True):
    """The root of the session's randomness and the messages accepted so far: after the first round
    a `checkpoint`, and the messages since. `uploads` counts the rounds uploaded to, `published` the
    publications received.

    With it and the identity key, anybody can unmask the site's upload: it is deleted when the
    session ends.
    """

    root: Annotated[bytes, msgspec.Meta(min_length=32, max_length=32)] = msgspec.field(
        default_factory=lambda: secrets.token_bytes(32)
    )
    accepted: list[bytes] = []
    checkpoint: bytes | None = None
    uploads: Count = 0
    published: Count = 0

    def note(self, message: bytes, upload: bool = False, publication: bool = False) -> None:
        """Add an accepted message."""
        self.accepted = [*self.accepted, message]
        self.uploads += upload
        self.published += publication

    def close_round(self, checkpoint: bytes) -> None:
        """Replace a round's messages by what it ended with."""
        self.accepted, self.checkpoint = [], checkpoint

    def to_bytes(self) -> bytes:
        """Encode for a private file or an engine's memory."""
        return msgspec.msgpack.encode(self)

    @classmethod
    def from_bytes(cls, raw: bytes) -> "Journal":
        """Decode what `to_bytes` encoded."""
        complaint = "the session's journal is damaged; start a new session with --again"
        return decoded(raw, cls, complaint, msgspec.msgpack.decode)

    def __repr__(self) -> str:
        return f"Journal(accepted={len(self.accepted)})"

    def __rich_repr__(self) -> list[tuple[str, int]]:
        return [("accepted", len(self.accepted))]
