"""Whose name went with whose: a section that says which classes were taken for the same, and how
certain that is, as far as whoever reads the page may know."""

from fedhull.report.class_content import (
    ClassCoordinatorPage,
    ClassPage,
    ClassSimulationPage,
    ClassSitePage,
    SlotMatch,
)
from fedhull.report.content import Section, Table
from fedhull.report.page_file import AnyPage
from fedhull.report.words import count

TITLE = "Whose name went with whose"
# In the words of a row of docs/threat-model.md; a test compares them.
TOLD = "in how many sites each of its own classes was found, and how certain that is"
_AGREED = "The sites had agreed on the names of the classes, and nothing had to be matched."
_DOUBTFUL = "Matches below 90 % are doubtful and marked with “!”: a person should look at them."
# In front of what needs looking at; the page's style makes these letters stand out.
DOUBTFUL, WRONG = "!", "✗"


def matches(page: AnyPage) -> Section | None:
    """What each page may say of it."""
    if not isinstance(page, ClassPage):
        return None
    if page.agreed:
        return Section(title=TITLE, paragraphs=[_AGREED])
    if isinstance(page, ClassSitePage):
        words, table = _at_a_site(page)
    elif isinstance(page, ClassCoordinatorPage):
        words, table = _at_the_coordinator(page)
    else:
        words, table = _in_a_simulation(page)
    return Section(title=TITLE, paragraphs=words, table=table)


def _at_a_site(page: ClassSitePage) -> tuple[list[str], Table]:
    certain = any(row.certainty is not None for row in page.matches)
    alone = [row.name for row in page.matches if row.sites == 1]
    doubtful = [row.name for row in page.matches if row.doubtful]
    words = [
        f"Your entry in what was published, which nobody else can open, says under which number "
        f"each of your classes is known to all. A site is told {TOLD}.",
        *([_DOUBTFUL] if doubtful else []),
    ]
    if alone:
        words.append(f"Found at your site only: {', '.join(alone)}.")
    rows = [
        [
            f"{DOUBTFUL} {row.name}" if row.doubtful else row.name,
            f"class {row.number + 1}",
            f"{row.sites:,}",
            *([_sure(row.certainty, row.doubtful)] if certain else []),
        ]
        for row in page.matches
    ]
    columns = ["your class", "is", "sites that have it", *(["how certain"] if certain else [])]
    return words, Table(columns=columns, rows=rows)


def _at_the_coordinator(page: ClassCoordinatorPage) -> tuple[list[str], Table]:
    certain = any(row.least is not None for row in page.found)
    n_doubtful = sum(row.doubtful for row in page.found)
    words = [
        "The coordinator knows classes by number only, and not which sites have them. The names "
        "are the sites' own.",
        *(
            [f"{_DOUBTFUL} There {_are(n_doubtful, 'doubtful match', 'doubtful matches')}."]
            if n_doubtful
            else []
        ),
        *([] if certain else ["The study's grouping does not say how certain it is."]),
    ]
    rows = [
        [
            f"{DOUBTFUL} {row.name}" if row.doubtful else row.name,
            f"{row.sites:,}",
            f"{row.cells:,}",
            *([_least(row.least, row.sites), _doubtful(row.doubtful)] if certain else []),
        ]
        for row in page.found
    ]
    more = ["least certain match", "doubtful"] if certain else []
    return words, Table(columns=["class", "sites", "cells", *more], rows=rows)


def _in_a_simulation(page: ClassSimulationPage) -> tuple[list[str], Table]:
    slots = [slot for row in page.match_map for slot in row.slots]
    wrong, doubtful = (sum(not s.right for s in slots), sum(s.doubtful for s in slots))
    words = [
        f"Which class of which site, by the site's own name, went into each numbered class, in the "
        f"first trial: of {count(len(slots), 'class', 'classes')} at sites "
        f"{f'{wrong:,}' if wrong else 'none'} went into a wrong one. Only a simulation can know "
        f"this.",
        *([f"Wrong ones are marked with “{WRONG}”."] if wrong else []),
        *([_DOUBTFUL] if doubtful else []),
    ]
    sites = sorted({slot.site for slot in slots})
    rows = []
    for row in page.match_map:
        at = {site: [_slot(s) for s in row.slots if s.site == site] for site in sites}
        cells = ["; ".join(at[site]) or "–" for site in sites]
        rows.append([f"class {row.number + 1}", row.name, *cells])
    return words, Table(columns=["class", "is", *sites], rows=rows)


def _slot(slot: SlotMatch) -> str:
    marks = f"{'' if slot.right else WRONG}{DOUBTFUL if slot.doubtful else ''}"
    return f"{marks} {slot.name}" if marks else slot.name


def _sure(percent: int | None, doubtful: bool) -> str:
    if percent is None:
        return "–"
    return f"{percent} %, doubtful" if doubtful else f"{percent} %"


def _least(percent: int | None, sites: int) -> str:
    return "one site only" if sites == 1 else _sure(percent, doubtful=False)


def _doubtful(n: int) -> str:
    return f"{n:,}" if n else "none"


def _are(n: int, one: str, many: str) -> str:
    return f"{'is' if n == 1 else 'are'} {count(n, one, many)}"
