"""The interface of tasks carries studies of several, different sums under one consent."""

from dataclasses import dataclass

import numpy as np
import pytest
from parties import identity

from fedhull.codes.field import Field
from fedhull.protocol.agreement import Agreement, Cohort
from fedhull.protocol.drive import MemoryEngine
from fedhull.protocol.summation import Layout
from fedhull.rounds.round import Conclusion, Final, News, Taken
from fedhull.rounds.run import Coordinator, run_study
from fedhull.rounds.site import Site

NAMES = ["site-a", "site-b", "site-c"]
UNIT = 2.0**-22
FIELD = Field(2**61 - 1)


def weighted(numbers: np.ndarray, cells: int) -> list[int]:
    """Means in fixed point times the number of cells, and that number."""
    return [*(cells * np.rint(numbers / UNIT).astype(int)).tolist(), cells]


class Averages(News, frozen=True):
    """Averages over all sites' cells."""

    numbers: list[float]


@dataclass
class Spread:
    mean: list
    spread: float
    counts: object
    failures: dict


class MeanRound(Final):
    """The mean of all sites' points, (n, 2)."""

    name = purpose = "mean"
    News = Averages
    size, ask = 2, False

    def layout(self, known, totals, participants):
        return Layout(((FIELD, self.size + 1),))

    def discloses(self, held=None):
        return []

    def own_average(self, known, points):
        return points.mean(axis=0)

    def encode(self, known, own, totals, participants):
        points = own.holdings
        numbers = weighted(self.own_average(known, points), len(points))
        return [FIELD.vector([n % FIELD.q for n in numbers])]

    def take(self, known, own, news):
        return Taken(news, (3, 4))

    def decode(self, known, summed):
        half = FIELD.q // 2
        *sums, cells = [(n + half) % FIELD.q - half for n in FIELD.to_ints(summed.vector[0])]
        return np.array(sums) / cells * UNIT

    def conclude(self, known, opened):
        return Conclusion(Averages(opened[-1].total.tolist()), ask=self.ask)

    def outcome(self, coordinator, record, counts):
        mean, spread = (each.total for each in coordinator.opened)
        return Spread(mean.tolist(), float(spread[0]), counts, record.failures)

    def site_outcome(self, site):
        return None


class SpreadRound(MeanRound):
    """The mean square of distances from the mean that everybody was shown."""

    name = purpose = "spread"
    size, ask = 1, True

    def own_average(self, known, points):
        mean = np.array(known.last_of(Averages).numbers)
        return ((points - mean) ** 2).sum(axis=1).mean(keepdims=True)


ROUNDS = (MeanRound(), SpreadRound())


def parties():
    rng = np.random.default_rng(0)
    study = Agreement(
        name="test",
        protocol=Cohort(threshold=2),
        clients={name: identity(name).public for name in NAMES},
    )
    points = {name: rng.normal(size=(20 + 5 * i, 2)) for i, name in enumerate(NAMES)}
    return (
        study,
        points,
        [Site(study, ROUNDS, name, identity(name), points[name]) for name in NAMES],
    )


def test_a_task_may_have_several_sums_each_starting_from_what_the_last_one_published():
    study, points, sites = parties()
    outcome = run_study(Coordinator(study, ROUNDS), MemoryEngine(sites))
    pooled = np.concatenate(list(points.values()))
    assert outcome.mean == pytest.approx(pooled.mean(axis=0), abs=1e-6)
    assert outcome.spread == pytest.approx(
        ((pooled - pooled.mean(axis=0)) ** 2).sum(1).mean(), 1e-6
    )
    assert all(site.done for site in sites)
    # only the second publication asked how well it does
    assert (outcome.counts.correct, outcome.counts.tested) == (9, 12)


def test_a_site_that_leaves_between_two_sums_is_in_the_first_only():
    study, points, sites = parties()

    class Leaving(MemoryEngine):
        invitations = 0

        def step(self, kind, messages, timeout=0.0):
            self.invitations += kind == "advertise"
            if self.invitations == 2:
                self._gone.add("site-b")
            return super().step(kind, messages, timeout)

    outcome = run_study(Coordinator(study, ROUNDS), Leaving(sites))
    pooled = np.concatenate(list(points.values()))
    assert outcome.mean == pytest.approx(pooled.mean(axis=0), abs=1e-6)
    assert outcome.failures == {"site-b": "vanished"}
    assert not sites[1].done


def test_the_numbers_of_a_sum_are_exact():
    study, points, sites = parties()
    coordinator = Coordinator(study, ROUNDS)
    run_study(coordinator, MemoryEngine(sites))
    expected = sum(np.array(weighted(p.mean(axis=0), len(p))) for p in points.values())
    assert np.array_equal(coordinator.opened[0].total, expected[:-1] / expected[-1] * UNIT)
