"""Round anchors: means of groups of cells. The coordinator reads all of them and not whose they
are: every anchor stands in a slot of its own, whose name is drawn at random.

The cells behind each anchor are not told: all groups of a site are about equally large, so that
their sizes would tell which anchors are one site's. Only the number of all sites' cells is."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from fedhull.codes.power_sums import SlotCoding, signed, unsigned
from fedhull.disc.maps import pairwise_distance
from fedhull.embed.embedder import embedder_from_bytes
from fedhull.embed.embedding import measure_quality
from fedhull.embed.features import corrected
from fedhull.embed.neighbours import NeighbourEmbedder
from fedhull.errors import BadMessage, InvalidInput
from fedhull.learn.moments import MOST_CELLS
from fedhull.protocol.keys import Randomness
from fedhull.protocol.summation import Layout, Totals, Vector
from fedhull.rounds.axes import AxisNews
from fedhull.rounds.cells import CellHoldings, group_size
from fedhull.rounds.counts import Counts
from fedhull.rounds.disclosure import EVERYBODY, Disclosure, total_over, unnamed
from fedhull.rounds.encoder import EncoderOutcome, EncoderSiteOutcome
from fedhull.rounds.genes import GeneNews
from fedhull.rounds.round import Conclusion, Final, Known, Opened, Own, Record, Sum, Taken
from fedhull.study.encoder_study import NeighbourStudy
from fedhull.study.gene_list import GeneList

# Two anchors hardly ever draw the same of this many names.
_NAMES = 2**59
_UNIT = 2.0**-24
# No feature of a standardised cell is as large.
_LARGEST = 2.0**20
_ROUNDED_TO = 8
_FEWEST_ANCHORS = 4
_NEAREST = 15


@dataclass(frozen=True, repr=False)
class AnchorTotal:
    """All sites' anchors (m, c), in an order that says nothing, and the cells behind them."""

    anchors: np.ndarray
    cells: int


@dataclass(frozen=True)
class Anchors(Final):
    """Anchors along the axes, of which the encoder is made."""

    study: NeighbourStudy
    genes: GeneList
    name = purpose = "anchors"
    News = NeighbourEmbedder
    Drawn = list[int]

    def most(self, known: Known) -> Totals:
        """The anchors of a site."""
        return (rounded_up(self.study.encoder.max_anchors),)

    def layout(self, known: Known, totals: Totals, participants: int) -> Layout:
        """As many numbers as determine, and check, all anchors together, and that of the cells."""
        n_genes = len(known.last_of(GeneNews).chosen)
        return self.layout_for(len(known.last_of(AxisNews).axes(n_genes).components), totals[0])

    def layout_for(self, n_components: int, anchors: int) -> Layout:
        """The same for any number of axes and anchors."""
        coding = SlotCoding(_NAMES, n_components)
        return Layout(((coding.field, coding.length(anchors)), (coding.field, 1)))

    def read(self, known: Known, published: bytes) -> NeighbourEmbedder:
        """The encoder's file; BadMessage if it is none."""
        try:
            encoder = embedder_from_bytes(published, "what the server published")
        except InvalidInput as problem:
            raise BadMessage(f"{problem}") from None
        if not isinstance(encoder, NeighbourEmbedder):
            raise BadMessage(f"the server's encoder has the method {encoder.method!r}")
        return encoder

    def write(self, news: NeighbourEmbedder) -> bytes:
        """The encoder's file."""
        return news.to_bytes()

    def check(self, known: Known, news: NeighbourEmbedder, totals: Totals) -> None:
        """The encoder stands on what was published before."""
        (standard, axes), chosen = self._frame(known), self.study.encoder
        same = (
            news.preparation == standard.preparation
            and np.array_equal(news.standard.mean, standard.mean)
            and np.array_equal(news.standard.deviation, standard.deviation)
            and np.array_equal(news.axes.components, axes.components)
            and news.correction == chosen.correction
            and news.curvature == chosen.curvature
        )
        if not same:
            raise BadMessage("the server's encoder has other genes or axes than were published")

    def discloses(self, held: CellHoldings | None = None) -> list[Disclosure]:
        """Means of groups, and, if cells are held out, how well the encoder does on them."""
        study, rules = self.study, self.study.disclosure
        kept_out = study.encoder.holdout > 0 if held is None else held.test.any()
        cells = "cells" if held is None else "of your cells"
        donors = (
            f", of at least {rules.min_donors} donors" if held and held.donor is not None else ""
        )
        rows = [
            Disclosure(
                round=self.name,
                what=(
                    f"the mean along up to {study.encoder.n_components} axes (an anchor), "
                    f"published in the encoder; and the number of cells behind all anchors"
                ),
                of_whom=f"each group of at least {rules.group_size} {cells}{donors}",
                to_whom=EVERYBODY,
                how_many=study.encoder.n_components * rounded_up(study.encoder.max_anchors) + 1,
                protection=unnamed(study.threshold),
            )
        ]
        if kept_out:
            cells = "the cells" if held is None else f"your {int(held.test.sum()):,} cells"
            rows.append(
                Disclosure(
                    round=self.name,
                    what="one count: the nearest anchors that still are nearest in the disc",
                    of_whom=f"{cells} that are kept out",
                    how_many=2,
                    protection=total_over(study.threshold),
                )
            )
        return rows

    def own_anchors(self, known: Known, own: Own) -> tuple[np.ndarray, int]:
        """The means of the site's groups (m, c), and the number of cells in all of them."""
        features, groups = self.groups_of_cells(known, own)
        return np.array([features[group].mean(axis=0) for group in groups]), sum(map(len, groups))

    def groups_of_cells(self, known: Known, own: Own) -> tuple[np.ndarray, list[np.ndarray]]:
        """The training cells along the axes (n, c), and the groups in which they leave, as rows."""
        return own.once("groups", lambda: self._groups(known, own.holdings))

    def announce(self, known: Known, own: Own) -> Totals:
        """The number of anchors, rounded up."""
        return (rounded_up(len(self.own_anchors(known, own)[0])),)

    def draw(self, known: Known, own: Own, place: int, randomness: Randomness) -> list[int]:
        """A name for each anchor, in no order: that of a site's groups would tell which anchors
        are one site's."""
        below, names = randomness.below("names of anchors"), dict[int, None]()
        while len(names) < len(self.own_anchors(known, own)[0]):
            names[below(_NAMES)] = None
        return list(names)

    def encode(self, known: Known, own: Own, totals: Totals, participants: int) -> Vector:
        """Every anchor in its slot, and the number of cells."""
        anchors, cells = self.own_anchors(known, own)
        # whether a site takes part must not depend on its cells, whatever the axes are said to be
        fixed = np.rint(np.clip(anchors, -_LARGEST, _LARGEST) / _UNIT).astype(np.int64)
        slots = {name: unsigned(row) for name, row in zip(own.drawn, fixed.tolist(), strict=True)}
        coding = SlotCoding(_NAMES, len(self._frame(known)[1].components))
        layout = self.layout(known, totals, participants)
        return layout.vector([coding.encode(slots, totals[0]), [cells]])

    def take(self, known: Known, own: Own, news: NeighbourEmbedder) -> Taken:
        """The encoder, and how many of the anchors nearest to held-out cells still are in the disc,
        and of how many; nothing of too few cells."""
        held, agreeing = own.holdings, (0, 0)
        if held.test.sum() >= self.study.disclosure.min_cells:
            # all cells at once: how the site measures is told by all of them
            agreeing = count_agreeing(news, news.features(held.cells)[held.test])
        return Taken((news, agreeing), agreeing)

    def take_late(self, known: Known, own: Own, published: bytes) -> Taken:
        """The encoder, checked as far as the site knows what it stands on."""
        encoder = self.read(known, published)
        if len(known.raw) == 2:
            self.check(known, encoder, ())
        return self.take(known, own, encoder)

    def decode(self, known: Known, summed: Sum) -> AnchorTotal:
        """The anchors, if groups of cells can have them."""
        totals = summed.totals
        numbers, (cells,) = self.layout(known, totals, 0).to_ints(summed.vector)
        coding = SlotCoding(_NAMES, len(self._frame(known)[1].components))
        slots = sorted(tuple(signed(slot)) for slot in coding.decode(numbers, totals[0]).values())
        if not slots:
            raise InvalidInput("there are no anchors")
        anchors = np.array(slots, dtype=np.int64) * _UNIT
        smallest = self.study.disclosure.group_size
        enough = smallest * len(anchors) <= cells <= MOST_CELLS
        if not enough or (abs(anchors) > _LARGEST).any():
            raise InvalidInput(f"no groups of {smallest} or more cells can have such anchors")
        return AnchorTotal(anchors, cells)

    def conclude(self, known: Known, opened: Sequence[Opened]) -> Conclusion:
        """Lay the anchors out in the disc."""
        anchors, chosen = opened[-1].total.anchors, self.study.encoder
        if len(anchors) < _FEWEST_ANCHORS:
            raise InvalidInput(
                f"an encoder needs at least {_FEWEST_ANCHORS} anchors, but the sites have "
                f"{len(anchors)}: there are too few cells"
            )
        embedder = NeighbourEmbedder(
            curvature=chosen.curvature,
            n_genes=chosen.n_genes,
            n_components=chosen.n_components,
            n_neighbors=chosen.n_neighbors,
            seed=chosen.seed,
            counts=True,
            correction=chosen.correction,
        )
        return Conclusion(embedder.fit_anchors(*self._frame(known), anchors), ask=True)

    def outcome(self, coordinator: Any, record: Record, counts: Counts) -> EncoderOutcome:
        """The encoder, and how it came about."""
        genes, axes, anchors = (each.total for each in coordinator.opened)
        encoder = coordinator.known.news[-1]
        return EncoderOutcome(
            study=self.study,
            encoder=encoder,
            listed=len(self.genes.names),
            group=group_size(self.study, axes.cells),
            cells=[genes.cells, axes.cells, anchors.cells],
            in_rounds=[each.survivors for each in coordinator.opened],
            quality=measure_quality(encoder.anchors, encoder.places),
            counts=counts,
            record=record,
            rounds=coordinator.rounds,
        )

    def site_outcome(self, site: Any) -> EncoderSiteOutcome:
        """The encoder, which is everybody's, and how well it does on the site's own cells."""
        encoder, agreeing = site.finding
        known = [each.cells for each in site.known.news if hasattr(each, "cells")]
        return EncoderSiteOutcome(
            study=self.study,
            name=site.name,
            encoder=encoder,
            file=site.own.passed[-1].published,
            holdings=site.holdings,
            listed=len(self.genes.names),
            rounds=site.rounds,
            cells_in_sums=known,
            agreeing=agreeing,
            survivors=site.session.survivors,
        )

    def _frame(self, known: Known) -> tuple[Any, Any]:
        standard = known.last_of(GeneNews).standard(self.genes)
        return standard, known.last_of(AxisNews).axes(len(standard.mean))

    def _groups(self, known: Known, held: CellHoldings) -> tuple[np.ndarray, list[np.ndarray]]:
        standard, axes = self._frame(known)
        features = axes.features(standard, held.training)
        features = corrected(features, axes, self.study.encoder.correction)
        smallest = group_size(self.study, known.last_of(AxisNews).cells)
        return features, held.groups(features, smallest, self.study.disclosure.min_donors)


def count_agreeing(encoder: NeighbourEmbedder, features: np.ndarray) -> tuple[int, int]:
    """Of the 15 anchors that are nearest along the axes to each cell with these features (n, c),
    the number that are among its 15 nearest in the disc, and the number of all, over all cells."""
    from sklearn.metrics import pairwise_distances  # slow to import

    points, k = encoder.place(features), encoder.curvature
    n = min(_NEAREST, len(encoder.anchors))
    before = pairwise_distances(features, encoder.anchors)
    after = pairwise_distance(points, encoder.places / np.sqrt(k), curvature=k)
    near = [np.argsort(each, axis=1, kind="stable")[:, :n] for each in (before, after)]
    is_near = np.zeros(before.shape, dtype=bool)
    np.put_along_axis(is_near, near[0], values=True, axis=1)
    return int(np.take_along_axis(is_near, near[1], axis=1).sum()), n * len(features)


def rounded_up(anchors: int) -> int:
    """The part of a site with this many anchors in the total that all sites learn."""
    return math.ceil(anchors / _ROUNDED_TO) * _ROUNDED_TO
