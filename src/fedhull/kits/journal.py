"""What a site needs in order to take a session up again in another process."""

import secrets
from typing import Annotated

import msgspec

from fedhull.errors import InvalidInput

# Where an engine that has no memory of its own keeps it, in a run's results.
JOURNAL = "session.secret"
Count = Annotated[int, msgspec.Meta(ge=0)]


class Journal(msgspec.Struct, forbid_unknown_fields=True):
    """The root of the session's randomness, and the messages it has accepted so far. Where a study
    has several sums, `checkpoint` is what the last one ended with, and only the messages since are
    kept. `uploads` counts the sums that the site has uploaded to, `published` the publications that
    it has been given.

    It is as secret as the session itself: whoever has it and the identity key can unmask the site's
    upload. It is kept until the session is over and no longer.
    """

    root: Annotated[bytes, msgspec.Meta(min_length=32, max_length=32)] = msgspec.field(
        default_factory=lambda: secrets.token_bytes(32)
    )
    accepted: list[bytes] = []
    checkpoint: bytes | None = None
    uploads: Count = 0
    published: Count = 0

    def note(self, message: bytes, upload: bool = False, publication: bool = False) -> None:
        """Keep an accepted message."""
        self.accepted = [*self.accepted, message]
        self.uploads += upload
        self.published += publication

    def close_sum(self, checkpoint: bytes) -> None:
        """Keep what a sum has ended with instead of its messages."""
        self.accepted, self.checkpoint = [], checkpoint

    def to_bytes(self) -> bytes:
        """For a private file or an engine's memory."""
        return msgspec.msgpack.encode(self)

    @classmethod
    def from_bytes(cls, raw: bytes) -> "Journal":
        """The inverse of `to_bytes`."""
        try:
            return msgspec.msgpack.decode(raw, type=cls)
        except (msgspec.MsgspecError, ValueError, RecursionError):  # ValueError: not UTF-8
            raise InvalidInput(
                "the session's journal is damaged; start a new session with --again"
            ) from None

    def __repr__(self) -> str:
        return f"Journal(accepted={len(self.accepted)})"

    def __rich_repr__(self) -> list[tuple[str, int]]:
        return [("accepted", len(self.accepted))]
