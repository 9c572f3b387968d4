"""An account of a study of moments, exactly as strong as docs/threat-model.md."""

from functools import cached_property
from typing import Any, ClassVar

from fedhull.learn.places import LENGTH as PLACE_LENGTH
from fedhull.learn.sketch import LENGTH as SKETCH_LENGTH
from fedhull.registry import name_of
from fedhull.report import claims
from fedhull.report.account import STEPS, Account, Fact
from fedhull.report.head import COORDINATOR_CHECKS, sites_figure
from fedhull.report.page import AnySection, Figure
from fedhull.report.sections import ClassRow, Noise, NoiseLine, Step
from fedhull.report.words import count, number
from fedhull.rounds.moments import MOMENT_FIELD
from fedhull.rounds.noise import NOT_COVERED, promise_words, sharing_words

_NO_POSITION = "No cell's position left."


class MomentAccount(Account):
    """The sums of a study: in `match` sketches or places of classes, unless names were agreed; in
    `centres` the centres of classes over all sites, each time that sites aligned themselves; in
    `learn` the moments of all cells."""

    held_title: ClassVar[str] = "cells summed"

    @property
    def n_rounds(self) -> int:
        """Rounds, of which the last is that of moments."""
        return len(self.of.rounds)

    def numbers_in(self, name: str) -> int | None:
        """Numbers that each site sent in a round of this name, where the reader knows."""
        if self.own:
            return self.of.size_of(name)
        for round, opened in zip(self.of.rounds[::-1], self.of.opened[::-1], strict=False):
            if round.name == name:
                layout = round.layout(self.of.known, opened.totals, opened.participants)
                return sum(length for _, length in layout.parts)
        return None

    @cached_property
    def features(self) -> int:
        """Features of each cell; a site that came late knows their maximum only."""
        if not self.own:
            return self.of.total.extent.features
        totals = self.of.passed[-1].totals
        if not totals:
            return self.study.learning.features
        return self.of.round.extent(totals, len(totals)).features

    @property
    def cells(self) -> list[int] | None:
        """The cells of each class over all sites."""
        if self.own:
            return None
        return self.of.total.moments.counts[self.of.learned.more].tolist()

    @property
    def fewest(self) -> int | None:
        """The fewest cells behind the numbers of a class of a site."""
        if self.own:
            return self.of.holdings.smallest_group
        return None if self.of.match is None else int(min(self.of.match.counts))

    @property
    def slots_are_safe(self) -> bool:
        """True if fewer numbers left than cells have coordinates. Totals never hold as many;
        sketches do not if they are of five cells or more, nor places of three or more."""
        if self.noise is not None or self.named:
            return True
        numbers = PLACE_LENGTH if self.placed else SKETCH_LENGTH
        return self.fewest is not None and 2 * self.fewest > numbers

    def sent_by(self, site: Any) -> int | None:
        """Cells in the sums."""
        return site.holdings.cells_summed

    def sent(self) -> str:
        """Masked sums, and whether they give a position away."""
        sums = f"{number(self.n_rounds)} masked {'sum' if self.n_rounds == 1 else 'sums'}"
        safe = f"{_NO_POSITION} " if self.slots_are_safe else ""
        if not self.own:
            return f"{safe}Each site sent {sums} over its cells."
        slot = "where its cells lie" if self.placed else "a sketch"
        of_each = f", and of each class a count and {slot}"
        return (
            f"{safe}What left were {sums} over its cells, without names: the coordinator reads "
            f"totals over all sites{'' if self.named else of_each}."
        )

    def sites_figure(self) -> Figure:
        """Sites in the last round."""
        last = "the round" if self.n_rounds == 1 else "the last round"
        return sites_figure(self.sites, f"sites in {last}", f"before {last}")

    def own_figures(self) -> list[Figure]:
        """Cells and features."""
        sizes = [self.numbers_in(round.name) for round in self.of.rounds]
        known = [f"{size:,}" for size in sizes if size is not None]
        words = ", ".join(known[:-1]) + " and " * (len(known) > 1) + "".join(known[-1:])
        note = f"{words} masked numbers from each site" if known else ""
        features = Figure(value=f"{self.features:,}", label="features of each cell", note=note)
        return [self._cells_figure(), features]

    def _cells_figure(self) -> Figure:
        if self.own:
            held = self.of.holdings
            return Figure(
                value=f"{held.cells_summed:,} of {held.points_held:,}",
                label="of your cells were summed",
                note="no cell left by itself",
            )
        cells, of = self.cells or [], ""
        if self.simulation is not None:
            sites = [self.simulation.sites[name] for name in self.of.survivors]
            of = f" of {sum(site.holdings.points_held for site in sites):,}"
        note = f"in {count(len(cells), 'class', 'classes')}"
        return Figure(value=f"{sum(cells):,}{of}", label="cells in the totals", note=note)

    def seen_of_gone(self) -> list[str]:
        """Seen of sites that have dropped out; noise hides counts."""
        return [*([] if self.noise else [claims.COUNTS_OF_ONE_GONE]), claims.VANISHED]

    def own_hidden(self) -> list[str]:
        """Data of one site that the coordinator could not see."""
        slots = claims.WHOSE_PLACE if self.placed else claims.WHOSE_SKETCH
        return [
            claims.PRODUCTS_OF_ONE,
            claims.FEATURES_OF_ONE,
            *([] if self.named else [slots]),
            claims.WHOSE_CLASSES_IN_ROUNDS,
        ]

    def own_unprotected(self) -> list[str]:
        """Data in totals that nothing protects, or nothing but noise."""
        own = claims.OWN_CLASSES if self.own else ""
        if self.noise is not None:
            return [own, *self._promise(), claims.LYING_IN_NOISE]
        dropouts = claims.DROPOUTS
        if not self.named:
            slots = "places" if self.placed else "sketches"
            dropouts = f"{dropouts} {claims.DROPOUTS_TELL.format(slots=slots)}"
        return [
            own,
            claims.TOTALS,
            "" if self.named else self._solved(),
            claims.OF_TOTALS,
            claims.ONE_SITE,
            f"{claims.CENTRES_ADD}." if self.alignments else "",
            dropouts,
            claims.RARE_CLASSES if self.named else "",
            claims.TWO_WITH_MOMENTS if self.n_in_sum == 2 else "",
        ]

    def _solved(self) -> str:
        """The cells that can be calculated from what is said of each class of each site."""
        if self.slots_are_safe:
            return claims.OF_PLACES if self.placed else claims.OF_SKETCHES
        slots, few, numbers = (
            ("Places", "two", "five") if self.placed else ("Sketches", "four", "eight")
        )
        return (
            f"{slots} of {few} cells or fewer left, whose {numbers} numbers are as many as the "
            f"cells have coordinates."
        )

    def parameters(self) -> dict[str, str]:
        """Features besides."""
        return super().parameters() | {"features": f"at most {self.study.learning.features:,}"}

    def checks(self) -> tuple[str, ...]:
        """Passed by the coordinator of a study that has come to its end."""
        match = (
            "The first sum has as many places as there are sites in it",
            "What the first sum says of every place is what its site has sent",
        )
        same = ("All sites in a later round were told the same after the one before",)
        centres = ("The centres are such as cells can have",)
        learn = ("The totals are such as cells can have: counts, ranges, no negative scatter",)
        return (
            *COORDINATOR_CHECKS,
            *(() if self.named else match),
            *(same if self.n_rounds > 1 else ()),
            *(centres if self.alignments else ()),
            *(() if self.noise is not None else learn),
        )

    def _promise(self) -> list[str]:
        assert self.noise is not None
        return [promise_words(self.noise.promise), sharing_words(self.noise), NOT_COVERED]

    def more(self) -> list[AnySection | None]:
        """The promise of a study, and the noise behind it if all sites stay."""
        if self.noise is None:
            return super().more()
        of_slots = [] if self.named else self.noise.slot_lines()
        lines = [*of_slots, *self.noise.total_lines(len(self.study.clients))]
        return [
            *super().more(),
            Noise(
                unit=self.noise.promise.unit,
                words=self._promise(),
                lines=[NoiseLine(what=w, deviation=d, change=c) for w, d, c in lines],
            ),
        ]

    def left_words(self, rows: list[ClassRow]) -> str:
        """The numbers that left for each class."""
        slot = (
            "five numbers that say where it lies, and if it has eight cells or more a sketch of "
            "eight"
            if self.placed
            else "a sketch of eight numbers"
        )
        sketch = "" if self.named else f"a count and {slot} left, without its name, and "
        return (
            f"For each class, {sketch}sums of {self.features:,} features over its cells"
            f"{' left' if self.named else ''}, which can be read only as part of the total over "
            f"all sites.{f' {_NO_POSITION}' if self.slots_are_safe else ''}"
        )

    def steps(self) -> list[Step]:
        """The rounds one after the other."""
        study, n_classes = self.study, len(self.classes)
        slot, slots = ("place", "places") if self.placed else ("sketch", "sketches")
        noisy, grouping = self.noise is not None, (name_of(study.learning.grouping), "grouping")
        least = [(f"{study.disclosure.min_cells:,}", f"cells, at least, in each {slot}")]
        end = STEPS["sketches"]["noise" if noisy else "withheld"]
        others, opened = min(5, self.n_in_sum) - self.own, self.numbers_in("learn")
        sealed = [*[("sealed", "noise")] * others, *[("yours", "clear")] * self.own]
        cells = [(f"{sum(self.cells):,}", "cells in the totals")] if self.cells else []
        own: list[Fact] = []
        if self.own:
            own = [(f"{self.of.holdings.cells_summed:,}", "of your cells are in the sums")]
        matching = [
            self.step(slots, *self._travelled("match"), *([] if noisy else least), end=end),
            self.numbered("matched", grouping, slot=slot, alike=STEPS["matched"][slots]),
            self.step("told", rows=sealed, caption="Each opens for its owner only"),
        ]
        numbers = "Numbers" if opened is None else f"{opened:,} numbers"
        model = STEPS["ends"]["moments"].format(nearly="nearly " if noisy else "")
        return [
            *([self.numbered("agreed")] if self.named else matching),
            *self.aligned(*self._travelled("centres")),
            self.step(
                "moments",
                (f"{self.features:,}", "features"),
                *own,
                moved=", moved by its isometry," if self.alignments else "",
                features=self.features,
                noise="its share of the noise, which stays, and " if noisy else "",
            ),
            self.masked(
                "totals",
                *self._travelled("learn"),
                *cells,
                caption=f"{numbers} modulo 2^{MOMENT_FIELD.bits} − 1",
                noise=", noise included" if noisy else "",
            ),
            self.classifier(model, (count(n_classes, "class", "classes"), "in the model")),
        ]

    def _travelled(self, name: str) -> list[Fact]:
        size = self.numbers_in(name)
        return [] if size is None else [(f"{size:,}", "numbers of each site, masked")]
