"""Round match: every site says, unnamed, what its classes are like, so that the coordinator can
tell which of them are the same."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from time import perf_counter
from typing import Annotated, Any

import msgspec

from fedhull.errors import BadMessage, FedhullError, InvalidInput
from fedhull.protocol.drive import bytes_up
from fedhull.protocol.keys import Randomness, digest
from fedhull.protocol.summation import Layout, Totals, Vector
from fedhull.registry import name_of
from fedhull.rounds.disclosure import Disclosure, Plan, unnamed
from fedhull.rounds.matching import Match, match
from fedhull.rounds.pseudonym import (
    LOST,
    ClassAssignments,
    Entry,
    Pseudonym,
    open_entries,
    seal_entries,
)
from fedhull.rounds.round import Conclusion, Known, News, Opened, Own, Round, Sum, Taken
from fedhull.rounds.slots import BOTH_FROM, SlotSums, SlotTotal
from fedhull.study.study import Study

NAME = "match"


class MatchNews(News, frozen=True):
    """The number of classes and, sealed for each place, which of them its labels are."""

    n_classes: Annotated[int, msgspec.Meta(ge=2, le=2**32)]
    entries: dict[int, bytes]

    @property
    def bound_to(self) -> bytes:
        """Digest that the entries are sealed for."""
        return digest(b"match", self.n_classes.to_bytes(8, "big"))


@dataclass(frozen=True, repr=False)
class MatchTotal:
    """All sites' descriptions of their classes, and the match of these."""

    study: Study
    slots: SlotSums
    said: SlotTotal

    @cached_property
    def match(self) -> Match:
        """The classes of all labels."""
        rows = self.said.rows
        return match(self.study, self.slots, rows, self.slots.clear(rows))


@dataclass(frozen=True)
class Matching(Round):
    """Slots of places and labels. Sites that may have been measured differently say of each class
    where it lies, in numbers that can be moved."""

    study: Study
    name = purpose = NAME
    News = MatchNews
    Drawn, Memory = Pseudonym, ClassAssignments

    @property
    def slots(self) -> SlotSums:
        """The way secrets, counts, sketches and places travel."""
        return SlotSums(self.study, placed=self.study.alignments > 0)

    @property
    def ordered(self) -> bool:
        """Sites go by an order of theirs if there are too few places to draw one at random."""
        return not self.study.draws_places

    def layout(self, known: Known, totals: Totals, participants: int) -> Layout:
        """Slots for all participants."""
        return Layout(self.slots.layout(participants))

    def check(self, known: Known, news: MatchNews, totals: Totals) -> None:
        """There are no more classes than all sites together can have."""
        if news.n_classes > self.study.labels.classes * len(self.study.clients):
            raise BadMessage(
                f"the server says that there are {news.n_classes} classes, more than all sites "
                f"together can have"
            )

    def discloses(self, held: Any = None) -> list[Disclosure]:
        """A count and a sketch or place of each class."""
        of = "each class" if held is None else f"each of your {len(held.classes)} classes"
        what = "its number of cells and a sketch, eight sums over them"
        if self.slots.placed:
            what = (
                f"its number of cells and its place, five numbers for where their middle is and "
                f"how they spread; of {BOTH_FROM} cells or more also a sketch, eight sums over them"
            )
        return [
            Disclosure(
                round=self.name,
                what=what,
                of_whom=f"{of}, without its name",
                how_many=(1 + self.slots.length) * self._n_slots(held),
                protection=unnamed(self.study.threshold),
            )
        ]

    def plan(self, holdings: Any, corners: int = 0) -> Plan:
        """The bytes of this round."""
        sites, site = len(self.study.clients), min(self.study.clients)
        size = bytes_up(self.study, site, self.layout(Known(), (), sites), numbers=0)
        return self.planned({"bytes_up_match": size}, size)

    def draw(self, known: Known, own: Own, place: int, randomness: Randomness) -> Pseudonym:
        """A place and labels, at random."""
        return Pseudonym.draw(self.study, place, range(self._n_slots(own.holdings)), randomness)

    def rows(self, own: Own) -> list[list[int]]:
        """The site's description of each of its classes."""
        return [self.slots.describe(cells) for cells in own.holdings.cells_by_class()]

    def encode(self, known: Known, own: Own, totals: Totals, participants: int) -> Vector:
        """The site's slots."""
        rows = dict(zip(own.drawn.labels, self.rows(own), strict=True))
        slots = self.slots.encode(own.drawn, rows, participants)
        return self.layout(known, totals, participants).vector(slots)

    def take(self, known: Known, own: Own, news: MatchNews) -> Taken:
        """The classes that the site's own were matched with. A site that stayed away because it is
        told nonsense about them would show whose classes they are: it objects in silence."""
        n = len(own.holdings.classes)
        try:
            entries = self.read_entries(news.entries, own.drawn, news.bound_to)[:n]
            numbers = [entry.number for entry in entries if entry.known]
            if len(set(numbers)) < len(numbers) or not set(numbers) <= set(range(news.n_classes)):
                raise BadMessage("the server takes two of this site's classes for one, or for none")
        except FedhullError as problem:
            # any classes will do for numbers that noise is added to
            anything = [Entry(i % news.n_classes, None, 0) for i in range(n)]
            return Taken(ClassAssignments(news.n_classes, anything), objection=f"{problem}")
        return Taken(ClassAssignments(news.n_classes, entries))

    def read_entries(
        self, sealed: Mapping[int, bytes], pseudonym: Pseudonym, bound_to: bytes
    ) -> list[Entry]:
        """The entries of whoever goes by this pseudonym."""
        return read_entries(self.study, sealed, pseudonym, bound_to)

    def decode(self, known: Known, summed: Sum) -> MatchTotal:
        """The description of each label, if every site has used labels of one place, its own."""
        slots = self.layout(known, (), summed.participants).to_ints(summed.vector)
        said = self.slots.decode(slots, len(summed.survivors), summed.participants)
        return MatchTotal(self.study, self.slots, said)

    def conclude(self, known: Known, opened: Sequence[Opened]) -> Conclusion:
        """Match the classes, and tell each site of its own."""
        begin, total = perf_counter(), opened[-1].total
        _check_apart(self.study, total.match)
        news = MatchNews(max(total.match.numbers) + 1, {})
        entries = sealed_entries(self.study, total.match, total.said.secrets, news.bound_to)
        seconds = {"grouping": perf_counter() - begin}
        return Conclusion(MatchNews(news.n_classes, entries), seconds=seconds)

    def _n_slots(self, held: Any) -> int:
        return self.study.labels.classes if held is None else len(held.classes)


def sealed_entries(
    study: Study, found: Match, secrets: Mapping[int, Sequence[int]], bound_to: bytes
) -> dict[int, bytes]:
    """{place: what became of each of its labels, which its owner can open}."""
    of_label = found.entries
    return {
        place: seal_entries(
            secret,
            [of_label.get(label) for label in study.labels_of(place)],
            _context(bound_to, place),
        )
        for place, secret in sorted(secrets.items())
    }


def read_entries(
    study: Study,
    sealed: Mapping[int, bytes],
    pseudonym: Pseudonym,
    bound_to: bytes,
    lost: bool = False,
) -> list[Entry]:
    """The entry of each class of the site with this pseudonym, in its own order; BadMessage if one
    is missing, unless classes may be `lost` in noise."""
    place = pseudonym.place
    if place not in sealed:
        raise BadMessage("the server has published nothing on this site's classes")
    said = open_entries(pseudonym.secret, sealed[place], _context(bound_to, place))
    of_label = dict(zip(study.labels_of(place), said, strict=False))
    entries = [of_label.get(label) for label in pseudonym.labels]
    if lost:
        return [entry or LOST for entry in entries]
    if any(entry is None for entry in entries):
        raise BadMessage("the server does not say what became of each of this site's classes")
    return [entry for entry in entries if entry is not None]


def _check_apart(study: Study, found: Match) -> None:
    """Sites object if two of their classes are taken for one, so such a match is not published."""
    taken = [(study.place_of(label), group) for label, group in found.class_of_label.items()]
    if len(set(taken)) < len(taken):
        raise InvalidInput(
            f"grouping {name_of(study.learning.grouping)!r} takes two classes of one site for one, "
            f"which sites do not accept where classes are matched first; use 'matching'"
        )


def _context(bound_to: bytes, place: int) -> bytes:
    """Digest that entries are bound to: the model whose classes they name, say, and the place."""
    return digest(b"classes", bound_to, place.to_bytes(8, "big"))
