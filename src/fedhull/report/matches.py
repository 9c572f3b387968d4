"""Whose name went with whose: the classes taken for the same and how certain that is, as far as the
reader of the page may know."""

from typing import Any, ClassVar

import msgspec

from fedhull.report.sections import COORDINATOR, SIMULATION, SITE, Part, Section, Text
from fedhull.report.words import count
from fedhull.rounds.matching import is_doubtful
from fedhull.rounds.reading import labels_of

TITLE = "Whose name went with whose"
# In the words of a row of docs/threat-model.md; a test compares them.
TOLD = "in how many sites each of its own classes was found, and how certain that is"
AGREED = "The sites had agreed on the names of the classes, and nothing had to be matched."
DOUBT = "Matches below 90 % are doubtful and marked with “!”: a person should look at them."
# In front of rows that need looking at; the page's style makes these letters stand out.
DOUBTFUL, WRONG = "!", "✗"


class AgreedNames(Section, frozen=True, kw_only=True):
    """Names were agreed before the study."""

    def text(self) -> Text:
        """One sentence."""
        return Text.of(TITLE, AGREED)


class OwnMatch(Part, frozen=True, kw_only=True):
    """A site's own class: its number, which counts from 0, how many sites have it, and how certain
    that is, in percent."""

    name: str
    number: int
    sites: int
    certainty: int | None


class OwnMatches(Section, frozen=True, kw_only=True):
    """The classes of one site, and what became of them."""

    viewers: ClassVar[frozenset[str]] = frozenset({SITE})
    rows: list[OwnMatch]

    @classmethod
    def of(cls, site: Any) -> "OwnMatches":
        """The matches of a site's outcome."""
        entries = zip(site.sent_classes, site.entries, strict=False)
        return cls(
            rows=[
                OwnMatch(
                    name=str(name), number=entry.number, sites=entry.sites, certainty=entry.percent
                )
                for name, entry in entries
            ]
        )

    def numbered(self) -> list[tuple[str, str]]:
        """The site's names, and the numbers."""
        return [(row.name, f"class {row.number + 1}") for row in self.rows]

    def text(self) -> Text:
        """The site's own names against the numbers that all use."""
        certain = any(row.certainty is not None for row in self.rows)
        alone = ", ".join(row.name for row in self.rows if row.sites == 1)
        words = (
            f"Your entry in what was published, which nobody else can open, says under which "
            f"number each of your classes is known to all. A site is told {TOLD}.",
            DOUBT if any(is_doubtful(row.certainty) for row in self.rows) else "",
            f"Found at your site only: {alone}." if alone else "",
        )
        rows = [
            [
                _marked(row.name, DOUBTFUL * is_doubtful(row.certainty)),
                f"class {row.number + 1}",
                f"{row.sites:,}",
                _sure(row.certainty) + ", doubtful" * is_doubtful(row.certainty),
            ][: 3 + certain]
            for row in self.rows
        ]
        columns = ["your class", "is", "sites that have it", "how certain"][: 3 + certain]
        return Text.of(TITLE, *words, columns=columns, rows=rows)


class FoundClass(Part, frozen=True, kw_only=True):
    """A class as the coordinator knows it: how many sites have it, their cells together, how
    certain the least certain match is, in percent, and how many are doubtful."""

    name: str
    sites: int
    cells: int
    least: int | None
    doubtful: int


class FoundClasses(Section, frozen=True, kw_only=True):
    """The classes by number: nobody's names, nobody's cells."""

    viewers: ClassVar[frozenset[str]] = frozenset({COORDINATOR})
    rows: list[FoundClass]

    @classmethod
    def of(cls, outcome: Any) -> "FoundClasses":
        """The classes of the coordinator's outcome."""
        found = [] if outcome.match is None else outcome.match.classes()
        rows = [msgspec.structs.asdict(row) for row in found]
        name_of = outcome.study.classes.name_of
        return cls(rows=[FoundClass(name=name_of(row.pop("number")), **row) for row in rows])

    def numbered(self) -> list[tuple[str, str]]:
        """The classes, and how many have them."""
        return [
            (row.name, f"{count(row.sites, 'site')}, {count(row.cells, 'cell')}")
            for row in self.rows
        ]

    def text(self) -> Text:
        """A row for each number."""
        certain = any(row.least is not None for row in self.rows)
        doubtful = sum(row.doubtful for row in self.rows)
        there = f"There {'is' if doubtful == 1 else 'are'}"
        words = (
            "The coordinator knows classes by number only, and not which sites have them. The "
            "names are the sites' own.",
            f"{DOUBT} {there} {count(doubtful, 'doubtful match', 'doubtful matches')}."
            if doubtful
            else "",
            "" if certain else "The study's grouping does not say how certain it is.",
        )
        rows = [
            [
                _marked(row.name, DOUBTFUL * bool(row.doubtful)),
                f"{row.sites:,}",
                f"{row.cells:,}",
                "one site only" if row.sites == 1 else _sure(row.least),
                f"{row.doubtful:,}" if row.doubtful else "none",
            ][: 3 + 2 * certain]
            for row in self.rows
        ]
        columns = ["class", "sites", "cells", "least certain match", "doubtful"][: 3 + 2 * certain]
        return Text.of(TITLE, *words, columns=columns, rows=rows)


class SlotMatch(Part, frozen=True, kw_only=True):
    """A class of a site, by the site's own name, and whether it was put where it belongs."""

    site: str
    name: str
    right: bool
    certainty: int | None


class MapRow(Part, frozen=True, kw_only=True):
    """A numbered class, its real name, and the classes that went there."""

    number: int
    name: str
    slots: list[SlotMatch]


class MatchMap(Section, frozen=True, kw_only=True):
    """Whose class went where; only a simulation knows all of them."""

    viewers: ClassVar[frozenset[str]] = frozenset({SIMULATION})
    rows: list[MapRow]

    @classmethod
    def of(cls, outcome: Any, simulated: Any) -> "MatchMap":
        """The classes of all sites of a simulation."""
        match, names = outcome.match, simulated.names
        if match is None:
            return cls(rows=[])
        percent = dict(zip(match.labels, match.percent, strict=True))
        slots: dict[int, list[SlotMatch]] = {number: [] for number in match.numbers}
        for site in simulated.sites.values():
            for label, name in zip(labels_of(site), site.holdings.classes, strict=False):
                number = match.class_of_label.get(label)
                if number is not None:
                    slot = SlotMatch(
                        site=simulated.name(site.name),
                        name=str(name),
                        right=bool(name == names[number]),
                        certainty=percent[label],
                    )
                    slots[number].append(slot)
        return cls(
            rows=[MapRow(number=i, name=str(names[i]), slots=slots[i]) for i in match.numbers]
        )

    def numbered(self) -> list[tuple[str, str]]:
        """The numbers, and the names."""
        return [
            (f"class {row.number + 1}", f"{row.name}, at {count(len(row.slots), 'site')}")
            for row in self.rows
        ]

    def text(self) -> Text:
        """A row for each number, a column for each site."""
        slots = [slot for row in self.rows for slot in row.slots]
        wrong = sum(not slot.right for slot in slots)
        words = (
            f"Which class of which site, by the site's own name, went into each numbered class, in "
            f"the first trial: of {count(len(slots), 'class', 'classes')} at sites "
            f"{f'{wrong:,}' if wrong else 'none'} went into a wrong one. Only a simulation can "
            f"know this.",
            f"Wrong ones are marked with “{WRONG}”." if wrong else "",
            DOUBT if any(is_doubtful(slot.certainty) for slot in slots) else "",
        )
        sites = sorted({slot.site for slot in slots})
        rows = []
        for row in self.rows:
            at = {site: [_slot(s) for s in row.slots if s.site == site] for site in sites}
            cells = ["; ".join(at[site]) or "–" for site in sites]
            rows.append([f"class {row.number + 1}", row.name, *cells])
        return Text.of(TITLE, *words, columns=["class", "is", *sites], rows=rows)


def _marked(name: str, marks: str) -> str:
    return f"{marks} {name}" if marks else name


def _slot(slot: SlotMatch) -> str:
    return _marked(slot.name, WRONG * (not slot.right) + DOUBTFUL * is_doubtful(slot.certainty))


def _sure(percent: int | None) -> str:
    return "–" if percent is None else f"{percent} %"
