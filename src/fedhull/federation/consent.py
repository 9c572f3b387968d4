"""Consent: what somebody at a site has agreed to send, for one session and no more."""

import json
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from fedhull.data.files import load_file
from fedhull.errors import InvalidInput, NoConsent
from fedhull.federation.holdings import Holdings, prepare
from fedhull.federation.kit import CONSENT, Kit, write_json
from fedhull.protocol.study import Study


@dataclass(frozen=True)
class Consent:
    """Which data, and what of them: checked again when the session begins."""

    study: str
    data: str
    label: str
    points_sent: int
    points_held: int
    given_at: str

    def give(self, kit: Kit) -> None:
        """Put it where the session will look for it."""
        write_json(kit.folder / CONSENT, asdict(self))


def load_holdings(study: Study, data: str, label: str) -> Holdings:
    """What a site would take into the study, from its data file."""
    return prepare(study, *load_file(data, label))


def ask_for(study: Study, holdings: Holdings, data: str, label: str) -> Consent:
    """The consent that a person would give to these holdings."""
    return Consent(
        study=study.hash.hex(),
        data=str(Path(data).resolve()),
        label=label,
        points_sent=holdings.points_sent,
        points_held=holdings.points_held,
        given_at=datetime.now(UTC).isoformat(timespec="seconds"),
    )


def use_consent(kit: Kit, results: Path) -> Holdings:
    """Take the consent, so that it serves no second session, and load what it covers."""
    taken = results / CONSENT
    try:
        if not taken.exists():  # else this session, taken up again, has its consent already
            # a rename succeeds for one session only, however many start at once
            (kit.folder / CONSENT).rename(taken)
    except FileNotFoundError:
        raise NoConsent(
            "nobody here has agreed to a session; 'fedhull client' shows what would leave and asks"
        ) from None
    consent = read_consent(taken)
    if consent.study != kit.study.hash.hex():
        raise NoConsent("the consent was given for another study file")
    holdings = load_holdings(kit.study, consent.data, consent.label)
    if (holdings.points_sent, holdings.points_held) != (consent.points_sent, consent.points_held):
        raise NoConsent(
            f"the data have changed since the consent was given: {holdings.points_sent} of "
            f"{holdings.points_held} points would leave, not {consent.points_sent} of "
            f"{consent.points_held}"
        )
    return holdings


def withdraw(kit: Kit) -> None:
    """Take back a consent that has not been used."""
    (kit.folder / CONSENT).unlink(missing_ok=True)


def read_consent(path: Path) -> Consent:
    """The consent in a file."""
    try:
        content: Any = json.loads(path.read_text())
        return Consent(**content)
    except (OSError, ValueError, TypeError):
        raise InvalidInput(f"{path} is damaged; run 'fedhull client' again") from None
