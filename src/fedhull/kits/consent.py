"""Consent: one person's agreement to send, for one session.

What would leave is worked out when the person is asked, and waits in the kit for the session. The
consent binds it, and the data file, by their hashes. Consent to a second session over the same data
names the sessions before it, and covers one more.
"""

import getpass
import hashlib
import platform
import secrets
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import msgspec

from fedhull.disk import read_bytes, write_bytes, write_json
from fedhull.errors import InvalidInput, NoConsent
from fedhull.kits import ledger
from fedhull.kits.files import decoded
from fedhull.kits.fingerprint import fingerprint
from fedhull.kits.kit import RESULTS, Kit
from fedhull.study.task import Holdings, Source
from fedhull.text import readable_time

CONSENT, HOLDINGS, RECEIPT = "consent.json", "holdings.bin", "receipt.bin"


class Consent(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Consent to a study over a file: `by` is the name that was typed, `user` and `host` the
    account and machine. `holdings` is the SHA-256 of what would leave and the cells behind it,
    `file` the data file's, `cells` the data's fingerprint. `session` numbers the consent and its
    session; `after` are the sessions that the person knew of."""

    study: str
    data: str
    label: str
    layer: str | None
    donor: str | None = None
    names: str | None = None
    holdings: str
    file: str
    given_at: str
    by: str = ""
    user: str = ""
    host: str = ""
    cells: str = ""
    session: str = ""
    after: list[str] = []

    @property
    def signature(self) -> str:
        """The person, place and time, in words."""
        where = f" (account {self.user} on {self.host})" if self.user else ""
        return f"{self.by}{where}, {readable_time(self.given_at)}" if self.by else ""

    @property
    def source(self) -> Source:
        """The data that the consent is about."""
        return Source(self.data, self.label, self.layer, self.donor, self.names)

    def upload(self, kit: Kit, rounds: int = 1) -> ledger.Upload:
        """The ledger's entry for an upload under this consent."""
        return ledger.Upload(
            session=self.session,
            time=self.given_at,
            study=kit.study.name,
            study_hash=self.study,
            kit=str(kit.folder),
            product=kit.task.product,
            file=self.file,
            cells=self.cells,
            rounds=rounds,
        )


def earlier_uploads(kit: Kit, source: Source, holdings: Holdings) -> list[ledger.Upload]:
    """The earlier sessions with these data, of which the person must be told."""
    return ledger.earlier(_new_consent(kit, source, holdings, given_at="").upload(kit))


def give(
    kit: Kit,
    source: Source,
    holdings: Holdings,
    given_at: str,
    after: Sequence[ledger.Upload] = (),
    by: str = "",
) -> Consent:
    """Write a consent and its holdings for the session to find. `after` are the earlier uploads
    that the person was told of, `by` is the person's name."""
    kit.check_valid()
    forget_sessions(kit)
    consent = msgspec.structs.replace(
        _new_consent(kit, source, holdings, given_at),
        after=[upload.session for upload in after],
        by=by or account(),
        user=account(),
        host=platform.node(),
    )
    write_bytes(kit.folder / HOLDINGS, holdings.to_bytes(), mode=0o600)
    write_json(kit.folder / CONSENT, msgspec.to_builtins(consent), mode=0o600)
    return consent


def waits(kit: Kit, source: Source | None) -> bool:
    """True if an unused consent is there; with a source, over those data."""
    try:
        unused = read(kit.folder / CONSENT)
    except InvalidInput:  # none, or a damaged one, which a new one replaces
        return False
    return source is None or unused.source == _resolved(source)


def account() -> str:
    """Name of the account that this process runs under, if it has one."""
    try:
        return getpass.getuser()
    except (ImportError, KeyError, OSError):  # in a container, numbers may have no names
        return ""


def use(kit: Kit, results: Path) -> Holdings:
    """Take the consent, so that it serves no second session, and load its holdings."""
    kit.check_valid()
    own = results / CONSENT
    if not own.exists():  # a resumed session already has its consent
        try:
            # a rename succeeds for one session only, however many start at once
            (kit.folder / CONSENT).rename(own)
            (kit.folder / HOLDINGS).rename(results / HOLDINGS)
        except FileNotFoundError:
            raise NoConsent(
                "nobody at this site has agreed to a session; 'fedhull client' shows what would "
                "leave and asks"
            ) from None
    holdings = covered(kit, results)
    consent = read(own)
    if _file_hash(consent.data) != consent.file:
        raise NoConsent(
            f"the data have changed since the consent was given: {consent.data} is now another "
            f"file; run 'fedhull client' again"
        )
    return holdings


def covered(kit: Kit, results: Path) -> Holdings:
    """Load the holdings of a consent that a session has taken."""
    consent = read(results / CONSENT)
    if consent.study != kit.study.hash.hex():
        raise NoConsent("the consent was given for another study file")
    prepared = read_bytes(results / HOLDINGS)
    if hashlib.sha256(prepared).hexdigest() != consent.holdings:
        raise NoConsent(
            f"{results / HOLDINGS} is not what the consent was given for; agree to it again"
        )
    return kit.task.holdings_from_bytes(prepared)


def withdraw(kit: Kit) -> None:
    """Take back an unused consent."""
    (kit.folder / CONSENT).unlink(missing_ok=True)
    (kit.folder / HOLDINGS).unlink(missing_ok=True)


def forget_holdings(kit: Kit) -> None:
    """Delete cells left by earlier sessions, unless a result may still be fetched with them."""
    for path in (kit.folder / RESULTS).glob(f"*/{HOLDINGS}"):
        if not path.with_name(RECEIPT).exists():
            path.unlink()


def forget_sessions(kit: Kit) -> None:
    """Give up on the results of earlier sessions."""
    for name in (HOLDINGS, RECEIPT):
        for path in (kit.folder / RESULTS).glob(f"*/{name}"):
            path.unlink()


def read(path: Path) -> Consent:
    """Read a consent."""
    complaint = f"{path} is damaged; run 'fedhull client' again"
    return decoded(read_bytes(path), Consent, complaint)


def _new_consent(kit: Kit, source: Source, holdings: Holdings, given_at: str) -> Consent:
    return Consent(
        study=kit.study.hash.hex(),
        **vars(_resolved(source)),
        holdings=hashlib.sha256(holdings.to_bytes()).hexdigest(),
        file=_file_hash(source.data),
        given_at=given_at,
        cells=fingerprint(holdings),
        session=secrets.token_hex(16),
    )


def _resolved(source: Source) -> Source:
    """The same data, by absolute paths."""
    names = None if source.names is None else str(Path(source.names).resolve())
    return replace(source, data=str(Path(source.data).resolve()), names=names)


def _file_hash(data: str) -> str:
    try:
        with Path(data).open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except (OSError, ValueError) as problem:  # ValueError: no name that a file can have
        reason = getattr(problem, "strerror", None) or "no file can have this name"
        raise InvalidInput(f"{data} cannot be read: {reason}") from None
