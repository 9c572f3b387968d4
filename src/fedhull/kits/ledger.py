"""The ledger: data uploaded by this person from this machine, whichever the kit.

The totals of two rounds that differ by one site give that site away. A journal or an audit log can
be rolled back or copied with its kit; the ledger lies apart, in $XDG_STATE_HOME/fedhull, by default
~/.local/state/fedhull. It is written before an upload leaves, or nothing leaves.
"""

import os
from collections.abc import Collection
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

import msgspec

from fedhull.disk import read_bytes, write_json
from fedhull.errors import InvalidInput, NoConsent, OutOfTurn
from fedhull.kits.files import decoded, locked
from fedhull.kits.fingerprint import shared

LEDGER = "ledger.json"
# Data sets that share this part of all their cells count as the same data.
_SAME = 0.25
_LOCK_SECONDS = 10.0


class Upload(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A session in which data were uploaded: to `rounds` rounds, first at `time`. `session` is the
    consent's number, `product` what the study makes, `file` the data file's SHA-256, `cells` the
    data's fingerprint."""

    session: str
    time: str
    study: str
    study_hash: str
    kit: str
    product: str
    file: str
    cells: str
    rounds: int = 1

    def __repr__(self) -> str:
        return f"Upload({self.study!r}, {self.time})"

    def has_data_of(self, other: "Upload") -> bool:
        """True if both uploads have many cells in common and their totals can be subtracted."""
        alike = self.file == other.file or shared(self.cells, other.cells) >= _SAME
        return alike and self.product == other.product


class _Ledger(msgspec.Struct, forbid_unknown_fields=True):
    version: Literal[1] = 1
    uploads: list[Upload] = []


def ledger_file() -> Path:
    """Path of this person's ledger on this machine."""
    named = os.environ.get("XDG_STATE_HOME", "")
    try:
        state = Path(named) if os.path.isabs(named) else Path.home() / ".local" / "state"
    except RuntimeError:
        raise InvalidInput(
            "this user has no home folder for the ledger of uploads, and without it nothing is "
            "uploaded; name a folder in the environment variable XDG_STATE_HOME"
        ) from None
    return state / "fedhull" / LEDGER


def uploads() -> list[Upload]:
    """All entries of the ledger."""
    return _read(ledger_file()).uploads


def rounds_of(session: str) -> int:
    """Number of rounds to which this session has uploaded."""
    return next((each.rounds for each in uploads() if each.session == session), 0)


def earlier(upload: Upload, known: list[Upload] | None = None) -> list[Upload]:
    """Other sessions in which these data were uploaded."""
    known = uploads() if known is None else known
    return [each for each in known if each.session != upload.session and each.has_data_of(upload)]


def record(upload: Upload, agreed: Collection[str]) -> None:
    """Enter an upload to round `upload.rounds` before it leaves; if this raises, it must not leave.
    NoConsent if the data were uploaded in other sessions than those `agreed` to, OutOfTurn if this
    session has already uploaded to this round."""
    path = ledger_file()
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with locked(path.with_suffix(".lock"), wait=_LOCK_SECONDS) as mine:
            if not mine:
                raise InvalidInput(
                    f"another process holds the lock of {path}, so nothing was uploaded; end it "
                    f"and start a new session"
                )
            _write(path, _with(_read(path), upload, agreed))
    except OSError as problem:
        raise InvalidInput(
            f"{problem.filename or path} cannot be written: {problem.strerror}; uploads are noted "
            f"there first, so nothing was uploaded"
        ) from None


def refusal(before: Upload) -> str:
    """The warning to a person whose data were uploaded before."""
    return (
        f"these data, or many of the same cells, were uploaded on {before.time} in the study "
        f"{before.study!r} ({before.study_hash[:12]}…), from {before.kit}. A second session makes "
        f"a second total: whoever subtracts two totals over different sites may be left with your "
        f"part alone. If only the result of that session is missing, 'fedhull client {before.kit} "
        f"--fetch' brings it; if the coordinator has told you why a second session is needed and "
        f"you agree to it, use --again"
    )


def _with(ledger: _Ledger, upload: Upload, agreed: Collection[str]) -> _Ledger:
    """Add an upload, if it is allowed."""
    for other in earlier(upload, ledger.uploads):
        if other.session not in agreed:
            raise NoConsent(refusal(other))
    same = [each for each in ledger.uploads if each.session == upload.session]
    if upload.rounds != sum(each.rounds for each in same) + 1:
        raise OutOfTurn(twice(ledger_file()))
    now = datetime.now(UTC).isoformat(timespec="seconds")
    first = same[0] if same else msgspec.structs.replace(upload, time=now)
    rest = [each for each in ledger.uploads if each.session != upload.session]
    return _Ledger(uploads=[*rest, msgspec.structs.replace(first, rounds=upload.rounds)])


def twice(witness: Path) -> str:
    """The warning about a session that would upload to the same round again."""
    return (
        f"this session has already uploaded, as {witness} shows: its journal is an old copy, or "
        f"the site was stopped during the upload. Nothing is uploaded twice; 'fedhull client KIT "
        f"--fetch' brings the result, and a new session needs --again"
    )


def _read(path: Path) -> _Ledger:
    if not path.exists():
        return _Ledger()
    complaint = (
        f"{path} is damaged, so earlier uploads are unknown and nothing is uploaded. Bring it back "
        f"from a backup, or, if you know of all earlier uploads, put it aside"
    )
    return decoded(read_bytes(path), _Ledger, complaint)


def _write(path: Path, ledger: _Ledger) -> None:
    write_json(path, msgspec.to_builtins(ledger), mode=0o600)
    # its name, too, must be on disk before the upload leaves
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
