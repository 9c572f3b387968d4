"""Features and exact moments against the cosine and the matrix product that nobody can avoid."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from fedhull.bench.timing import Bar, Measurement, best_times, peak_memory_mb
from fedhull.data.generated import make_tree, sample_uniform
from fedhull.learn.moment_classifier import HorocycleFeatures, MomentClassifier
from fedhull.simulation.simulate import simulate

RADIUS, CLASSES = 0.95, 10
PEER = "np.cos + ΦᵀΦ"


def bench_memory(n: int, n_features: int = 128) -> float | None:
    """The most memory, in MB, that the process has held once the moments of n points are taken."""
    points, labels = _points(n)
    _fit(points, labels, n_features)
    return peak_memory_mb()


def bench_moments(n: int, n_features: int = 128, repeats: int = 5) -> Iterator[Measurement]:
    """The features of n points, and their moments from points to model, in chunks; the peer takes
    the cosine of an array of that size and multiplies the result by itself, all at once."""
    points, labels = _points(n)
    waves = HorocycleFeatures(n_features).fit(points[:1])
    angles = np.random.default_rng(0).uniform(-10.0, 10.0, (n, n_features))

    def peer() -> np.ndarray:
        features = np.cos(angles)
        return features.T @ features

    # once small and unmeasured, for the compiler
    waves.transform(points[:2])
    features, moments, other = best_times(
        lambda: waves.transform(points),
        lambda: _fit(points, labels, n_features),
        peer,
        repeats=repeats,
    )
    yield Measurement("features", n, features, PEER, other, "× as long", Bar("≤", 1.5))
    yield Measurement("moments", n, moments, PEER, other, "× as long", Bar("≤", 1.5))


def bench_study(n: int, sites: int = 10) -> dict[str, float]:
    """Seconds of each stage of a study of moments over n cells of a tree, Dirichlet(0.5) shares of
    each class at each site, under names of its own; `total` is all of them."""
    settings: dict[str, Any] = {"epsilon": 0.01, "summary": "moments", "switch_labels": True}
    data = make_tree(n, seed=0)
    # once small and unmeasured, for the compiler
    simulate(data.x[:2000], data.y[:2000], clients=3, **settings)
    result = simulate(data.x, data.y, clients=sites, partition="dirichlet:0.5", **settings)
    seconds: dict[str, float] = result.to_json()["seconds"]
    return seconds | {"total": sum(seconds.values())}


def _points(n: int) -> tuple[np.ndarray, np.ndarray]:
    labels = np.random.default_rng(0).integers(0, CLASSES, n)
    return sample_uniform(n, RADIUS, seed=0), labels


def _fit(points: np.ndarray, labels: np.ndarray, n_features: int) -> MomentClassifier:
    return MomentClassifier(n_features).fit(points, labels)
