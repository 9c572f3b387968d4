"""An account of a study of hulls, exactly as strong as docs/threat-model.md."""

from collections.abc import Sequence
from functools import cached_property
from typing import Any, ClassVar

import msgspec
import numpy as np

from fedhull.disc.hull import minimal_hull
from fedhull.disc.quantize import Quantizer
from fedhull.registry import name_of
from fedhull.report import claims
from fedhull.report.account import STEPS, Account, Fact
from fedhull.report.head import COORDINATOR_CHECKS
from fedhull.report.page import AnySection, Figure
from fedhull.report.sections import ClassRow, Hull, SharedBin, Step, Tradeoff, TradeoffRow
from fedhull.report.words import said

CHECKS = (
    "The spare power sums agree with what was decoded",
    "The sum has as many places as there are sites in it",
    "The hulls of every place are those that its site has sent",
    "Every bin of a hull is one of its corners",
)
# The share of points above which the page says why it is so large.
_LARGE = 0.5


class HullAccount(Account):
    """Hulls, the bins that they are made of, and in a simulation other widths of bins."""

    once: ClassVar[str] = "once"
    held_title: ClassVar[str] = "points sent, of those held"
    exactly: ClassVar[str] = "The coordinator's hulls equal the sites', bin for bin"
    matched: ClassVar[str] = "Hulls in the right class"
    columns: ClassVar[dict[str, str]] = {
        "guarded": "left out",
        "groups": "groups",
        "corners": "corners that left",
        "smallest": "smallest group",
    }

    @cached_property
    def hulls(self) -> list[Hull]:  # type: ignore[override]
        """The site's hulls, or all, by label."""
        bins_of, column_of = self._own_hulls() if self.own else self._decoded_hulls()
        return [
            Hull(
                label=self._short(label),
                place=self._places[self.study.place_of(label)],
                column=column_of[label],
                bins=around(bins, self.study.quantizer),
            )
            for label, bins in bins_of.items()
        ]

    def _own_hulls(self) -> tuple[dict[int, list[int]], dict[int, int]]:
        site = self.of
        numbers = sorted(site.finding.numbers.tolist())
        number_of = {name: number for number, name in site.names.items()}
        columns = [numbers.index(number_of[name]) for name in site.sent.classes]
        labels = site.label_of_class
        return (
            dict(zip(labels, site.sent.prepared.hulls, strict=True)),
            dict(zip(labels, columns, strict=True)),
        )

    def _decoded_hulls(self) -> tuple[dict[int, list[int]], dict[int, int]]:
        match, hulls = self.of.match, self.of.total.hulls
        columns = np.searchsorted(np.unique(match.groups), match.groups).tolist()
        return (
            {label: hulls[label] for label in match.labels},
            dict(zip(match.labels, columns, strict=True)),
        )

    @cached_property
    def _places(self) -> dict[int, int]:
        """Places that are drawn at random are long, so they are numbered from 0."""
        labels = self.of.label_of_class if self.own else self.of.match.labels
        return {place: i for i, place in enumerate(sorted(set(map(self.study.place_of, labels))))}

    def _short(self, label: int) -> int:
        """A label as it would be if there were no more places than are in use."""
        labels = self.study.labels_of(self._places[self.study.place_of(label)])
        return labels[label % self.study.labels.classes]

    @property
    def points_sent(self) -> int:
        """Corners of all hulls that the reader knows."""
        return sum(len(hull.bins) for hull in self.hulls)

    def _over(self, count: str) -> int | None:
        """A count of the site, or of all sites in the sum, where the reader knows it."""
        if self.own:
            return getattr(self.of.sent if count == "points_guarded" else self.of.holdings, count)
        if self.simulation is None:
            return None
        sites = [self.simulation.sites[name].outcome for name in self.of.survivors]
        held = (site.sent if count == "points_guarded" else site.holdings for site in sites)
        return sum(getattr(each, count) for each in held)

    def sent_by(self, site: Any) -> int | None:
        """Corners."""
        return site.outcome.sent.points_sent

    def sent(self) -> str:
        """Corners, as bins."""
        width = f"a bin of width {self.space.epsilon:g}"
        if self.own:
            return (
                f"{self.points_sent:,} of its {self._over('points_held'):,} points left, each "
                f"rounded to {width} and masked, without names or labels."
            )
        return (
            f"The coordinator saw the sum over these sites: {len(self.hulls)} hulls with "
            f"{self.points_sent:,} corners in all, each known to within {width}."
        )

    def own_figures(self) -> list[Figure]:
        """Corners and bins."""
        n_bins, space = self.study.quantizer.n_bins, self.space
        note = f"{n_bins:,} bins within radius {space.radius:.6g}"
        epsilon = Figure(value=f"ε = {space.epsilon:g}", label="width of a bin", note=note)
        return [self._points_figure(), epsilon]

    def _points_figure(self) -> Figure:
        total = self._over("points_held")
        if total is None:
            return Figure(
                value=f"{self.points_sent:,}",
                label="points received, as bins",
                note="the coordinator does not know how many points the sites hold",
            )
        share, guarded = self.points_sent / total, self._over("points_guarded")
        whose = "of your points left, as bins" if self.own else "points left, as bins"
        notes = said(
            f"the guard left out {guarded:,}" if guarded else "",
            "where a class has few points, most are corners" if share > _LARGE else "",
        )
        return Figure(
            value=f"{self.points_sent:,} of {total:,}",
            label=f"{whose} ({share:.1%})",
            note="; ".join(notes),
        )

    def own_hidden(self) -> list[str]:
        """Data of one site that the coordinator could not see."""
        return [claims.WHOSE_HULL, claims.WHOSE_CLASSES, claims.INNER_POINTS]

    def own_unprotected(self) -> list[str]:
        """Data of hulls that nothing protects."""
        return [
            claims.OWN_HULLS if self.own else "",
            claims.THE_HULLS,
            claims.TWO_WITH_HULLS if self.n_in_sum == 2 else "",
            claims.OF_PLACES if self.placed else "",
        ]

    def collusion(self) -> str:
        """One site is enough where labels go by an order that all sites know."""
        return super().collusion() if self.study.draws_places else claims.COLLUSION_BY_ORDER

    def parameters(self) -> dict[str, str]:
        """The disc, its bins, and the label code."""
        study, learning, coding = self.study, self.study.learning, self.study.coding
        return super().parameters() | {
            "width of a bin, ε": f"{self.space.epsilon:g}",
            "radius, R": f"{self.space.radius:.6g}",
            "bins": f"{study.quantizer.n_bins:,}",
            "guard": name_of(learning.guard),
            "method": name_of(learning.method),
            "label code": f"{coding.name}, {coding.planes} × {coding.field.bits} bits",
        }

    def checks(self) -> tuple[str, ...]:
        """Passed by the coordinator of a study that has come to its end."""
        return (*COORDINATOR_CHECKS, *CHECKS)

    def left_words(self, rows: list[ClassRow]) -> str:
        """Sentence on whether cells left with their own position."""
        sent = [row for row in rows if not row.withheld]
        smallest = min((row.smallest for row in sent), default=0)
        if smallest > 1:
            return (
                f"No cell's position left; everything sent is the mean of at least {smallest} "
                f"cells."
            )
        single = sum(row.single for row in sent)
        return f"{single:,} cells left with their own position, each to within a bin."

    def more(self) -> list[AnySection | None]:
        """A bin of the sum, and other widths of bins."""
        tradeoff = None
        if self.simulation is not None and self.simulation.tradeoff:
            rows, epsilon = self.simulation.tradeoff, self.study.geometry.epsilon
            words = wider(rows, epsilon, judged=self.judged is not None)
            tradeoff = Tradeoff(rows=rows, epsilon=epsilon, words=words)
        return [*super().more(), None if self.own else self._shared_bin(), tradeoff]

    def _shared_bin(self) -> SharedBin:
        """The bin where most labels meet: it shows best how the sum is taken apart."""
        labels_in: dict[int, list[int]] = {}
        for label, bins in sorted(self.of.total.hulls.items()):
            for j in bins:
                labels_in.setdefault(j, []).append(label)
        fullest = max(sorted(labels_in), key=lambda j: len(labels_in[j]))
        codes = [self.study.coding.code(label, fullest) for label in labels_in[fullest]]
        return SharedBin(
            bin=str(fullest),
            value=str(sum(codes)),
            labels=list(map(self._short, labels_in[fullest])),
            codes=list(map(str, codes)),
        )

    def steps(self) -> list[Step]:
        """Seven steps, or eight where sites align themselves."""
        study, learning, coding = self.study, self.study.learning, self.study.coding
        told, code = STEPS, "pairs" if coding.name == "pairs" else "vector"
        held, guarded = self._over("points_held"), self._over("points_guarded") or 0
        whose = "of your points are" if self.own else "points of the sites in the sum are"
        hull: list[Fact] = [(f"{held:,}", f"{whose} in the study")] if held is not None else []
        left_out = [(f"{guarded:,}", "of them were left out by the guard")] if hull else []
        groups = told["hull"]["groups"] if "group" in name_of(learning.guard) else ""
        corners = f"corners of {'your' if self.own else 'all'} hulls"
        # a site that comes late does not remember what was announced
        totals = self.of.passed[-1].totals if self.own else self.of.opened[-1].totals
        n_sums, grouping = study.sums_for(sum(totals)), name_of(learning.grouping)
        decoded = [(f"{len(self.hulls):,}", "of the hulls are yours")]
        if not self.own:
            filled = len({b for hull in self.hulls for b in hull.bins})
            decoded = [
                (f"{filled:,}", "bins that are not empty"),
                (f"{len(self.hulls):,}", "hulls, known by their labels"),
            ]
        return [
            *self.aligned(),
            self.step("hull", *hull, *left_out, groups=groups),
            self.step(
                "bins",
                (f"{study.quantizer.n_bins:,}", "bins"),
                (f"{self.points_sent:,}", corners),
                epsilon=self.space.epsilon,
            ),
            self._codes(told["codes"][code]),
            self.masked(
                "sums",
                (f"{n_sums:,}", f"power sums of {coding.field.bits} bits from each site"),
                caption=f"{n_sums:,} numbers modulo {coding.field.q:,}",
                first=told["sums"][code],
            ),
            self.step("decoded", *decoded, found=told["decoded"][code]),
            self.step("grouped", (f"{len(self.classes):,}", "classes"), (grouping, "grouping")),
            self.classifier(told["ends"]["hulls"], (name_of(learning.method), "method")),
        ]

    def _codes(self, then: str) -> Step:
        """A site knows the labels of its own classes only; others are shown a bin of the sum."""
        n_labels = self.study.labels.classes * len(self.study.clients)
        facts = (f"{n_labels:,}", "labels for all sites"), (self.study.coding.name, "label code")
        places = STEPS["codes"]["drawn" if self.study.draws_places else "agreed"]
        if not self.own:
            step = self.step("codes", *facts, places=places, then=then)
            picture = "corners" if self.study.coding.name == "pairs" else "codes"
            return msgspec.structs.replace(step, picture=picture)
        rows = [(self.classes[hull.column], f"label {hull.label + 1}") for hull in self.hulls]
        caption = f"Of the {n_labels} labels, your classes were sent under"
        step = self.step("codes", *facts, rows=rows, caption=caption, places=places, then=then)
        return msgspec.structs.replace(step, picture="table")


def wider(rows: Sequence[TradeoffRow], epsilon: float, judged: bool) -> str:
    """The best of the bins that are wider than a study's, do as well on test points or better, and
    reveal less; nothing where there are none."""
    own = next((row for row in rows if row.epsilon == epsilon), None)
    better = [
        row
        for row in rows
        if own is not None
        and row.epsilon > own.epsilon
        and row.accuracy >= own.accuracy
        and row.points_sent <= own.points_sent
    ]
    if own is None or not better:
        return ""
    best = max(better, key=lambda row: (row.accuracy, row.epsilon))
    how = "better" if best.accuracy > own.accuracy else "as well"
    unheld = ", and at other widths no ballot was held" if judged else ""
    return (
        f"Wider bins of ε = {best.epsilon:g} do {how} here and reveal less: {best.accuracy:.1f} % "
        f"instead of {own.accuracy:.1f} %, with {best.points_sent:,} instead of "
        f"{own.points_sent:,} corners, each to within a wider bin. This is one trial{unheld}: "
        f"try several with that width before a study."
    )


def around(bins: Sequence[int], quantizer: Quantizer) -> list[int]:
    """The bins of a hull, counter-clockwise."""
    numbers = np.array(bins, dtype=np.int64)
    corners = minimal_hull(quantizer.decode(numbers), quantizer.curvature)
    return [int(number) for number in numbers[corners]]
