"""Round centres: the centres of all classes over all sites, onto which every site that was measured
differently can bring its own."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
import numpy as np

from fedhull.codes.field import Field, from_elements, to_elements
from fedhull.disc.isometry import Isometry
from fedhull.errors import BadMessage, FedhullError, InvalidInput
from fedhull.learn.centres import MOST_CELLS, Centres, class_centres
from fedhull.learn.site_alignment import align_site
from fedhull.protocol.drive import bytes_up
from fedhull.protocol.summation import Layout, Totals, Vector
from fedhull.rounds.disclosure import EVERYBODY, Disclosure, Plan
from fedhull.rounds.match import NAME as MATCH
from fedhull.rounds.match import MatchNews
from fedhull.rounds.round import Conclusion, Known, News, Opened, Own, Round, Sum, Taken
from fedhull.study.study import Study

# Sums of fewer than 2²⁸ cells lie between −2⁶⁰ and 2⁶⁰ (learn/centres.py).
CENTRE_FIELD = Field(2**61 - 1)
NAME = "centres"
# A count, and three coordinates on the hyperboloid.
_WIDTH = 4


class CentreNews(News, frozen=True):
    """The totals, class after class."""

    numbers: list[int]

    @classmethod
    def of(cls, centres: Centres) -> "CentreNews":
        """The news of these centres."""
        return cls(centres.packed().tolist())

    def centres(self, n_classes: int) -> Centres:
        """The centres of the classes; BadMessage if no cells can have them."""
        try:
            centres = Centres.unpacked(np.array(self.numbers, dtype=np.int64), n_classes)
            centres.check()
        except (OverflowError, InvalidInput):
            raise BadMessage("what the server published are not the centres of classes") from None
        return centres


class Alignment(msgspec.Struct, frozen=True):
    """A site's alignment: the centres that it was aligned to, its isometry, and how far its centres
    were from those, root mean square, before and after."""

    centres: list[int]
    moved_by: dict[str, Any]
    before: float
    after: float


@dataclass(frozen=True)
class ClassCentres(Round):
    """Count and Σ of hyperboloid coordinates of each class."""

    study: Study
    name, purpose = NAME, "align"
    News, Memory = CentreNews, Alignment

    def most(self, known: Known) -> Totals:
        """The cells of each class: of one with too few in all, or at one site only, nothing
        leaves."""
        return (MOST_CELLS // len(self.study.clients),) * n_classes(self.study, known)

    def layout(self, known: Known, totals: Totals, participants: int) -> Layout:
        """Four numbers for each class."""
        return Layout(((CENTRE_FIELD, _WIDTH * n_classes(self.study, known)),))

    def check(self, known: Known, news: CentreNews, totals: Totals) -> None:
        """Cells that were announced can have these centres."""
        centres = news.centres(n_classes(self.study, known))
        if (centres.counts > np.array(totals)).any():
            # else a class that this site has alone could be passed off as everybody's
            raise BadMessage("the server publishes centres of more cells than sites have announced")

    def discloses(self, held: Any = None) -> list[Disclosure]:
        """Count and mean position of each class."""
        n = self.study.labels.classes * (1 if self.study.classes.names else len(self.study.clients))
        times = "once" if self.study.alignments == 1 else "twice"
        return [
            Disclosure(
                round=self.name,
                what=(
                    f"{times}, the number of cells and the sum of their positions; published as "
                    f"the centres of all classes, to which each site moves its cells, on its own "
                    f"machine"
                ),
                of_whom="each class; nothing of a class that one site has alone",
                to_whom=EVERYBODY,
                how_many=self.study.alignments * _WIDTH * n,
                protection=(
                    f"masked: opened only as a total over at least {self.study.threshold} sites; "
                    f"nobody is told how a site has moved its cells"
                ),
            )
        ]

    def plan(self, holdings: Any, corners: int = 0) -> Plan:
        """The bytes of this round."""
        study = self.study
        n = study.classes.count_or(
            study.labels.classes if holdings is None else len(holdings.classes)
        )
        layout = Layout(((CENTRE_FIELD, _WIDTH * n),))
        size = bytes_up(study, min(study.clients), layout, numbers=n)
        return self.planned({"bytes_up_centres": size}, size)

    def announce(self, known: Known, own: Own) -> Totals:
        """The cells of each class that stands for no other."""
        once = [mine if len(mine) == 1 else [] for mine in class_numbers(self.study, own)]
        return own.holdings.counts(once, n_classes(self.study, known))

    def own_centres(self, known: Known, own: Own) -> Centres:
        """The centres of the site's cells, where its isometry moves them. A class that stands for
        several says nothing of any of them."""
        x, number = own.holdings.numbered(class_numbers(self.study, own), isometry_of(own))
        return class_centres(x, number, n_classes(self.study, known), self.study.geometry.curvature)

    def encode(self, known: Known, own: Own, totals: Totals, participants: int) -> Vector:
        """The centres of classes with enough cells over all sites, and cells at others: to a centre
        that is one site's alone nobody could align itself."""
        shared = np.array(totals) > np.array(self.announce(known, own))
        enough = shared & (np.array(totals) >= self.study.disclosure.min_cells)
        centres = self.own_centres(known, own)
        kept = Centres(centres.counts * enough, centres.sums * enough[:, None])
        return [to_elements(kept.packed(), CENTRE_FIELD)]

    def take(self, known: Known, own: Own, news: CentreNews) -> Taken:
        """The isometry that brings the site's centres onto those of all. A site that finds none
        stays where it is: whether it does depends on its cells."""
        total = news.centres(n_classes(self.study, known))
        x, number = own.holdings.numbered(class_numbers(self.study, own))
        try:
            fit = align_site(x, number, total, isometry_of(own), self.study.geometry.curvature)
        except (FedhullError, ArithmeticError, np.linalg.LinAlgError):
            return Taken()
        packed = total.packed().tolist()
        return Taken(Alignment(packed, fit.isometry.to_json(), fit.before, fit.misfit))

    def decode(self, known: Known, summed: Sum) -> Centres:
        """The centres, if cells can have them."""
        values = from_elements(summed.vector[0], CENTRE_FIELD)
        centres = Centres.unpacked(values, n_classes(self.study, known))
        if (centres.counts > np.array(summed.totals)).any():
            raise InvalidInput("there are more cells than sites have announced")
        centres.check()
        return centres

    def conclude(self, known: Known, opened: Sequence[Opened]) -> Conclusion:
        """Publish the centres."""
        return Conclusion(CentreNews.of(opened[-1].total))


def n_classes(study: Study, known: Known) -> int:
    """The number of classes over all sites: as matched, or as agreed."""
    news = known.last_of(MatchNews)
    return len(study.classes.names) if news is None else news.n_classes


def class_numbers(study: Study, own: Own) -> list[list[int]]:
    """The numbers of each of the site's classes: as it was told, or as agreed."""
    matched = own.last(MATCH)
    if matched is None:
        return study.classes.numbers_of(own.holdings.classes, own.holdings.several)
    return [[entry.number] if entry.known else [] for entry in matched.memory.entries]


def alignments_of(own: Own) -> list[Alignment]:
    """The alignments of a site, in order."""
    return [each.memory for each in own.passed if isinstance(each.memory, Alignment)]


def isometry_of(own: Own) -> Isometry | None:
    """The isometry that moves the site's cells; None leaves them where they are. Nobody is told."""
    alignments = alignments_of(own)
    return Isometry.from_json(alignments[-1].moved_by) if alignments else None
