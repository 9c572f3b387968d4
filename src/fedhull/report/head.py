"""The head of a page: the study, its sites, its checks, and numbers in words."""

from collections.abc import Collection, Mapping
from datetime import UTC, datetime
from typing import Any

import fedhull
from fedhull.protocol.agreement import Agreement, about_words
from fedhull.report import claims
from fedhull.report.page import Check, Figure, SiteLine
from fedhull.report.words import count, ordinal, size

# Passed by every study that has come to its end; the protocol stops where one of these fails.
COORDINATOR_CHECKS = (
    "Every message accepted from a site was signed with its key on the roster",
    "Enough sites signed the same list of survivors",
    "Restored secrets match commitments and public keys",
)
SITE_CHECKS = (
    "Nothing left but what somebody at this site had agreed to",
    "Shares were given only against enough signatures that agree with this site's own view",
)
# Said of all sites by one that fetched its result after the session.
CAME_LATE = "not known to a site that came late"


def study_head(study: Agreement) -> dict[str, Any]:
    """The study, and when and by what the page was made."""
    return {
        "title": study.name,
        "about": about_words(study),
        "study_hash": study.hash.hex(),
        "made_at": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "made_by": f"fedhull {fedhull.__version__}",
        "threshold": study.threshold,
        "collusion": colluding(study),
    }


def colluding(study: Agreement) -> int:
    """Sites with which the coordinator has to collude to learn what another one has sent."""
    return study.tolerated + 1


def collusion_words(study: Agreement) -> str:
    """The sentence about it."""
    sites = colluding(study)
    return claims.COLLUSION.format(sites="one" if sites == 1 else sites)


def site_lines(
    study: Agreement,
    fates: Mapping[str, str],
    taking_part: Collection[str],
    out: str,
    failures: Mapping[str, str],
) -> list[SiteLine]:
    """Each site on the roster and its fate, which is `out` for those not named; with a failure it
    did not stay to the end."""
    lines = []
    for name in sorted(study.clients):
        fate, stayed, why = fates.get(name, out), name in taking_part, failures.get(name)
        if why is not None:
            fate += f", but gone at the end: {why}" if stayed else f": {why}"
        lines.append(SiteLine(name=name, fate=fate, taking_part=stayed))
    return lines


def upload_check(once: str, earlier: int) -> Check:
    """One upload in this session, as `once` says, if there were no `earlier` sessions over the same
    data: else the number of this one, which is nothing to be ticked.

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


def sessions(earlier: int) -> str:
    """The sums revealed by several sessions over the same data."""
    if not earlier:
        return claims.SESSIONS
    return f"This is the {ordinal(earlier + 1)} session over these data. {claims.SEVERAL_SESSIONS}"


def bytes_figure(up: int | None, down: int | None, own: bool) -> list[Figure]:
    """Bytes sent and received, if the reader knows: a site's `own`, or the most of all."""
    if up is None:
        return []
    note = "" if down is None else f"{'' if own else 'at most '}{size(down)} received"
    label = "sent by you" if own else "the most any site sent"
    return [Figure(value=size(up), label=label, note=note)]


def sites_figure(sites: list[SiteLine], label: str, when: str) -> Figure:
    """Sites that stayed, and those that dropped out."""
    stayed = sum(site.taking_part for site in sites)
    gone = len(sites) - stayed
    note = f"{count(gone, 'site') if gone else 'no site'} dropped out {when}"
    return Figure(value=f"{stayed} of {len(sites)}", label=label, note=note)
