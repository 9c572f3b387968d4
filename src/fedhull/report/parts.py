"""What the pages of all kinds of studies have in common."""

from collections.abc import Collection
from datetime import UTC, datetime
from typing import Any

import fedhull
from fedhull.protocol.agreement import Agreement
from fedhull.report.content import Check, SiteLine
from fedhull.study.coordinator import Record

# What a study that has come to its end has passed; the protocol stops where one of these fails.
SERVER_CHECKS = (
    "What sites said was signed with keys on the roster",
    "Enough sites signed the same list of survivors",
    "Restored secrets fit commitments and public keys",
)
SITE_CHECKS = (
    "What left is what somebody here had agreed to",
    "Shares were given only against enough signatures that agree with this site's own view",
    "This site uploaded once",
)


def agreement_parts(study: Agreement) -> dict[str, Any]:
    """Which study it is, and when and by what the page was made."""
    return {
        "title": study.name,
        "study_hash": study.hash.hex(),
        "made_at": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "made_by": f"fedhull {fedhull.__version__}",
        "threshold": study.threshold,
    }


def site_lines(
    study: Agreement, survivors: Collection[str], record: Record | None = None
) -> list[SiteLine]:
    """Each site on the roster, and what became of it; the coordinator's record says why."""
    lines = []
    failures = {} if record is None else record.failures
    for name in sorted(study.clients):
        there, why = name in survivors, failures.get(name)
        fate = "in the sum" if there else "not in the sum"
        if why is not None:
            fate += f", did not stay to the end: {why}" if there else f": {why}"
        lines.append(SiteLine(name=name, fate=fate, taking_part=there))
    return lines


def passed(*checks: str) -> list[Check]:
    """Checks that were passed, in words."""
    return [Check(words=words, passed=True) for words in checks]
