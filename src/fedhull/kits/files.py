"""Files of a kit: a lock that one process holds, and content whose damage is seen before use."""

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import monotonic, sleep
from typing import Any, TypeVar

import msgspec

from fedhull.disk import read_bytes, write_bytes
from fedhull.errors import InvalidInput

_POLL_SECONDS = 0.02

T = TypeVar("T")


@contextmanager
def locked(path: Path, wait: float = 0.0) -> Iterator[bool]:
    """Try for `wait` seconds to lock a file, and say whether this process holds it. The system
    releases it when the process ends."""
    deadline = monotonic() + wait
    with path.open("w") as file:
        while not (mine := _lock(file)) and monotonic() < deadline:
            sleep(_POLL_SECONDS)
        yield mine


def _lock(file: object) -> bool:
    import fcntl  # not on Windows

    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)  # type: ignore[arg-type]
    except OSError:
        return False
    return True


def write_checked(path: Path, content: bytes) -> None:
    """Write a file that begins with its content's hash and that only its owner can read."""
    write_bytes(path, hashlib.sha256(content).digest() + content, mode=0o600)


def read_checked(path: Path) -> bytes:
    """Read a file of `write_checked`; InvalidInput if it has changed."""
    raw = read_bytes(path)
    if hashlib.sha256(raw[32:]).digest() != raw[:32]:
        raise InvalidInput(f"{path} is damaged; bring it back from a backup")
    return raw[32:]


def decoded(raw: bytes, kind: type[T], complaint: str, decode: Any = msgspec.json.decode) -> T:
    """Decode a file's content, or refuse it with a complaint."""
    try:
        return decode(raw, type=kind)
    except (msgspec.MsgspecError, ValueError, RecursionError):  # ValueError: not UTF-8
        raise InvalidInput(complaint) from None
