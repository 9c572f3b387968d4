"""The folder of messages that people carry or sync.

    mail/SITE/1-advertise.request      from the coordinator, for SITE
    mail/SITE/1-advertise.reply        from SITE
    …
    mail/SITE/7-publish.request        what has come of it
    mail/SITE/8-advertise.request      in studies with a second sum, which has the same steps
    …

Every file names its length and hash, so that one that is half copied is seen to be; requests are
signed by the coordinator, replies by the site. Nothing in the folder is ever changed: a file that
arrives twice is the same file, one that arrives late is not read any more.
"""

import hashlib
from pathlib import Path

from fedhull.disk import read_bytes, write_bytes
from fedhull.errors import InvalidInput
from fedhull.protocol.drive import STEPS

_MAGIC = b"fedhull file 1\n"


def step_number(kind: str, number: int = 1) -> int:
    """Steps are counted through all sums of a study; this one is of sum `number`, from 1."""
    return (number - 1) * len(STEPS) + STEPS.index(kind) + 1


def path_of(mail: Path, name: str, kind: str, what: str, number: int = 1) -> Path:
    """Where the request or the reply of a step of sum `number` lies."""
    return mail / name / f"{step_number(kind, number)}-{kind}.{what}"


def wrap(path: Path, message: bytes) -> None:
    """Write a message as a file that says how long it is and what its hash is."""
    path.parent.mkdir(parents=True, exist_ok=True)
    head = _MAGIC + len(message).to_bytes(8, "big") + hashlib.sha256(message).digest()
    write_bytes(path, head + message)


def unwrap(path: Path) -> bytes:
    """The message in a file, if all of it has arrived."""
    raw = read_bytes(path)
    start = len(_MAGIC) + 40
    message = raw[start:]
    length, checksum = raw[len(_MAGIC) : len(_MAGIC) + 8], raw[len(_MAGIC) + 8 : start]
    if (
        not raw.startswith(_MAGIC)
        or int.from_bytes(length, "big") != len(message)
        or hashlib.sha256(message).digest() != checksum
    ):
        raise InvalidInput(f"{path} is damaged or incomplete; copy it again")
    return message
