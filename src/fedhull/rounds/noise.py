"""The noise that keeps what a study promises about single cells (`privacy`).

Slots are read one by one, so that every site adds all the noise of its own. Totals, of moments and
of votes, are read as sums over at least `threshold` sites, and each adds its share: as many honest
sites as that suffice, whoever else drops out.
"""

import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fedhull.learn.moments import BITS
from fedhull.learn.sketch import BITS as SKETCH_BITS
from fedhull.learn.sketch import LENGTH as SKETCH_LENGTH
from fedhull.learn.sketch import LONGEST as LONGEST_SKETCH
from fedhull.learn.tally import UNIT, Doubts, Tally
from fedhull.noise import cost_of, discrete_gaussian, epsilon_of, variance_for
from fedhull.study.dp import CELL, Privacy
from fedhull.study.study import Study

# Features are cosines, whose squares are ½ on average over random phases. Longer vectors than such
# are shortened to that, which costs less accuracy than the noise that it saves.
_LONGEST_SQUARE = 0.5
# Which shares of the cost are spent on slots, unless names are agreed; the rest is for totals.
ON_SLOTS, _ON_SLOT_COUNTS = 0.12, 0.2
_ON_CLASS_SUMS, _ON_CLASS_COUNTS = 0.27, 0.03
# Of the ballot's cost: confusion matrices, losses, counts and confidences in the levels, farness.
_ON_BALLOT = (0.4, 0.25, 0.2, 0.1, 0.05)
NOT_COVERED = (
    "Not covered by this: who takes part and when, the sizes of messages, which are the same "
    "whatever a site holds, an encoder that was made of the same cells, and further sessions over "
    "the same cells, of each of which the costs add up."
)
# What is read, the standard deviation of the noise in it, and by how much a cell can change it.
Line = tuple[str, float, float]
# A slot or a class with a count of fewer standard deviations is taken for empty.
CLEAR = 4.0


@dataclass(frozen=True)
class Noise:
    """The noise of a study: of what D = `features`, how many sites must stay, how many of them may
    work together with the coordinator, and whether classes have to be matched first."""

    promise: Privacy
    features: int
    threshold: int
    tolerated: int
    matched: bool

    @classmethod
    def of(cls, study: Study) -> "Noise":
        """The noise of a study with [privacy]."""
        assert study.privacy is not None
        matched = not study.classes.names
        return cls(
            study.privacy, study.learning.features, study.threshold, study.tolerated, matched
        )

    @property
    def cost(self) -> float:
        """ρ of the whole promise."""
        return cost_of(self.promise.epsilon, self.promise.delta)

    @property
    def longest_features(self) -> float:
        """Maximum length of the vector of a cell's features."""
        return math.sqrt(_LONGEST_SQUARE * self.features)

    @property
    def longest(self) -> int:
        """The square of that length in units of 2⁻¹⁶, at most: each feature may have been rounded
        by half a unit."""
        return math.ceil((self.longest_features * 2.0**BITS + math.sqrt(self.features)) ** 2)

    @property
    def slot_variances(self) -> tuple[int, int]:
        """Of the count of a class at a site, and of each number of its sketch."""
        count = self._cost_of_slots * _ON_SLOT_COUNTS
        sketch = self._cost_of_slots - count
        return self._variance(1, count), self._variance(LONGEST_SKETCH**2, sketch)

    @property
    def slot_deviations(self) -> tuple[float, float]:
        """The standard deviations of these."""
        count, sketch = self.slot_variances
        return math.sqrt(count), math.sqrt(sketch)

    @property
    def total_variances(self) -> tuple[int, int, int]:
        """Of what each site adds to Σφφᵀ, to Σφ of a class, and to its count."""
        cost = self.cost - (self._cost_of_slots if self.matched else 0.0)
        square, t = self.longest, self.threshold
        products = (square * square + (square << 2 * BITS)) // 2 + 1
        costs = (cost * (1.0 - _ON_CLASS_SUMS - _ON_CLASS_COUNTS), cost * _ON_CLASS_SUMS)
        return (
            self._variance(products, costs[0], t),
            self._variance(square, costs[1], t),
            self._variance(1, cost * _ON_CLASS_COUNTS, t),
        )

    def total_deviations(self, sites: int) -> tuple[float, float, float]:
        """The standard deviations of the totals over this many sites, in natural units."""
        gram, sums, counts = (math.sqrt(sites * v) for v in self.total_variances)
        return gram * 2.0 ** (-2 * BITS), sums * 2.0**-BITS, counts

    def slot_lines(self) -> list[Line]:
        """Values read per class of a site: their noise, and the most a cell can change them."""
        count, sketch = self.slot_deviations
        cells, unit = self.promise.cells, 2.0**-SKETCH_BITS
        return [
            ("the number of cells of a class of a site", count, float(cells)),
            ("each of the eight sums over them", sketch * unit, LONGEST_SKETCH * unit * cells),
        ]

    def total_lines(self, sites: int) -> list[Line]:
        """Totals read over this many sites: their noise, and the most a cell can change them."""
        gram, sums, counts = self.total_deviations(sites)
        square, cells = self.longest_features**2, self.promise.cells
        return [
            ("each total of a product of two features", gram, square * cells / math.sqrt(2.0)),
            ("each total of a feature, of a class", sums, math.sqrt(square) * cells),
            ("the number of cells of a class, in all", counts, float(cells)),
        ]

    def ballot_variances(self, n_candidates: int) -> list[int]:
        """Of what each site adds to what `Tally.squares` is of."""
        return [
            self._variance(square, self.cost * share, self.threshold)
            for square, share in zip(Tally.squares(n_candidates), _ON_BALLOT, strict=True)
        ]

    def doubts(self, n_candidates: int, n_classes: int, judges: int) -> Doubts:
        """Noise in this many judges' counts for a candidate."""
        confusion, losses, *_ = self.ballot_variances(n_candidates)
        # two candidates are compared, each by the diagonal of its matrix
        return Doubts(
            math.sqrt(2.0 * n_classes * judges * confusion), math.sqrt(2.0 * judges * losses) / UNIT
        )

    def slots(self, sketches: Sequence[Sequence[int]], n_slots: int, key: bytes) -> list[list[int]]:
        """A site's description of each of its classes, with noise; and noise alone where it has
        none, so that nobody can tell how many it has."""
        told = np.zeros((n_slots, 1 + SKETCH_LENGTH), dtype=np.int64)
        for row, sketch in zip(told, sketches, strict=False):
            row[:] = sketch
        count, sketch_variance = self.slot_variances
        told[:, 0] += discrete_gaussian(count, n_slots, key_for(key, "counts"))
        noise = discrete_gaussian(sketch_variance, told[:, 1:].size, key_for(key, "sketches"))
        told[:, 1:] += noise.reshape(n_slots, SKETCH_LENGTH)
        return told.tolist()

    def totals(self, n_classes: int, key: bytes) -> np.ndarray:
        """The noise that a site adds to its moments, in the order in which they are packed."""
        d = self.features
        sizes = d * (d + 1) // 2, n_classes * d, n_classes
        return _drawn(self.total_variances, sizes, key)

    def votes(self, n_candidates: int, n_classes: int, key: bytes) -> np.ndarray:
        """The noise that a site adds to its tally, in the order in which it is packed."""
        added = Tally.none(n_candidates, n_classes)
        parts = (
            added.confusion,
            added.losses,
            added.levels[..., :2],
            added.levels[..., 2],
            added.far,
        )
        sizes = [part.size for part in parts]
        drawn = _drawn(self.ballot_variances(n_candidates), sizes, key)
        for part, numbers in zip(parts, np.split(drawn, np.cumsum(sizes)[:-1]), strict=True):
            part[...] = numbers.reshape(part.shape)
        return added.packed()

    def spent(self, honest: int) -> float:
        """ε of what is published if this many sites have added their share of noise to the totals
        and keep it to themselves."""
        slots = self._cost_of_slots if self.matched else 0.0
        shared = self.threshold / honest
        trained, judged = slots + (self.cost - slots) * shared, self.cost * shared
        return epsilon_of(max(trained, judged), self.promise.delta)

    @property
    def _cost_of_slots(self) -> float:
        return self.cost * ON_SLOTS

    def _variance(self, square: int, cost: float, shared_by: int = 1) -> int:
        return variance_for(square * self.promise.cells**2, cost, shared_by)


def noise_of(study: Study) -> Noise | None:
    """The noise of a study; None if it promises nothing about single cells."""
    return None if study.privacy is None else Noise.of(study)


def key_for(key: bytes, purpose: str) -> bytes:
    """The key of one of several draws."""
    return hashlib.blake2b(purpose.encode(), key=key, digest_size=32).digest()


def _drawn(variances: Sequence[int], sizes: Sequence[int], key: bytes) -> np.ndarray:
    parts = zip(variances, sizes, strict=True)
    return np.concatenate(
        [discrete_gaussian(v, n, key_for(key, f"part {i}")) for i, (v, n) in enumerate(parts)]
    )


def promise_words(privacy: Privacy) -> str:
    """The promise, in one sentence."""
    what = "any single cell" if privacy.unit == CELL else f"all cells of any one {privacy.unit!r}"
    odds = math.exp(privacy.epsilon)
    factor = f"{odds:,.1f}" if odds < 1e6 else f"{odds:.1e}"
    most = (
        "" if privacy.unit == CELL else f"; at most {privacy.unit_cells:,} cells of each are used"
    )
    return (
        f"Noise hides {what} (differential privacy, ε = {privacy.epsilon:g}, δ = "
        f"{privacy.delta:g}): whatever anybody concludes from all that leaves is at most "
        f"{factor} times as likely with these data as without {_it(privacy)}, but for a chance of "
        f"{privacy.delta:g}{most}."
    )


def sharing_words(noise: Noise) -> str:
    """On whom the promise rests."""
    t, c = noise.threshold, noise.tolerated
    words = (
        f"This holds if {t} of the sites in the sum are honest, whoever drops out: each adds its "
        f"share of the noise."
    )
    if c == 0:
        return words
    sites = "one site" if c == 1 else f"{c} sites"
    return (
        f"{words} Against a coordinator that {sites} told their noise, with no more than {t} in "
        f"the sum, ε is {noise.spent(t - c):.2g}."
    )


def _it(privacy: Privacy) -> str:
    return "it" if privacy.unit == CELL else "them"
