"""Hulls: the corners of all sites' hulls, in bins, as in the paper. The coordinator reads all hulls
and not whose they are, and matches them in this very round."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

from fedhull.disc.hull import minimal_hull
from fedhull.disc.isometry import Isometry
from fedhull.errors import UnknownLabelSum
from fedhull.learn.centres import Centres
from fedhull.learn.content import Landmarks
from fedhull.learn.model import CLASSIFIERS, fit_to_corners, make_classifier
from fedhull.learn.places import landmarks_of_corners
from fedhull.protocol.keys import Randomness
from fedhull.protocol.summation import Layout, Totals, Vector
from fedhull.registry import name_of
from fedhull.rounds.ballot import Candidate
from fedhull.rounds.centres import alignments_of, isometry_of
from fedhull.rounds.disclosure import Disclosure, Plan, unnamed
from fedhull.rounds.holdings import ClassHoldings
from fedhull.rounds.hull_holdings import (
    PreparedHulls,
    check_hulls,
    make_hulls,
    standing_for,
    within,
)
from fedhull.rounds.learning import Learned, Summary
from fedhull.rounds.match import NAME as MATCH
from fedhull.rounds.match import sealed_entries
from fedhull.rounds.matching import Match, match, owners_of
from fedhull.rounds.pseudonym import Entry, Pseudonym
from fedhull.rounds.reading import centres_in
from fedhull.rounds.round import Known, Opened, Own, Sum
from fedhull.rounds.slots import SlotSums
from fedhull.study.study import announced_corners

# The study's default is also compared with the paper's classifier, at this strength.
_DEFAULT, _OTHER, _OTHER_STRENGTH = "lorentz", "poincare-svm", 1.0
# The share of points above which a site is warned before it agrees.
_MUCH = 0.5


@dataclass(frozen=True, repr=False)
class HullTotal:
    """The hulls of all survivors by their labels, the row that goes with each (the number of its
    cells and their sketch), and for each place the secret shared with whoever has it."""

    hulls: dict[int, list[int]]
    rows: dict[int, list[int]] = field(default_factory=dict)
    secrets: dict[int, tuple[int, ...]] = field(default_factory=dict)

    def __repr__(self) -> str:
        return f"HullTotal({len(self.hulls)} hulls)"


class Sorted(NamedTuple):
    """The hulls in the order in which they were learned from, and their match."""

    hulls: list[np.ndarray]
    match: Match

    @property
    def corners(self) -> tuple[np.ndarray, np.ndarray]:
        """The corners of all hulls, and the class that each was taken for."""
        sizes = [len(hull) for hull in self.hulls]
        return np.concatenate(self.hulls), np.repeat(self.match.groups, sizes)


@dataclass(frozen=True)
class HullSums(Summary):
    """The round in which hulls are summed: power sums, from which they are read, and slots."""

    summary = "hulls"
    choices = ("method", "grouping", "strength", "classes")
    Prepared = PreparedHulls
    Drawn = Pseudonym
    # hulls are matched in this round, also if classes were matched before: they get new numbers
    needs_match = keeps_numbers = False

    @property
    def slots(self) -> SlotSums:
        """The way secrets, counts and sketches travel."""
        return SlotSums(self.study)

    @property
    def ordered(self) -> bool:
        """Sites go by an order of theirs if there are too few places to draw one at random."""
        return not self.study.draws_places

    def binding(self, known: Known) -> bytes:
        """The coding of hulls: sites whose software does it in another way never get to upload."""
        coding = self.study.coding
        return f"{coding.name} {coding.field.q}".encode()

    def most(self, known: Known) -> Totals:
        """As many corners as the study allows a site."""
        return (announced_corners(self.study.protocol.most_bins),)

    def layout(self, known: Known, totals: Totals, participants: int) -> Layout:
        """As many sums as determine, and check, all corners together, and slots."""
        sums = self.study.coding.field, self.study.sums_for(totals[0])
        return Layout((sums, *self.slots.layout(participants)))

    def discloses(self, held: ClassHoldings | None = None) -> list[Disclosure]:
        """Corners in bins, and a count and sketch of each hull."""
        study, sites = self.study, self.study.threshold
        of, corners, rows = "each class, without its name", None, study.labels.classes
        if held is not None:
            share = held.points_sent / held.points_held if held.points_held else 0.0
            corners, rows = held.points_sent, len(held.prepared.hulls)
            of = (
                f"each of your {rows} classes, without its name: {corners:,} points, {share:.1%} "
                f"as many as you hold apart from those for testing"
            )
        smallest = study.disclosure.group_size if held is None else held.smallest_group or 0
        exposed = 0 if held is None else held.cells_exposed
        whose = (
            f"No cell's position leaves; every corner is the mean of at least {smallest} cells"
            if not exposed and smallest > 1
            else f"{exposed:,} cells leave with their own position, each to within a bin"
        )
        return [
            Disclosure(
                round=self.name,
                what=(
                    f"the corners of its hull, each rounded to a bin of width "
                    f"{study.geometry.epsilon:g}. {whose}"
                ),
                of_whom=of,
                how_many=corners,
                protection=unnamed(sites),
            ),
            Disclosure(
                round=self.name,
                what="its number of cells and a sketch, eight sums over them",
                of_whom="each hull",
                how_many=(1 + self.slots.length) * rows,
                protection=unnamed(sites),
            ),
            *self.ballot.discloses(study, held),
        ]

    def warnings(self, holdings: ClassHoldings) -> list[str]:
        """A warning if most points would leave."""
        share = holdings.points_sent / holdings.points_held
        if share <= _MUCH:
            return []
        return [
            f"Careful: that is {share:.0%} of them. Where a class has few points, most are corners."
        ]

    # the site's side

    def select(
        self, x: np.ndarray, y: np.ndarray, classes: np.ndarray, donors: np.ndarray | None = None
    ) -> ClassHoldings:
        """Guard the points and make the quantized hull of each class that may leave."""
        return make_hulls(self.study, self.slots, x, y, classes, donors)

    def prepare(
        self,
        x: np.ndarray,
        y: np.ndarray,
        donors: np.ndarray | None = None,
        several: Mapping[str, list[str]] | None = None,
    ) -> ClassHoldings:
        """A class that stands for several is sent under each of their names."""
        held = super().prepare(x, y, donors, several)
        self.study.quantizer.encode(held.x)
        return standing_for(held, several) if several else held

    def realigned(self, held: ClassHoldings, isometry: Isometry) -> ClassHoldings:
        """The holdings that would leave if an isometry moved the site's cells. Cells moved beyond
        the study's radius are replaced by the nearest points within it."""
        x, of_class = held.taking_part(isometry)
        there, names = np.unique(of_class), np.array(held.classes)
        radius = self.study.geometry.radius
        made = self.select(within(x, radius), names[of_class], names[there])
        leaving = {name: targets for name, targets in held.several.items() if name in made.classes}
        return standing_for(made, leaving) if leaving else made

    def sent(self, own: Own) -> ClassHoldings:
        """The hulls of the site's cells, where its isometry moves them."""
        isometry = isometry_of(own)
        if isometry is None:
            return own.holdings
        return own.once("realigned", lambda: self.realigned(own.holdings, isometry))

    def announce(self, known: Known, own: Own) -> Totals:
        """The number of corners, rounded up."""
        return (announced_corners(self.sent(own).points_sent),)

    def draw(self, known: Known, own: Own, place: int, randomness: Randomness) -> Pseudonym:
        """A place and labels, at random as far as the label code allows."""
        return Pseudonym.draw(self.study, place, self.sent(own).classes, randomness)

    def encode(self, known: Known, own: Own, totals: Totals, participants: int) -> Vector:
        """The sums of the hulls, and the site's slots."""
        study, prepared = self.study, self.sent(own).prepared
        drawn = own.drawn
        hulls = dict(zip(drawn.labels, check_hulls(study, prepared.hulls), strict=True))
        rows = dict(zip(drawn.labels, prepared.rows, strict=True))
        sums = study.coding.encode(hulls, totals[0], study.protocol.spare_sums)
        slots = self.slots.encode(drawn, rows, participants, hulls)
        return self.layout(known, totals, participants).vector([sums, *slots])

    def pseudonym(self, own: Own) -> Pseudonym | None:
        """The site's pseudonym in this round."""
        return own.drawn if own.drawn is not None else super().pseudonym(own)

    def numbers_in(self, own: Own, proposed: bytes) -> dict[Any, int]:
        """As the coordinator has matched the hulls, unless names are agreed."""
        if self.study.classes.names:
            return super().numbers_in(own, proposed)
        read, pseudonym = self.ballot.read(proposed), self.pseudonym(own)
        assert pseudonym is not None
        entries = self.read_entries(read.entries, pseudonym, read.bound_to)
        named = zip(self.sent_classes(own), entries, strict=True)
        return {name: entry.number for name, entry in named}

    def own_centres(self, own: Own, numbers: np.ndarray, entries: list[Entry]) -> Centres | None:
        """Hulls are matched anew, and classes may get other numbers than the centres have; which
        is which, the site knows of its own."""
        centres, matched = super().own_centres(own, numbers, entries), own.last(MATCH)
        if centres is None or matched is None:
            return centres
        known = zip(own.holdings.classes, matched.memory.entries, strict=True)
        before = {name: entry.number for name, entry in known}
        found: dict[int, set[int]] = {}
        for name, entry in zip(self.sent_classes(own), entries, strict=True):
            found.setdefault(entry.number, set()).add(before[name])
        among = {number: n.pop() for number, n in found.items() if len(n) == 1}
        last = centres_in(alignments_of(own)[-1].centres)
        return last.only([among.get(number, -1) for number in numbers.tolist()])

    # the coordinator's side

    def decode(self, known: Known, summed: Sum) -> HullTotal:
        """The hulls in the sum, if every site has used labels of one place, its own."""
        totals, n = summed.totals, summed.participants
        sums, *slots = self.layout(known, totals, n).to_ints(summed.vector)
        hulls = self.study.coding.decode(sums, totals[0], self.study.protocol.spare_sums)
        said = self.slots.decode(slots, len(summed.survivors), n, hulls)
        return HullTotal(hulls, said.rows, said.secrets)

    def learn(self, known: Known, opened: Sequence[Opened]) -> Learned:
        """Match the hulls, and train the study's classifier on their corners."""
        return self.learn_from(opened[-1].total)

    def learn_from(self, total: HullTotal) -> Learned:
        """The same hulls always give the same model: they are taken in an order that does not
        depend on the labels, which are drawn from the system's randomness."""
        study = self.study
        self._check_corners(total)
        labels = sorted(total.hulls, key=lambda label: (total.hulls[label], label))
        hulls = [study.quantizer.decode(np.array(total.hulls[label])) for label in labels]
        begin = perf_counter()
        made = Sorted(hulls, match(study, self.slots, total.rows, labels, hulls))
        grouped = perf_counter()
        learning = study.learning
        model = make_classifier(learning.method, study.geometry.curvature, learning.strength)
        fit_to_corners(model, *made.corners, self._owners(made))
        return Learned(
            model=model,
            words=f"{name_of(learning.method)}, as it is",
            match=made.match,
            secrets=total.secrets,
            seconds={"grouping": grouped - begin, "learning": perf_counter() - grouped},
            more=made,
        )

    def alternatives(
        self, known: Known, opened: Sequence[Opened], learned: Learned
    ) -> list[Candidate]:
        """The same classifier with other settings, and others, trained on the same corners."""
        made: Sorted = learned.more
        owners = self._owners(made)
        return [
            Candidate(words, fit_to_corners(model, *made.corners, owners))
            for words, model in self.others(class_weights(made)).items()
        ]

    def others(self, weights: Mapping[int, float]) -> dict[str, Any]:
        """The study's method with other settings, as far as it knows any, and for the default
        method the paper's: in words, and not trained yet."""
        learning, curvature = self.study.learning, self.study.geometry.curvature
        method = learning.method
        kind = CLASSIFIERS[method] if isinstance(method, str) else type(method)
        offered = getattr(kind, "alternatives", None)
        found: dict[str, Any] = {}
        if offered is not None:
            made = offered(curvature, learning.strength, weights)
            found |= {f"{name_of(method)}, {words}": model for words, model in made.items()}
        if method == _DEFAULT:
            other = CLASSIFIERS[_OTHER].for_study(curvature, _OTHER_STRENGTH)
            found[f"{_OTHER}, λ = {_OTHER_STRENGTH:g}"] = other
        return found

    def landmarks(self, known: Known, opened: Sequence[Opened], learned: Learned) -> Landmarks:
        """From the corners."""
        points, groups = learned.more.corners
        columns = np.searchsorted(learned.model.classes_, groups)
        return landmarks_of_corners(points, columns, self.study.geometry.curvature)

    def entries_for_judges(self, learned: Learned, bound_to: bytes) -> dict[int, bytes]:
        """Unless names are agreed, sites do not know yet which hull is of which class."""
        if self.study.classes.names or learned.match is None:
            return {}
        return sealed_entries(self.study, learned.match, learned.secrets, bound_to)

    def describe(self, total: HullTotal) -> dict[str, Any]:
        """The size of the sum."""
        coding = self.study.coding
        return {
            "hulls": len(total.hulls),
            "points_received": sum(map(len, total.hulls.values())),
            "bins": self.study.quantizer.n_bins,
            "field_bits": coding.field.bits,
            "planes": coding.planes,
            "label_code": coding.name,
        }

    def describe_site(self, sent: ClassHoldings, held: ClassHoldings) -> dict[str, Any]:
        """The points that left."""
        return {
            "points_sent": sent.points_sent,
            "points_held": sent.points_held,
            "points_guarded": sent.points_guarded,
        }

    def plan_sum(self, holdings: ClassHoldings | None, corners: int) -> tuple[Plan, Layout, int]:
        """Bins, label code, and the numbers that power sums of all corners are; without holdings,
        every site has this many corners."""
        study, sites = self.study, len(self.study.clients)
        classes, coding = study.labels.classes, study.coding
        corners = corners if holdings is None else holdings.points_sent
        announced = sites * announced_corners(corners)
        filled, n_bins, quantizer = sites * corners, study.quantizer.n_bins, study.quantizer
        layout = self.layout(Known(), (announced,), sites)
        collisions = filled * (filled - 1) / 2.0 / n_bins
        sums = study.sums_for(announced)
        numbers: dict[str, Any] = {
            "bins": n_bins,
            "labels": sites * classes,
            "label_code": coding.name,
            "label_code_reason": coding.reason,
            "labels_that_may_meet": coding.most_labels,
            "planes": coding.planes,
            "field_bits": coding.field.bits,
            "power_sums": sums,
            "largest_distortion": study.geometry.epsilon / 2.0,
            "expected_collisions": collisions,
        }
        planes = f", in {coding.planes} planes" if coding.planes > 1 else ""
        words = [
            f"Bins: {n_bins:,}, {quantizer.n_rings:,} rings of {quantizer.n_angles:,}. "
            f"A point moves by at most {study.geometry.epsilon / 2:g}.",
            f"Labels: {sites} sites × {classes} classes = {sites * classes}.",
            f"Label code: {coding.name}, because {coding.reason}.",
            f"Up to {coding.most_labels} labels may meet in one bin.",
            f"Field: a prime of {coding.field.bits} bits{planes}.",
            f"Upload: if every site has {corners} corners, each sends {sums:,} masked sums.",
            f"Bins shared by two hulls, if all bins were equally likely: about {collisions:.2g}; "
            f"near the rim there are more.",
        ]
        return Plan(numbers, words), layout, 1

    def n_alternatives(self, holdings: ClassHoldings | None) -> int:
        """The same classifier with other settings, and others."""
        return len(self.others({}))

    def describe_plan(self, holdings: ClassHoldings) -> Plan:
        """Plan of what would leave of these data."""
        numbers = {
            "points_guarded": holdings.points_guarded,
            "points_sent": holdings.points_sent,
            "bins_filled": holdings.prepared.bins_filled,
        }
        kept_out = f"The guard '{self.study.guard}' keeps {holdings.points_guarded} points out."
        return Plan(numbers, [kept_out])

    def _owners(self, made: Sorted) -> np.ndarray:
        """The place, by number, that each corner is of."""
        return np.repeat(owners_of(self.study, made.match.labels), list(map(len, made.hulls)))

    def _check_corners(self, total: HullTotal) -> None:
        """Every bin of a hull must be one of its corners: sites send nothing else."""
        for bins in total.hulls.values():
            centres = self.study.quantizer.decode(np.array(bins))
            if len(minimal_hull(centres, self.study.geometry.curvature)) < len(bins):
                raise UnknownLabelSum(
                    "a hull in the sum has bins that are not its corners: some site has not sent "
                    "the hulls of its classes"
                )


def class_weights(made: Sorted) -> dict[int, float]:
    """{class: the weight of its corners}, so that classes weigh as much as they have cells: a hull
    of many cells need not have more corners than one of few."""
    _, groups = made.corners
    numbers, corners = np.unique(groups, return_counts=True)
    cells = np.bincount(made.match.groups, made.match.counts)[numbers]
    if not cells.all():
        return dict.fromkeys(numbers.tolist(), 1.0)
    weights = cells / corners * corners.sum() / cells.sum()
    return dict(zip(numbers.tolist(), weights.tolist(), strict=True))
