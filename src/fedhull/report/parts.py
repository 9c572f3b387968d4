"""What the pages of all kinds of studies have in common."""

from collections.abc import Collection
from datetime import UTC, datetime
from typing import Any

import fedhull
from fedhull.protocol.agreement import Agreement, about_words
from fedhull.report.content import Check, SiteLine
from fedhull.report.words import ordinal
from fedhull.study.coordinator import Record

# What a study that has come to its end has passed; the protocol stops where one of these fails.
SERVER_CHECKS = (
    "Every message accepted from a site was signed with its key on the roster",
    "Enough sites signed the same list of survivors",
    "Restored secrets match commitments and public keys",
)
SITE_CHECKS = (
    "Nothing left but what somebody at this site had agreed to",
    "Shares were given only against enough signatures that agree with this site's own view",
)

# What a site that fetched its result after the session says of all sites.
CAME_LATE = "not known to a site that came late"


def agreement_parts(study: Agreement) -> dict[str, Any]:
    """Which study it is, and when and by what the page was made."""
    return {
        "title": study.name,
        "about": about_words(study),
        "study_hash": study.hash.hex(),
        "made_at": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "made_by": f"fedhull {fedhull.__version__}",
        "threshold": study.threshold,
        "collusion": study.tolerated + 1 if study.is_sparse else None,
    }


def site_lines(
    study: Agreement, survivors: Collection[str], record: Record | None = None
) -> list[SiteLine]:
    """Each site on the roster, and what became of it; the coordinator's record says why."""
    failures = {} if record is None else record.failures
    out = "not in the sum" if survivors else CAME_LATE
    return [
        site_line(
            name,
            "in the sum" if name in survivors else out,
            name in survivors,
            failures.get(name),
        )
        for name in sorted(study.clients)
    ]


def site_line(name: str, fate: str, taking_part: bool, why: str | None = None) -> SiteLine:
    """A site, and what became of it; with a reason `why` it did not stay to the end."""
    if why is not None:
        fate += f", but gone at the end: {why}" if taking_part else f": {why}"
    return SiteLine(name=name, fate=fate, taking_part=taking_part)


def upload_check(once: str, earlier: int) -> Check:
    """That a site has uploaded `once` in this session, if there were no `earlier` ones over the
    same data: else the number of this one, which is nothing to be ticked.

    >>> upload_check("This site uploaded once", 1).words
    'This is the 2nd session over these data, which somebody at this site agreed to'
    """
    if not earlier:
        return Check(words=once, passed=True)
    words = f"This is the {ordinal(earlier + 1)} session over these data"
    return Check(words=f"{words}, which somebody at this site agreed to", passed=None)


def passed(*checks: str) -> list[Check]:
    """Checks that were passed, in words."""
    return [Check(words=words, passed=True) for words in checks]
