"""Consent: what somebody at a site has agreed to send, for one session and no more.

What would leave is worked out once, when the person is asked. It waits in the kit for the session,
bound to the consent by its hash, together with a hash of the data file: the session sends what was
shown, or nothing. A consent to a second session over the same data names the sessions before it,
and covers one more.
"""

import getpass
import hashlib
import platform
import secrets
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import msgspec

from fedhull.disk import read_bytes, write_bytes
from fedhull.errors import InvalidInput, NoConsent
from fedhull.kits import ledger
from fedhull.kits.fingerprint import fingerprint
from fedhull.kits.kit import RESULTS, Kit
from fedhull.study.task import Holdings, Source
from fedhull.text import readable_time

CONSENT, HOLDINGS, RECEIPT = "consent.json", "holdings.bin", "receipt.bin"


class Consent(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """To which study, over which file, when, and who has agreed: `by` is the name that was typed,
    `user` and `host` the account and the machine it was typed on. `holdings` is the SHA-256 of what
    would leave and of the cells behind it, `file` that of the data file, `cells` what the data are
    recognised by. `session` is the consent's number, and that of the session it serves; `after` are
    those of the sessions that the person knew of when agreeing to one more."""

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
        """Who agreed, where and when, in words."""
        where = f" (account {self.user} on {self.host})" if self.user else ""
        return f"{self.by}{where}, {readable_time(self.given_at)}" if self.by else ""

    @property
    def source(self) -> Source:
        """The data that the consent is about."""
        return Source(self.data, self.label, self.layer, self.donor, self.names)

    def upload(self, kit: Kit, sums: int = 1) -> ledger.Upload:
        """How an upload under this consent, to so many sums by now, stands in the ledger."""
        return ledger.Upload(
            session=self.session,
            time=self.given_at,
            study=kit.study.name,
            study_hash=self.study,
            kit=str(kit.folder),
            product=kit.task.product,
            file=self.file,
            cells=self.cells,
            sums=sums,
        )


def earlier_uploads(kit: Kit, source: Source, holdings: Holdings) -> list[ledger.Upload]:
    """The sessions in which these data were uploaded before, as the person is to be told."""
    return ledger.earlier(_made(kit, source, holdings, given_at="").upload(kit))


def give(
    kit: Kit,
    source: Source,
    holdings: Holdings,
    given_at: str,
    after: Sequence[ledger.Upload] = (),
    by: str = "",
) -> Consent:
    """Put the consent, and what it covers, where the session will look for them; `after` are the
    earlier uploads of these data that the person was told of, `by` is the person's name."""
    kit.check_valid()
    forget_sessions(kit)
    made = _made(kit, source, holdings, given_at)
    consent = msgspec.structs.replace(
        made,
        after=[upload.session for upload in after],
        by=by or account(),
        user=account(),
        host=platform.node(),
    )
    write_bytes(kit.folder / HOLDINGS, holdings.to_bytes(), mode=0o600)
    content = msgspec.json.format(msgspec.json.encode(consent), indent=1)
    write_bytes(kit.folder / CONSENT, content, mode=0o600)
    return consent


def waits(kit: Kit, source: Source | None) -> bool:
    """Whether somebody has agreed to a session that has not begun yet; if data are named, over
    these data."""
    try:
        given = read(kit.folder / CONSENT)
    except InvalidInput:  # none, or a damaged one, which a new one replaces
        return False
    return source is None or given.source == _resolved(source)


def account() -> str:
    """The name of the account that this process runs under, if it has one."""
    try:
        return getpass.getuser()
    except (ImportError, KeyError, OSError):  # in a container, numbers may have no names
        return ""


def use(kit: Kit, results: Path) -> Holdings:
    """Take the consent, so that it serves no second session, and load what it covers."""
    kit.check_valid()
    taken = results / CONSENT
    if not taken.exists():  # else this session, taken up again, has its consent already
        try:
            # a rename succeeds for one session only, however many start at once
            (kit.folder / CONSENT).rename(taken)
            (kit.folder / HOLDINGS).rename(results / HOLDINGS)
        except FileNotFoundError:
            raise NoConsent(
                "nobody at this site has agreed to a session; 'fedhull client' shows what would "
                "leave and asks"
            ) from None
    holdings = covered(kit, results)
    consent = read(taken)
    if _file_hash(consent.data) != consent.file:
        raise NoConsent(
            f"the data have changed since the consent was given: {consent.data} is now a different "
            f"file; run 'fedhull client' again"
        )
    return holdings


def covered(kit: Kit, results: Path) -> Holdings:
    """What the consent that a session has taken covers."""
    consent = read(results / CONSENT)
    if consent.study != kit.study.hash.hex():
        raise NoConsent("the consent was given for another study file")
    prepared = read_bytes(results / HOLDINGS)
    if hashlib.sha256(prepared).hexdigest() != consent.holdings:
        raise NoConsent(
            f"{results / HOLDINGS} is not what the consent was given for; run 'fedhull client' "
            f"again"
        )
    return kit.task.holdings_from_bytes(prepared)


def withdraw(kit: Kit) -> None:
    """Take back a consent that has not been used."""
    (kit.folder / CONSENT).unlink(missing_ok=True)
    (kit.folder / HOLDINGS).unlink(missing_ok=True)


def forget_holdings(kit: Kit) -> None:
    """Delete what earlier sessions have left of the site's cells, except where a session has
    uploaded and its result may still be fetched."""
    for left in (kit.folder / RESULTS).glob(f"*/{HOLDINGS}"):
        if not left.with_name(RECEIPT).exists():
            left.unlink()


def forget_sessions(kit: Kit) -> None:
    """Give up on the results of earlier sessions: delete all that waits for them."""
    for left in (HOLDINGS, RECEIPT):
        for path in (kit.folder / RESULTS).glob(f"*/{left}"):
            path.unlink()


def read(path: Path) -> Consent:
    """The consent in a file."""
    try:
        return msgspec.json.decode(read_bytes(path), type=Consent)
    except (msgspec.MsgspecError, ValueError, RecursionError):  # ValueError: not UTF-8
        raise InvalidInput(f"{path} is damaged; run 'fedhull client' again") from None


def _made(kit: Kit, source: Source, holdings: Holdings, given_at: str) -> Consent:
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
    """The same data, wherever it is read from."""
    names = None if source.names is None else str(Path(source.names).resolve())
    return replace(source, data=str(Path(source.data).resolve()), names=names)


def _file_hash(data: str) -> str:
    try:
        with Path(data).open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except (OSError, ValueError) as problem:  # ValueError: no name that a file can have
        reason = getattr(problem, "strerror", None) or "no file can have this name"
        raise InvalidInput(f"{data} cannot be read: {reason}") from None
