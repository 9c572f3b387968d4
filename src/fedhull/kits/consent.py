"""Consent: what somebody at a site has agreed to send, for one session and no more.

What would leave is worked out once, when the person is asked. It waits in the kit for the session,
bound to the consent by its hash, together with a hash of the data file: the session sends what was
shown, or nothing.
"""

import hashlib
from pathlib import Path

import msgspec

from fedhull.disk import read_bytes, write_bytes
from fedhull.errors import InvalidInput, NoConsent
from fedhull.kits.kit import RESULTS, Kit
from fedhull.study.task import Holdings, Source

CONSENT, HOLDINGS = "consent.json", "holdings.bin"


class Consent(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """To which study, over which file, when; `holdings` is the SHA-256 of what would leave and of
    the cells behind it, `file` that of the data file."""

    study: str
    data: str
    label: str
    layer: str | None
    holdings: str
    file: str
    given_at: str

    @property
    def source(self) -> Source:
        """The data that the consent is about."""
        return Source(self.data, self.label, self.layer)


def give(kit: Kit, source: Source, holdings: Holdings, given_at: str) -> Consent:
    """Put the consent, and what it covers, where the session will look for them."""
    forget_holdings(kit)
    prepared = holdings.to_bytes()
    consent = Consent(
        study=kit.study.hash.hex(),
        data=str(Path(source.data).resolve()),
        label=source.label,
        layer=source.layer,
        holdings=hashlib.sha256(prepared).hexdigest(),
        file=_file_hash(source.data),
        given_at=given_at,
    )
    write_bytes(kit.folder / HOLDINGS, prepared, mode=0o600)
    write_bytes(kit.folder / CONSENT, msgspec.json.format(msgspec.json.encode(consent), indent=1))
    return consent


def use(kit: Kit, results: Path) -> Holdings:
    """Take the consent, so that it serves no second session, and load what it covers."""
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
    consent = read(taken)
    if consent.study != kit.study.hash.hex():
        raise NoConsent("the consent was given for another study file")
    prepared = read_bytes(results / HOLDINGS)
    if hashlib.sha256(prepared).hexdigest() != consent.holdings:
        raise NoConsent(
            f"{results / HOLDINGS} is not what the consent was given for; run 'fedhull client' "
            f"again"
        )
    if _file_hash(consent.data) != consent.file:
        raise NoConsent(
            f"the data have changed since the consent was given: {consent.data} is now a different "
            f"file; run 'fedhull client' again"
        )
    return kit.task.holdings_from_bytes(prepared)


def withdraw(kit: Kit) -> None:
    """Take back a consent that has not been used."""
    (kit.folder / CONSENT).unlink(missing_ok=True)
    (kit.folder / HOLDINGS).unlink(missing_ok=True)


def forget_holdings(kit: Kit) -> None:
    """Delete what earlier sessions that did not end well have left of the site's cells."""
    for left in (kit.folder / RESULTS).glob(f"*/{HOLDINGS}"):
        left.unlink()


def read(path: Path) -> Consent:
    """The consent in a file."""
    try:
        return msgspec.json.decode(read_bytes(path), type=Consent)
    except msgspec.MsgspecError:
        raise InvalidInput(f"{path} is damaged; run 'fedhull client' again") from None


def _file_hash(data: str) -> str:
    try:
        with Path(data).open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as problem:
        raise InvalidInput(f"{data} cannot be read: {problem.strerror}") from None
