"""The ledger: which data this person has uploaded from this machine, from whichever kit.

Two sums that differ by one site are that site's part. A journal or an audit log can be rolled back
or copied with its kit; the ledger lies apart from all kits, in $XDG_STATE_HOME/fedhull, by default
~/.local/state/fedhull. It is written before an upload leaves, or nothing leaves.
"""

import os
from collections.abc import Collection
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

import msgspec

from fedhull.disk import read_bytes, write_bytes
from fedhull.errors import InvalidInput, NoConsent, OutOfTurn
from fedhull.kits.fingerprint import shared

LEDGER = "ledger.json"
# Of all cells of two data sets together, the share in both from which they count as the same data.
_SAME = 0.25
_LOCK_SECONDS = 10.0


class Upload(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A session in which data were uploaded: to how many sums, when first, in which study and kit.
    `session` is the number of the consent, `product` what the sums were for, `file` the SHA-256 of
    the data file, `cells` the fingerprint of the data."""

    session: str
    time: str
    study: str
    study_hash: str
    kit: str
    product: str
    file: str
    cells: str
    sums: int = 1

    def __repr__(self) -> str:
        return f"Upload({self.study!r}, {self.time})"

    def has_data_of(self, other: "Upload") -> bool:
        """Whether both are about the same data, or about many of the same cells, and about sums
        that can be subtracted."""
        alike = self.file == other.file or shared(self.cells, other.cells) >= _SAME
        return alike and self.product == other.product


class _Ledger(msgspec.Struct, forbid_unknown_fields=True):
    version: Literal[1] = 1
    uploads: list[Upload] = []


def ledger_file() -> Path:
    """Where the ledger of this person on this machine lies."""
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
    """All that the ledger holds; nothing if there is none yet."""
    return _read(ledger_file()).uploads


def sums_of(session: str) -> int:
    """To how many sums this session has uploaded."""
    return next((each.sums for each in uploads() if each.session == session), 0)


def earlier(upload: Upload) -> list[Upload]:
    """Other sessions in which these data were uploaded."""
    return _others(upload, uploads())


def record(upload: Upload, agreed: Collection[str]) -> None:
    """Note an upload, `upload.sums` being the number of the sum that it goes into, before it
    leaves: NoConsent if these data were uploaded in other sessions than those `agreed` to,
    OutOfTurn if this session has already uploaded to this sum. Whatever goes wrong, the upload must
    not leave."""
    from fedhull.kits.lock import locked  # not on Windows

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
            f"there before they leave, so nothing was uploaded"
        ) from None


def refusal(before: Upload) -> str:
    """What a person is told whose data were uploaded before."""
    return (
        f"these data, or many of the same cells, were uploaded on {before.time} in the study "
        f"{before.study!r} ({before.study_hash[:12]}…), from {before.kit}. A second session makes "
        f"a second sum: whoever has two sums over different sites can subtract them, and what "
        f"remains may be your part alone. If only the result of that session is missing, "
        f"'fedhull client {before.kit} --fetch' brings it; if the coordinator has told you why a "
        f"second session is needed and you agree to one more, use --again"
    )


def _with(ledger: _Ledger, upload: Upload, agreed: Collection[str]) -> _Ledger:
    """The ledger with one upload more, if it may be made."""
    for other in _others(upload, ledger.uploads):
        if other.session not in agreed:
            raise NoConsent(refusal(other))
    same = [each for each in ledger.uploads if each.session == upload.session]
    if upload.sums != sum(each.sums for each in same) + 1:
        raise OutOfTurn(twice(ledger_file()))
    now = datetime.now(UTC).isoformat(timespec="seconds")
    first = same[0] if same else msgspec.structs.replace(upload, time=now)
    rest = [each for each in ledger.uploads if each.session != upload.session]
    return _Ledger(uploads=[*rest, msgspec.structs.replace(first, sums=upload.sums)])


def twice(witness: Path) -> str:
    """What is said of a session that would upload to the same sum again."""
    return (
        f"this session has already uploaded, as {witness} shows: its journal is an old copy, or "
        f"the site was stopped while it uploaded. Nothing is uploaded a second time; "
        f"'fedhull client KIT --fetch' brings the result, and a new session needs --again"
    )


def _others(upload: Upload, known: list[Upload]) -> list[Upload]:
    return [each for each in known if each.session != upload.session and each.has_data_of(upload)]


def _read(path: Path) -> _Ledger:
    if not path.exists():
        return _Ledger()
    try:
        return msgspec.json.decode(read_bytes(path), type=_Ledger)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        raise InvalidInput(
            f"{path} is damaged, and without it nobody can tell whether data were uploaded before; "
            f"nothing is uploaded. Bring it back from a backup, or, if you know of all earlier "
            f"uploads, put it aside"
        ) from None


def _write(path: Path, ledger: _Ledger) -> None:
    write_bytes(path, msgspec.json.format(msgspec.json.encode(ledger), indent=1), mode=0o600)
    # the name too must be on disk before the upload leaves
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
