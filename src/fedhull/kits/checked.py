"""Private files that begin with the hash of their content: damage to them is seen before use."""

import hashlib
from pathlib import Path

from fedhull.disk import read_bytes, write_bytes
from fedhull.errors import InvalidInput

_HASH_BYTES = 32


def write_checked(path: Path, content: bytes) -> None:
    """Write a file that only its owner can read."""
    write_bytes(path, hashlib.sha256(content).digest() + content, mode=0o600)


def read_checked(path: Path) -> bytes:
    """What `write_checked` has written there; InvalidInput if it is something else by now."""
    raw = read_bytes(path)
    expected, content = raw[:_HASH_BYTES], raw[_HASH_BYTES:]
    if hashlib.sha256(content).digest() != expected:
        raise InvalidInput(f"{path} is damaged; bring it back from a backup")
    return content
