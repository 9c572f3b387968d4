"""Rounds whose sums hide every single cell behind noise (`[privacy]`): the same rounds as without
it, but for what a site adds to its part, and for how much of a sum is believed."""

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
import numpy as np

from fedhull.codes.field import from_elements
from fedhull.errors import InvalidInput
from fedhull.learn.moments import Extent, Moments
from fedhull.learn.sketch import LENGTH as SKETCH_LENGTH
from fedhull.learn.sketch import class_sketch, from_fixed
from fedhull.learn.tally import Doubts, Tally
from fedhull.protocol.summation import Totals, Vector
from fedhull.rounds.ballot import FIELD, Ballot, NoBallot, Proposed, log_probabilities, read_columns
from fedhull.rounds.centres import n_classes
from fedhull.rounds.disclosure import Disclosure, Plan, total_over, unnamed
from fedhull.rounds.holdings import ClassHoldings, too_few
from fedhull.rounds.match import Matching, read_entries
from fedhull.rounds.moments import MOMENT_FIELD, MomentSums, MomentTotal
from fedhull.rounds.noise import CLEAR, NOT_COVERED, Noise, key_for, promise_words, sharing_words
from fedhull.rounds.outcome import LOST_IN_NOISE
from fedhull.rounds.pseudonym import Entry, Pseudonym
from fedhull.rounds.reading import Finding
from fedhull.rounds.round import Known, Opened, Own, Sum, Votes
from fedhull.rounds.slots import DecodedSlots, SlotSums
from fedhull.study.dp import bounded, lots

# The variance of a number of a sketch over the cells of a class, about.
_SPREAD = 0.1
# Draws of noise by which its price is estimated, and the fewest held-out cells to do so.
_DRAWS, _FEWEST = 5, 20


@dataclass(frozen=True)
class NoisySlotSums(SlotSums):
    """Slots in which every number has noise in it."""

    @property
    def noise(self) -> Noise:
        """The study's noise."""
        return Noise.of(self.study)

    def describe(self, cells: np.ndarray) -> list[int]:
        """Rounded sums could change by more than a cell adds to them, and noise hides no more."""
        k, seed = self.study.geometry.curvature, self.study.learning.seed
        return [len(cells), *class_sketch(cells, k, seed).tolist()]

    def interpret(self, rows: Sequence[Sequence[int]]) -> DecodedSlots:
        """A slot counts like one of fewer cells without noise whose mean would be as uncertain."""
        table = np.array(rows).reshape(-1, 1 + SKETCH_LENGTH).astype(np.float64)
        counts = np.maximum(table[:, 0], 1.0)
        means = from_fixed(table[:, 1:]) / counts[:, None]
        circles = means.reshape(len(means), -1, 2)
        lengths = np.hypot(circles[..., 0], circles[..., 1])
        circles /= np.maximum(lengths, 1.0)[..., None]
        noise = float(from_fixed(self.noise.slot_deviations[1])) ** 2
        worth = counts / (1.0 + noise / (_SPREAD * counts))
        return DecodedSlots(np.maximum(np.rint(worth), 1.0).astype(np.int64), means, None)

    def check(self, rows: Sequence[Sequence[int]]) -> None:
        """With noise in them, rows may be anything."""

    def clear(self, rows: Mapping[int, Sequence[int]]) -> list[int]:
        """The labels that stand out from the noise."""
        least = CLEAR * self.noise.slot_deviations[0]
        return [label for label in super().clear(rows) if rows[label][0] >= least]

    @property
    def nothing(self) -> str:
        """No label stands out."""
        return (
            f"there is nothing to learn from: with epsilon = {self.noise.promise.epsilon:g} no "
            f"class of a site stands out from the noise; use more data, fewer sites or a larger "
            f"epsilon"
        )


@dataclass(frozen=True)
class NoisyMatching(Matching):
    """Every site fills all slots that it may have: those of classes that it lacks with noise."""

    @property
    def slots(self) -> SlotSums:
        """Slots with noise in them."""
        return NoisySlotSums(self.study)

    def discloses(self, held: Any = None) -> list[Disclosure]:
        """Rows with noise in them."""
        n = self.study.labels.classes
        return [
            Disclosure(
                round=self.name,
                what=(
                    "its number of cells and a sketch, eight sums over them, with noise that this "
                    "machine adds; for a class that the site lacks, noise alone"
                ),
                of_whom=f"each of {n} classes that a site may have, without its name",
                how_many=(1 + SKETCH_LENGTH) * n,
                protection=f"{unnamed(self.study.threshold)}; {_hidden(self.study)}",
            )
        ]

    def rows(self, own: Own) -> list[list[int]]:
        """The site's rows, and noise in all of them."""
        n_slots, key = self.study.labels.classes, own.noise_key("slots")
        return Noise.of(self.study).slots(super().rows(own), n_slots, key)

    def read_entries(
        self, sealed: Mapping[int, bytes], pseudonym: Pseudonym, bound_to: bytes
    ) -> list[Entry]:
        """Classes may be lost in the noise."""
        return read_entries(self.study, sealed, pseudonym, bound_to, lost=True)

    def _n_slots(self, held: Any) -> int:
        return self.study.labels.classes


@dataclass(frozen=True)
class NoisyMomentSums(MomentSums):
    """Totals to which every site adds its share of the noise. The numbers of cells are secret."""

    @property
    def noise(self) -> Noise:
        """The study's noise."""
        return Noise.of(self.study)

    at_most = ""
    asks = False  # counts without noise are nobody's to have
    standing_out = ", as many as stand out from the noise"
    rule = ()

    @property
    def longest(self) -> float:  # type: ignore[override]
        """The longest that the vector of a cell's features may be."""
        return self.noise.longest_features

    @property
    def protection(self) -> str:
        """Masks, and noise in the totals."""
        return f"{total_over(self.study.threshold)}; {_hidden(self.study)}"

    def warnings(self, holdings: ClassHoldings) -> list[str]:
        """The promise, on whom it rests, and what it does not cover."""
        noise = self.noise
        return [promise_words(noise.promise), sharing_words(noise), NOT_COVERED]

    def most(self, known: Known) -> Totals:
        """Nothing is announced."""
        return ()

    def announce(self, known: Known, own: Own) -> Totals:
        """Nothing is announced."""
        return ()

    def extent(self, totals: Totals, n: int) -> Extent:
        """All of it may be known."""
        features = self.study.learning.features
        return Extent(features, (features,) * n)

    def own_moments(self, known: Known, own: Own, totals: Totals) -> Moments:
        """The site's moments, and its share of the noise."""
        n = n_classes(self.study, known)
        added = self.noise.totals(n, own.noise_key("moments", known.basis))
        without = super().own_moments(known, own, totals)
        return without + Moments.unpacked(added, self.extent(totals, n))

    def decode(self, known: Known, summed: Sum) -> MomentTotal:
        """The totals, whatever they are."""
        extent = self.extent((), n_classes(self.study, known))
        moments = Moments.unpacked(from_elements(summed.vector[0], MOMENT_FIELD), extent)
        return MomentTotal(moments, extent)

    def least_cells(self, survivors: int) -> float:
        """As many as stand out from the noise."""
        return CLEAR * self.noise.total_deviations(survivors)[2]

    def fitted(self, opened: Opened, **settings: Any) -> Any:
        """A classifier that knows of the noise."""
        from fedhull.learn.moment_classifier import MomentClassifier

        which = self.enough(opened)
        deviation = self.noise.total_deviations(len(opened.survivors))[0]
        settings |= self.features | {"deviation": deviation}
        return MomentClassifier.from_noisy_moments(
            opened.total.moments.only(which), which, **settings
        )

    def other_settings(self, extent: Extent) -> dict[str, dict[str, Any]]:
        """Shares of the usual penalty, which goes by the noise. Few, because each costs some of
        what the sites' votes may say."""
        return {
            "moments, a third of the penalty": {"relative": 1.0 / 3.0},
            "moments, three times the penalty": {"relative": 3.0},
        }

    def too_few(self, members: np.ndarray, donors: np.ndarray | None) -> str:
        """Any class leaves: whether it does must not hang on a single cell."""
        return too_few(self.study, members, None, 0)

    def split(
        self, x: np.ndarray, y: np.ndarray, donors: np.ndarray | None, untested: Collection[Any]
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray | None, np.ndarray]:
        """The cells that are used if no donor may have more than the study says, kept for testing
        by a hash of their own."""
        promise, seed = self.noise.promise, self.study.learning.seed
        if promise.donors is None:
            donors = None
        elif donors is None:
            raise InvalidInput(
                f"the study protects all cells of one {promise.donors!r} together, so it must be "
                f"known whose cells they are; name the column with --donor"
            )
        else:
            used = bounded(x, donors, promise.cells, seed)
            x, y, donors = x[used], y[used], donors[used]
        return x, y, donors, lots(x, donors, seed) < self.study.learning.holdout

    def prepare(
        self,
        x: np.ndarray,
        y: np.ndarray,
        donors: np.ndarray | None = None,
        several: Mapping[str, list[str]] | None = None,
    ) -> ClassHoldings:
        """A class that stood for several would have its cells in the sums once for each of them,
        and noise hides them once."""
        if several:
            raise InvalidInput(
                f"a class must stand for one of the agreed names where [privacy] hides single "
                f"cells, but {min(several)!r} stands for several; leave its cells out, or tell "
                f"them apart"
            )
        return super().prepare(x, y, donors)

    def read_entries(
        self, sealed: Mapping[int, bytes], pseudonym: Pseudonym, bound_to: bytes
    ) -> list[Entry]:
        """Classes may be lost in the noise."""
        return read_entries(self.study, sealed, pseudonym, bound_to, lost=True)

    def check_entries(self, entries: list[Entry], known: set[int]) -> None:
        """The model may lack classes that are lost in the noise."""

    def tells(self, finding: Finding) -> tuple[int, int]:
        """Nothing."""
        return 0, 0

    def plan_sum(self, holdings: ClassHoldings | None, corners: int) -> Any:
        """The sum, and what its noise costs in accuracy."""
        planned, layout, announced = super().plan_sum(holdings, corners)
        promise = msgspec.structs.asdict(self.noise.promise)
        words = [*planned.words, *self.warnings(holdings or ClassHoldings(classes=[]))]
        if holdings is not None:
            promise["price"] = price = self.price(holdings)
            words.append(_price_words(price))
        return Plan(planned.numbers | {"dp": promise}, words), layout, announced

    def price(self, held: ClassHoldings) -> dict[str, Any] | None:
        """The percentage of the site's held-out cells that is classified correctly without noise
        and with it, on average over a few draws, if every site holds what this one holds and
        classes are matched rightly. None if there are too few cells to tell."""
        from fedhull.learn.moment_classifier import MomentClassifier

        sites, n = len(self.study.clients), len(held.classes)
        if n < 2 or len(held.test_y) < _FEWEST:
            return None
        extent = self.extent((), n)
        x, of_class = held.taking_part()
        mine = self.moments_of(x, of_class, n, extent)
        total = Moments(mine.gram * sites, mine.sums * sites, mine.counts * sites)
        settings = {k: v for k, v in self.features.items() if k != "n_features"}
        deviation, names = self.noise.total_deviations(sites)[0], np.array(held.classes)
        right = []
        for draw in range(_DRAWS):
            keys = (key_for(bytes(32), f"draw {draw} of site {i}") for i in range(sites))
            added = sum(self.noise.totals(n, key) for key in keys)
            noisy = total + Moments.unpacked(np.asarray(added), extent)
            model = MomentClassifier.from_noisy_moments(
                noisy, names, deviation=deviation, **settings
            )
            right.append(_share_right(model, held))
        plain = MomentClassifier.from_noisy_moments(total, names, deviation=0.0, **settings)
        without = _share_right(plain, held)
        return {
            "without_noise": without,
            "with_noise": float(np.mean(right)),
            "points_lost": without - float(np.mean(right)),
            "tested": len(held.test_y),
        }


@dataclass(frozen=True)
class NoisyBallot(Ballot):
    """A ballot in which every site's votes have its share of the noise."""

    @property
    def noise(self) -> Noise:
        """The study's noise."""
        return Noise.of(self.study)

    noisy = True
    protection = "; with your share of the noise"

    def judge(
        self, own: Own, proposed: bytes, tested: np.ndarray, numbers: np.ndarray, cells: np.ndarray
    ) -> tuple[Vector, Tally]:
        """The tally and its noise."""
        read = self.read(proposed)
        known = np.flatnonzero(np.isin(numbers, read.classes))
        tally = self.tally(read, tested[known], numbers[known], cells)
        key = own.noise_key("votes", proposed)
        added = self.noise.votes(len(read.models), len(read.classes), key)
        return self.vector(read, tally.packed() + added), tally

    def tally(
        self, read: Proposed, tested: np.ndarray, numbers: np.ndarray, cells: np.ndarray
    ) -> Tally:
        """The tally of all these points. Noise will hide each of them, so that none is left out: a
        rule by which some are would be changed by a single cell."""
        if not len(tested):
            return Tally.none(len(read.models), len(read.classes))
        each = np.array([log_probabilities(model, tested) for model in read.models])
        far = read.landmarks.farness(tested, self.study.geometry.curvature)
        said = np.ones(len(tested), dtype=bool)
        return Tally.of(each, each.argmax(axis=2), read_columns(read, numbers), said, far)

    def opened(self, votes: Votes, n_candidates: int, n_classes: int) -> Tally | None:
        """The tally that is likeliest behind the noise."""
        if votes.judged is None:
            return None
        counted = from_elements(np.array(votes.judged[0], dtype=np.uint64), FIELD)
        return Tally.unpacked(counted.tolist(), n_candidates, n_classes).without_noise()

    def doubts(self, n_candidates: int, n_classes: int, judges: int) -> tuple[Doubts, int]:
        """The noise in the votes."""
        doubts = self.noise.doubts(n_candidates, n_classes, judges)
        return doubts, math.ceil(2.0 * doubts.cells)

    def unclear(self, tally: Tally, doubts: Doubts) -> str:
        """Votes must stand out from the noise."""
        if reason := super().unclear(tally, doubts):
            return reason
        return LOST_IN_NOISE if tally.n_cells < CLEAR * doubts.cells else ""

    def abstains(self, tested: int | None) -> list[str]:
        """No site abstains."""
        return []


@dataclass(frozen=True)
class NoNoisyBallot(NoBallot):
    """A study with noise and without a ballot: nothing leaves of held-out points."""

    def discloses(self, study: Any, held: Any) -> list[Disclosure]:
        """Nothing."""
        return []


def _hidden(study: Any) -> str:
    promise = Noise.of(study).promise
    return f"noise hides every {promise.unit} (ε = {promise.epsilon:g}, δ = {promise.delta:g})"


def _price_words(price: dict[str, Any] | None) -> str:
    if price is None:
        return "What the noise costs in accuracy cannot be told from so few held-out cells."
    return (
        f"What the noise would cost, if every site holds what you hold: of your "
        f"{price['tested']:,} held-out cells {price['without_noise']:.1f} % are classified "
        f"correctly without noise and {price['with_noise']:.1f} % with it, "
        f"{price['points_lost']:.1f} points fewer."
    )


def _share_right(model: Any, held: ClassHoldings) -> float:
    return 100.0 * float((model.predict(held.test_x) == held.test_y).mean())
