"""The folder of messages that people carry or sync.

    mail/SITE/1-advertise.request      from the coordinator, for SITE
    mail/SITE/1-advertise.reply        from SITE
    …
    mail/SITE/7-propose.request        candidates to judge, in studies with a ballot
    mail/SITE/8-publish.request        the outcome
    …

A study of several rounds repeats the steps for each, in one numbering; only the last round has
candidates.

Every file has its length and hash, which reveal a half-copied one. Requests are signed by the
coordinator, replies by the site. No file ever changes: a second copy is the same, a late one is not
read.
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
    """A folder, and the steps of each round whose messages lie there."""

    folder: Path
    steps: tuple[tuple[str, ...], ...] = (tuple(STEPS),)

    @classmethod
    def of(cls, folder: Path, task: Task) -> "Mail":
        """The mail of a study with this task."""
        return cls(folder, tuple(task.steps_of(number) for number in range(1, task.sums + 1)))

    def step_number(self, kind: str, number: int) -> int:
        """Number of a step of round `number`, from 1, counted through all rounds."""
        before = sum(map(len, self.steps[: number - 1]))
        return before + self.steps[number - 1].index(kind) + 1

    def path(self, name: str, kind: str, what: str, number: int = 1) -> Path:
        """Path of a request or reply of round `number`."""
        return self.folder / name / f"{self.step_number(kind, number)}-{kind}.{what}"

    def describe(self, kind: str, number: int) -> str:
        """A step of round `number` in words."""
        rounds, total = len(self.steps), sum(map(len, self.steps))
        of_round = "" if rounds == 1 else f", round {number} of {rounds}"
        return f"{kind} (step {self.step_number(kind, number)} of {total}{of_round})"

    def to_carry(self, name: str, kind: str, what: str, number: int = 1) -> dict[str, str]:
        """A message with its sender and receiver, for scripts."""
        ends = (COORDINATOR, name) if what == "request" else (name, COORDINATOR)
        file = str(self.path(name, kind, what, number))
        return {"file": file, "from": ends[0], "to": ends[1]}


def mail_folder(kit: Kit, named: Path | None) -> Path:
    """Folder of a kit's messages: the `named` one, or that of earlier calls."""
    noted = kit.folder / MAIL_ELSEWHERE
    if named is None and noted.is_file():
        place = read_text(noted)
        check_visible(place, f"the folder in {noted}")  # no file can have a NUL in its name
        return Path(place)
    return named or kit.folder / "mail"


def note_folder(kit: Kit, named: Path | None) -> None:
    """Remember a named folder for later calls."""
    if named is not None:
        write_text(kit.folder / MAIL_ELSEWHERE, str(named.resolve()))


def wrap(path: Path, message: bytes) -> None:
    """Write a message to a file, with its length and hash."""
    path.parent.mkdir(parents=True, exist_ok=True)
    head = _MAGIC + len(message).to_bytes(8, "big") + hashlib.sha256(message).digest()
    write_bytes(path, head + message)


def unwrap(path: Path) -> bytes:
    """Read a message, if all of it has arrived."""
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
