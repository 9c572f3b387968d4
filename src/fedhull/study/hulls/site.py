"""A site in a study of hulls: in the last sum it sends its hulls."""

from typing import Any

from fedhull.study.classes.ballot import Ballot
from fedhull.study.classes.publication import read_entries
from fedhull.study.classes.site import ClassSite
from fedhull.study.hulls.holdings import HullHoldings, realigned
from fedhull.study.hulls.sum import HullContribution


class HullSite(ClassSite):
    """What leaves are the hulls of the site's classes, made anew if it has aligned itself."""

    holdings: HullHoldings

    @property
    def sent(self) -> HullHoldings:
        """The hulls of the site's cells, where its isometry moves them."""
        if self.isometry is None:
            return self.holdings
        if self._realigned is None:
            self._realigned = realigned(self.study, self.holdings, self.isometry)
        return self._realigned

    _realigned: HullHoldings | None = None

    @property
    def sent_classes(self) -> list[Any]:
        """The classes whose hulls leave."""
        return self.sent.classes if self.sums_done >= self.n_sums - 1 else self.holdings.classes

    @property
    def centre_numbers(self) -> dict[int, int]:
        """Hulls are matched anew in the last sum, where classes may get other numbers; which is
        which, the site knows of its own."""
        told = self.standing.told
        if told is None:
            return super().centre_numbers
        entries = zip(self.holdings.classes, told.entries, strict=True)
        before = {name: entry.number for name, entry in entries}
        found: dict[int, set[int]] = {}
        for name, entry in zip(self.sent_classes, self.entries, strict=True):
            found.setdefault(entry.number, set()).add(before[name])
        return {number: n.pop() for number, n in found.items() if len(n) == 1}

    def numbers_in(self, ballot: Ballot) -> dict[Any, int]:
        """As the server has matched the hulls, unless names are agreed."""
        if self.study.agreed:
            return super().numbers_in(ballot)
        assert self.pseudonym is not None
        entries = read_entries(self.study, ballot.entries, self.pseudonym, ballot.bound_to)
        named = zip(self.sent_classes, entries, strict=True)
        return {name: entry.number for name, entry in named}

    def last_contribution(self) -> HullContribution:
        """The site's hulls."""
        sent, number = self.sent, self.n_sums
        return HullContribution(
            self.study, sent.hulls, sent.sketches, sent.classes, number, self.standing.basis
        )

    def result(self) -> dict[str, Any]:
        """Plain numbers and words."""
        held = self.sent
        return super().result() | {
            "points_sent": held.points_sent,
            "points_held": held.points_held,
            "points_guarded": held.points_guarded,
        }
