"""The audit log: one line of JSON for each message, with its size and hash, never its content; at a
site, the first says who has agreed to what."""

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
    """A message that was sent or received; or the consent of the person `peer`, with the account
    and machine that it was given on, and what the study said it was for."""

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
        """What makes it the same message."""
        return self.peer, self.direction, self.step, self.sha256

    @property
    def is_upload(self) -> bool:
        """Whether the site has sent its part of a sum."""
        return (self.direction, self.step) == ("sent", "upload")


class AuditLog:
    """Appends to a file; every line is on disk before the message is acted on. A session that is
    taken up again does not note its earlier messages a second time."""

    def __init__(self, path: Path, study_hash: bytes):
        self.path = path
        self._study = study_hash.hex()
        self._noted = {entry.key for entry in read_audit(path)}
        self._mended = False

    def record(
        self, direction: Direction, step: str, message: bytes, peer: str, **more: str
    ) -> None:
        """Note a message that is about to be sent or has been received, or a consent, of which
        there is `more` to say."""
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
        if entry.key in self._noted:
            return
        try:
            if not self._mended:
                _drop_torn_line(self.path)
                self._mended = True
            _append(self.path, msgspec.json.encode(entry) + b"\n")
        except OSError as problem:
            raise InvalidInput(
                f"{self.path} cannot be written: {problem.strerror}; a message that is not noted "
                f"there is neither sent nor read"
            ) from None
        self._noted.add(entry.key)

    def total(self, direction: Direction) -> int:
        """How many bytes have been noted."""
        return sum(each.bytes for each in read_audit(self.path) if each.direction == direction)

    @property
    def uploads(self) -> int:
        """How many uploads have been noted as sent."""
        return sum(entry.is_upload for entry in read_audit(self.path))


def read_audit(path: Path) -> list[Entry]:
    """All messages in a log. A last line without its end was being written when the process ended:
    its message was not acted on, and it does not count."""
    if not path.exists():
        return []
    lines = read_bytes(path).split(b"\n")[:-1]
    return [_entry(line, path, number) for number, line in enumerate(lines, 1)]


def _entry(line: bytes, path: Path, number: int) -> Entry:
    try:
        return msgspec.json.decode(line, type=Entry)
    except (msgspec.MsgspecError, ValueError, RecursionError):  # ValueError: not UTF-8
        raise InvalidInput(
            f"line {number} of {path} is damaged, so that nobody can tell what this site has sent; "
            f"bring the file back from a backup, or put the folder {path.parent} aside and start a "
            f"new session with --again"
        ) from None


def _append(path: Path, line: bytes) -> None:
    # it says who has agreed, and when what was sent: for its owner
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    with os.fdopen(handle, "ab") as file:
        file.write(line)
        file.flush()
        os.fsync(file.fileno())


def _drop_torn_line(path: Path) -> None:
    """So that the next line does not go on where a process was stopped."""
    if path.exists():
        os.truncate(path, read_bytes(path).rfind(b"\n") + 1)
