"""The interface of tasks carries studies of several, different sums under one consent."""

import json
from dataclasses import dataclass

import numpy as np
import pytest
from parties import identity
from plain_sums import PlainContribution, PlainSummation

from fedhull.protocol.agreement import Agreement, Cohort
from fedhull.protocol.drive import MemoryEngine
from fedhull.study.coordinator import Coordinator, Publication, run_study
from fedhull.study.site import Site

NAMES = ["site-a", "site-b", "site-c"]
UNIT = 2.0**-22


def weighted(numbers: np.ndarray, cells: int) -> list[int]:
    """Means in fixed point times the number of cells, and that number."""
    return [*(cells * np.rint(numbers / UNIT).astype(int)).tolist(), cells]


def two_sums(published: bytes) -> list[PlainSummation]:
    """First the mean; then, bound to the mean that everybody was shown, the variance."""
    return [PlainSummation(3, 1, b""), PlainSummation(2, 2, published)]


class SpreadSite(Site):
    """Adds its points, hears the mean, adds its distances from it, hears the spread."""

    def __init__(self, study, name, points):
        self.points, self.heard = points, [b""]
        super().__init__(study, name, identity(name), n_sums=2)

    def contribution(self):
        number = len(self.heard) - 1
        numbers = self.points.mean(axis=0)
        if number == 1:
            mean = np.array(json.loads(self.heard[1]))
            numbers = ((self.points - mean) ** 2).sum(axis=1).mean(keepdims=True)
        summation = two_sums(self.heard[-1])[number]
        return PlainContribution(summation, lambda: weighted(numbers, len(self.points)))

    def take(self, published):
        self.heard.append(published)
        return (3, 4) if len(self.heard) == 3 else None

    def files(self):
        return {}

    def result(self):
        return {"heard": len(self.heard)}


@dataclass
class Spread:
    mean: list
    spread: float
    counts: object
    failures: dict


class SpreadCoordinator(Coordinator):
    def __init__(self, study):
        self.study, self.opened = study, []
        self.published = b""

    def next_sum(self):
        done = len(self.opened)
        return two_sums(self.published)[done] if done < 2 else None

    def take(self, opened, seconds):
        *sums, cells = opened.numbers
        self.opened.append(np.array(sums) / cells * UNIT)
        self.published = json.dumps(self.opened[-1].tolist()).encode()
        return Publication(self.published, ask=len(self.opened) == 2)

    def outcome(self, record, counts):
        mean, spread = self.opened
        return Spread(mean.tolist(), float(spread[0]), counts, record.failures)


def parties():
    rng = np.random.default_rng(0)
    study = Agreement(
        name="test",
        protocol=Cohort(threshold=2),
        clients={name: identity(name).public for name in NAMES},
    )
    points = {name: rng.normal(size=(20 + 5 * i, 2)) for i, name in enumerate(NAMES)}
    return study, points, [SpreadSite(study, name, points[name]) for name in NAMES]


def test_a_task_may_have_several_sums_each_starting_from_what_the_last_one_published():
    study, points, sites = parties()
    outcome = run_study(SpreadCoordinator(study), MemoryEngine(sites))
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

    outcome = run_study(SpreadCoordinator(study), Leaving(sites))
    pooled = np.concatenate(list(points.values()))
    assert outcome.mean == pytest.approx(pooled.mean(axis=0), abs=1e-6)
    assert outcome.failures == {"site-b": "vanished"}
    assert not sites[1].done


def test_the_numbers_of_a_sum_are_exact():
    study, points, sites = parties()
    coordinator = SpreadCoordinator(study)
    run_study(coordinator, MemoryEngine(sites))
    expected = sum(np.array(weighted(p.mean(axis=0), len(p))) for p in points.values())
    assert np.array_equal(coordinator.opened[0], expected[:-1] / expected[-1] * UNIT)
