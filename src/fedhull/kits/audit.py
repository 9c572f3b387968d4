"""The audit log: a line of JSON for each message, with its size and hash but not its content. At a
site, the first line says who agreed."""

import hashlib
import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Literal

import msgspec

from fedhull.disk import read_bytes
from fedhull.errors import InvalidInput

Direction = Literal["sent", "received", "agreed"]


class Entry(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A message sent or received, or the consent of the person `peer`: the account and machine on
    which it was given, and the study's stated purpose."""

    time: str
    study: str
    peer: str
    direction: Direction
    step: str
    bytes: Annotated[int, msgspec.Meta(ge=0)]
    sha256: str
    user: str = ""
    host: str = ""
    purpose: str = ""
    contact: str = ""
    valid_until: str = ""

    @property
    def key(self) -> tuple[str, str, str, str]:
        """Identity of the message."""
        return self.peer, self.direction, self.step, self.sha256

    @property
    def is_upload(self) -> bool:
        """True for the site's contribution to a round."""
        return (self.direction, self.step) == ("sent", "upload")


class AuditLog:
    """Append-only file. Every line is on disk before its message is acted on; a resumed session
    does not log its earlier messages again."""

    def __init__(self, path: Path, study_hash: bytes):
        self.path = path
        self._study = study_hash.hex()
        self._known = {entry.key for entry in read_audit(path)}
        self._torn = path.exists()

    def record(
        self, direction: Direction, step: str, message: bytes, peer: str, **more: str
    ) -> None:
        """Log a message about to be sent or just received, or a consent with `more` fields."""
        entry = Entry(
            time=datetime.now(UTC).isoformat(timespec="milliseconds"),
            study=self._study,
            peer=peer,
            direction=direction,
            step=step,
            bytes=len(message),
            sha256=hashlib.sha256(message).hexdigest(),
            **more,
        )
        if entry.key in self._known:
            return
        try:
            self._append(msgspec.json.encode(entry) + b"\n")
        except OSError as problem:
            raise InvalidInput(
                f"{self.path} cannot be written: {problem.strerror}; a message that is not logged "
                f"there is neither sent nor read"
            ) from None
        self._known.add(entry.key)

    def _append(self, line: bytes) -> None:
        if self._torn:  # perhaps: a process may have been stopped in the middle of its last line
            os.truncate(self.path, read_bytes(self.path).rfind(b"\n") + 1)
            self._torn = False
        # for its owner's eyes: it says who agreed, and what was sent when
        handle = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        with os.fdopen(handle, "ab") as file:
            file.write(line)
            file.flush()
            os.fsync(file.fileno())

    def total(self, direction: Direction) -> int:
        """Bytes logged in this direction."""
        return sum(each.bytes for each in read_audit(self.path) if each.direction == direction)

    @property
    def uploads(self) -> int:
        """Number of uploads logged as sent."""
        return sum(entry.is_upload for entry in read_audit(self.path))


def read_audit(path: Path) -> list[Entry]:
    """Read all entries of a log. An unfinished last line does not count: its message was not acted
    on."""
    if not path.exists():
        return []
    entries = []
    for number, line in enumerate(read_bytes(path).split(b"\n")[:-1], 1):
        try:
            entries.append(msgspec.json.decode(line, type=Entry))
        except (msgspec.MsgspecError, ValueError, RecursionError):  # ValueError: not UTF-8
            raise InvalidInput(
                f"line {number} of {path} is damaged, and with it the record of messages sent; "
                f"bring the file back from a backup, or put the folder {path.parent} aside and "
                f"start a new session with --again"
            ) from None
    return entries
