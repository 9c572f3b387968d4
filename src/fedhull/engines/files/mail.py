"""The folder of messages that people carry or sync.

    mail/SITE/1-advertise.request      from the coordinator, for SITE
    mail/SITE/1-advertise.reply        from SITE
    …
    mail/SITE/7-propose.request        candidates to judge, in studies with a ballot
    mail/SITE/8-publish.request        what has come of it
    …

A study of several sums goes through the same steps for each, in one numbering; candidates are
proposed after the last sum only.

Every file names its length and hash, so that one that is half copied is seen to be; requests are
signed by the coordinator, replies by the site. Nothing in the folder is ever changed: a file that
arrives twice is the same file, one that arrives late is not read any more.
"""

import hashlib
from dataclasses import dataclass
from pathlib import Path

from fedhull.disk import read_bytes, read_text, write_bytes, write_text
from fedhull.errors import InvalidInput
from fedhull.kits.kit import MAIL_ELSEWHERE, Kit
from fedhull.protocol.drive import STEPS
from fedhull.study.task import Task
from fedhull.text import check_visible

COORDINATOR = "coordinator"
_MAGIC = b"fedhull file 1\n"


@dataclass(frozen=True)
class Mail:
    """A folder, and the steps of each sum of the study whose messages lie there."""

    folder: Path
    steps: tuple[tuple[str, ...], ...] = (tuple(STEPS),)

    @classmethod
    def of(cls, folder: Path, task: Task) -> "Mail":
        """The mail of a study with this task."""
        return cls(folder, tuple(task.steps_of(number) for number in range(1, task.sums + 1)))

    @property
    def sums(self) -> int:
        """How many sums the study has."""
        return len(self.steps)

    @property
    def total(self) -> int:
        """How many steps all sums have together."""
        return sum(map(len, self.steps))

    def step_number(self, kind: str, number: int) -> int:
        """Steps are counted through all sums of a study; this one is of sum `number`, from 1."""
        before = sum(map(len, self.steps[: number - 1]))
        return before + self.steps[number - 1].index(kind) + 1

    def path(self, name: str, kind: str, what: str, number: int = 1) -> Path:
        """Where the request or the reply of a step of sum `number` lies."""
        return self.folder / name / f"{self.step_number(kind, number)}-{kind}.{what}"

    def describe(self, kind: str, number: int) -> str:
        """A step of sum `number` in words."""
        of_sum = "" if self.sums == 1 else f", sum {number} of {self.sums}"
        return f"{kind} (step {self.step_number(kind, number)} of {self.total}{of_sum})"

    def to_carry(self, name: str, kind: str, what: str, number: int = 1) -> dict[str, str]:
        """A request or a reply, with who has it and who needs it, for scripts."""
        ends = (COORDINATOR, name) if what == "request" else (name, COORDINATOR)
        file = str(self.path(name, kind, what, number))
        return {"file": file, "from": ends[0], "to": ends[1]}


def mail_folder(kit: Kit, named: Path | None) -> Path:
    """Where a kit's messages lie: in the folder that is `named`, or in that of earlier calls."""
    noted = kit.folder / MAIL_ELSEWHERE
    if named is None and noted.is_file():
        place = read_text(noted)
        check_visible(place, f"the folder in {noted}")  # no file can have a NUL in its name
        return Path(place)
    return named or kit.folder / "mail"


def note_folder(kit: Kit, named: Path | None) -> None:
    """Remember a folder that was named, so that later calls and `fedhull status` find it."""
    if named is not None:
        write_text(kit.folder / MAIL_ELSEWHERE, str(named.resolve()))


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
