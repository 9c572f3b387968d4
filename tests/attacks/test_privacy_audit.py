"""An audit of the noise: what studies with [privacy] release is drawn many times, over two sets of
cells that differ by one cell of the worst kind, and told apart by the best linear statistic.

From how well that works follows, at 95 % confidence, an ε that the release cannot be below. It must
not exceed what the study claims; and with noise of a quarter of the standard deviation it must.
A bound that stays below proves nothing by itself: the laws at the end say why it has to.
"""

from dataclasses import dataclass

import numpy as np
import pytest
from scipy.special import betaincinv

from fedhull.errors import InvalidInput
from fedhull.learn.horocycles import SCALES, draw_horocycles
from fedhull.learn.moments import Extent, moments_of_points
from fedhull.learn.sketch import LENGTH, LONGEST
from fedhull.learn.tally import TEMPERATURES, Tally
from fedhull.noise import discrete_gaussian, epsilon_of
from fedhull.rounds.noise import Noise, key_for, noise_of
from fedhull.study.draft import draft_study, with_names
from fedhull.study.kinds import task_of

FEATURES, CLASSES, CANDIDATES, SITES = 2, 2, 1, 3
DRAWS, CONFIDENCE = 6_000, 0.95
KEY = bytes(range(32))
# Another cell of a class, and those that are there anyway.
CELLS = np.random.default_rng(0).uniform(-0.6, 0.6, (300, 2))


def study(epsilon, **settings):
    return draft_study(
        SITES, CLASSES, summary="moments", features=FEATURES, dp_epsilon=epsilon, **settings
    )


def describe(of_study, cells):
    """The row of a class with these cells."""
    return task_of(of_study).rounds[0].slots.describe(cells)


@dataclass(frozen=True)
class Part:
    """Numbers that are released together: by how much the cell changes them, the variance of the
    noise that one site adds to each, and how many sites do."""

    change: np.ndarray
    variance: int
    sites: int = 1

    def statistics(self, key):
        """The best linear statistic of the noise in many releases, which is its share of the
        logarithm of the likelihood ratio; and by how much the cell shifts it."""
        change = self.change[self.change != 0.0]
        weights, total = change / (self.variance * self.sites), np.zeros((DRAWS, len(change)))
        for site in range(self.sites):
            drawn = discrete_gaussian(self.variance, total.size, key_for(key, f"site {site}"))
            total += drawn.reshape(total.shape)
        return total @ weights, float(change @ weights)


def statistics(parts):
    """The same of parts that are released together."""
    found = [part.statistics(key_for(KEY, f"{i}")) for i, part in enumerate(parts)]
    return sum(noise for noise, _ in found), sum(shift for _, shift in found)


def lower_bound(noise, shift, delta):
    """An ε that the release is not below, at 95 % confidence: the threshold is chosen on half of
    the draws, and both error rates are bounded on the other half."""
    first, second = np.split(noise, 2)
    thresholds = np.quantile(first, 1.0 - np.geomspace(0.0005, 0.5, 40))
    bounds = [_bound(t, first, first + shift, delta) for t in thresholds]
    return _bound(thresholds[int(np.argmax(bounds))], second, second + shift, delta)


def _bound(threshold, without, with_it, delta):
    """log((TPR − δ)/FPR), each rate at the wrong end of its Clopper–Pearson interval."""
    n, beyond = len(without), (1.0 - CONFIDENCE) / 2.0
    false, true = int((without > threshold).sum()), int((with_it > threshold).sum())
    most = float(betaincinv(false + 1, n - false, 1.0 - beyond)) if false < n else 1.0
    least = float(betaincinv(true, n - true + 1, beyond)) if true else 0.0
    return np.log(max(least - delta, 1e-12) / most)


def slots(noise, of_study):
    """Count and sketch of a class at a site: the cell is in the middle, where none is longer."""
    cells = CELLS[:20]
    before, after = (describe(of_study, x) for x in (cells, np.append(cells, [[0.0, 0.0]], axis=0)))
    change = np.subtract(after, before).astype(float)
    count, sketch = noise.slot_variances
    return [Part(change[:1], count), Part(change[1:], sketch)]


def totals(noise):
    """Moments of all cells: the cell is the one with the longest products of its features."""
    drawn = draw_horocycles(FEATURES, 2, SCALES, 0)
    extent = Extent(FEATURES, (FEATURES,) * CLASSES)
    changes = [
        moments_of_points(
            cell[None], np.zeros(1, dtype=int), CLASSES, drawn, 1.0, noise.longest_features
        ).packed(extent)
        for cell in CELLS
    ]
    n_products = FEATURES * (FEATURES + 1) // 2
    change = max(changes, key=lambda c: np.square(c[:n_products].astype(float)).sum()).astype(float)
    pieces = np.split(change, [n_products, n_products + CLASSES * FEATURES])
    shared = zip(pieces, noise.total_variances, strict=True)
    return [Part(piece, variance, noise.threshold) for piece, variance in shared]


def votes(noise):
    """A tally: of a cell of which all candidates are sure, and wrong, so that its loss is largest;
    the site's sums are such that rounding adds to it."""
    runs = CANDIDATES * len(TEMPERATURES)
    changed = (CANDIDATES, runs, 2 * runs, runs, 1)
    squares = Tally.squares(CANDIDATES)
    changes = [np.full(n, np.sqrt(s / n)) for s, n in zip(squares, changed, strict=True)]
    pairs = zip(changes, noise.ballot_variances(CANDIDATES), strict=True)
    return [Part(change, variance, noise.threshold) for change, variance in pairs]


def claims(epsilon):
    """What is released of a cell, and the ε that it may cost: a cell that is trained on is in slots
    and in totals, one that is held out in votes."""
    of_study = study(epsilon)
    noise = noise_of(of_study)
    delta, cost = noise.promise.delta, noise.cost
    of_slots, of_totals = slots(noise, of_study), totals(noise)
    shares = {"slots": cost * 0.15, "totals": cost * 0.85}
    return {
        "slots": (of_slots, epsilon_of(shares["slots"], delta)),
        "totals": (of_totals, epsilon_of(shares["totals"], delta)),
        "slots and totals": ([*of_slots, *of_totals], epsilon),
        "votes": (votes(noise), epsilon),
    }, delta


@pytest.mark.parametrize(
    ("epsilon", "what"),
    [
        (4.0, "slots"),
        (4.0, "totals"),
        (4.0, "slots and totals"),
        (1.0, "slots and totals"),
        (4.0, "votes"),
    ],
)
def test_what_is_observed_stays_below_what_is_claimed_unless_noise_is_a_quarter(epsilon, what):
    found, delta = claims(epsilon)
    parts, claimed = found[what]
    noise, shift = statistics(parts)
    assert 0.1 * claimed < lower_bound(noise, shift, delta) <= claimed
    assert lower_bound(noise / 4.0, shift, delta) > claimed


def test_sites_add_the_noise_that_was_audited():
    noise = noise_of(study(2.0))
    d, added = FEATURES, noise.totals(CLASSES, KEY)
    sizes = (d * (d + 1) // 2, CLASSES * d, CLASSES)
    expected = [
        discrete_gaussian(variance, size, key_for(KEY, f"part {i}"))
        for i, (variance, size) in enumerate(zip(noise.total_variances, sizes, strict=True))
    ]
    assert (added == np.concatenate(expected)).all()
    told = np.array(noise.slots([[7] + [0] * LENGTH], CLASSES, KEY))
    count, sketch = noise.slot_variances
    assert (told[:, 0] - [7, 0] == discrete_gaussian(count, 2, key_for(KEY, "counts"))).all()
    drawn = discrete_gaussian(sketch, 2 * LENGTH, key_for(KEY, "sketches"))
    assert (told[:, 1:].ravel() == drawn).all()


# Laws: no cell changes more than noise is made for.


@pytest.mark.parametrize("seed", range(5))
def test_no_cell_changes_what_is_said_of_its_class_by_more_than_the_longest_sketch(seed):
    of_study, rng = study(1.0), np.random.default_rng(seed)
    for _ in range(200):
        cells = rng.uniform(-0.7, 0.7, (rng.integers(1, 30), 2))
        change = np.subtract(describe(of_study, cells), describe(of_study, cells[1:]))
        assert change[0] == 1
        assert np.square(change[1:]).sum() <= LONGEST**2


def test_rounded_sketches_would_change_by_more():
    rounded, rng, most = study(None, align=0), np.random.default_rng(0), 0.0
    for _ in range(200):
        cells = rng.uniform(-0.7, 0.7, (rng.integers(2, 30), 2))
        change = np.subtract(describe(rounded, cells), describe(rounded, cells[1:]))
        most = max(most, float(np.square(change[1:].astype(float)).sum()))
    assert most > 1.5 * LONGEST**2


def test_no_cell_changes_totals_by_more_than_the_noise_is_made_for():
    noise = noise_of(study(1.0))
    assert isinstance(noise, Noise)
    square = float(noise.longest)
    products, sums, counts = totals(noise)
    assert np.square(products.change).sum() <= (square**2 + square * 2.0**32) / 2.0 + 1.0
    assert np.square(sums.change).sum() <= square
    assert np.square(counts.change).sum() == 1


@pytest.mark.parametrize("seed", range(3))
def test_no_cell_changes_a_tally_by_more_than_its_squares(seed):
    rng = np.random.default_rng(seed)
    for _ in range(100):
        n = int(rng.integers(2, 12))
        scores = rng.normal(0.0, 4.0, (CANDIDATES, n, CLASSES))
        logs = scores - np.log(np.exp(scores).sum(axis=2, keepdims=True))
        true, far = rng.integers(CLASSES, size=n), rng.uniform(0.1, 50.0, n)
        both = [
            Tally.of(logs, logs.argmax(axis=2), true, np.ones(len(true), dtype=bool), far)
            for logs, true, far in ((logs, true, far), (logs[:, 1:], true[1:], far[1:]))
        ]
        a, b = both
        changes = (
            a.confusion - b.confusion,
            a.losses - b.losses,
            a.levels[..., :2] - b.levels[..., :2],
            a.levels[..., 2] - b.levels[..., 2],
            a.far - b.far,
        )
        for change, square in zip(changes, Tally.squares(CANDIDATES), strict=True):
            assert np.square(change).sum() <= square


def test_a_class_that_stands_for_several_is_refused_since_its_cells_would_count_twice():
    named = with_names(study(1.0), ["a", "b"])
    with pytest.raises(InvalidInput, match="stands for several"):
        task_of(named).prepare(CELLS[:4], np.array(["both"] * 4), several={"both": ["a", "b"]})
