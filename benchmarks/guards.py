"""Which guard costs least: accuracy and corners sent of every guard, hulls in their true classes.

    python benchmarks/guards.py paul olsson tree --trials 5

Each site guards its cells, makes its hulls and quantizes them; the corners of all sites are pooled
under their true classes, so that grouping has no part in it, and the default classifier learns from
them. Classes with fewer cells than the minimum, and whatever else would be made of fewer, stay at
the site. Prints a Markdown table: percent of the common test points right, mean and half width of
its 95 % interval over trials; in brackets the mean number of corners sent.
"""

import argparse
from dataclasses import dataclass
from functools import cache

import numpy as np
from scipy.stats import t as student
from sklearn.model_selection import train_test_split

from fedhull import LorentzClassifier, Quantizer, epsilon_hull
from fedhull.data.datasets import load_dataset
from fedhull.learn.guard import Guard
from fedhull.simulation.sites import partition

SPLITS = {"ten sites, Dirichlet(0.5)": (10, "dirichlet:0.5"), "three equal sites": (3, "iid")}
GUARDS = [
    "group:5", "edit+group:5", "trim:0.05+group:5", "trim:0.1+group:5", "edit+trim:0.02+group:5",
    "edit+trim:0.05+group:5", "edit+trim:0.1+group:5", "edit+trim:0.2+group:5",
]  # fmt: skip
BEFORE, PAPER, POOLED = "edit+trim:0.02, no minimum", "none, no minimum", "pooled cells"


@dataclass(frozen=True)
class Split:
    """Training points, their classes and sites, test points with their classes, and the radius."""

    x: np.ndarray
    y: np.ndarray
    site: np.ndarray
    test_x: np.ndarray
    test_y: np.ndarray
    radius: float


@cache
def split_of(dataset: str, sites: int, how: str, seed: int) -> Split:
    """As in trial `seed` of a simulation."""
    x, y = load_dataset(dataset, seed=seed)
    train, test = train_test_split(np.arange(len(y)), test_size=0.15, random_state=seed)
    site = partition(y[train], sites, how, seed)
    radius = float(np.hypot(*x.T).max()) * (1 + 1e-12)
    return Split(x[train], y[train], site, x[test], y[test], radius)


def corners_of(split: Split, guard: str, least: int, epsilon: float):
    """The corners that all sites send, their true classes and their sites."""
    quantizer = Quantizer(epsilon, split.radius)
    points, classes, sites = [], [], []
    for site in np.unique(split.site):
        mine = split.site == site
        guarded = Guard.parse(guard).apply(split.x[mine], split.y[mine])
        for name, held in zip(*np.unique(split.y[mine], return_counts=True), strict=True):
            members = guarded.y == name
            if held < least or guarded.cells[members].sum() < least:
                continue
            hull = quantizer.decode(epsilon_hull(guarded.x[members], quantizer))
            points.append(hull)
            classes += [name] * len(hull)
            sites += [site] * len(hull)
    return np.concatenate(points), np.array(classes), np.array(sites)


def score(split: Split, x: np.ndarray, y: np.ndarray, sites: np.ndarray | None) -> float:
    model = LorentzClassifier(calibrate=False).fit(x, y, sites)
    return 100.0 * float(np.mean(model.predict(split.test_x) == split.test_y))


def measure(split: Split, guard: str, epsilon: float) -> tuple[float, int]:
    """Accuracy, and how many points were learned from."""
    if guard == POOLED:
        return score(split, split.x, split.y, None), len(split.x)
    words, _, no_minimum = guard.partition(", ")
    x, y, sites = corners_of(split, words, 1 if no_minimum else 5, epsilon)
    return score(split, x, y, sites), len(x)


def cell(found: list[tuple[float, int]]) -> str:
    accuracy, sent = np.array(found).T
    half = student.ppf(0.975, len(found) - 1) * accuracy.std(ddof=1) / np.sqrt(len(found))
    return f"{accuracy.mean():.1f} ± {half:.1f} ({sent.mean():,.0f})"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("datasets", nargs="+")
    parser.add_argument("--trials", type=int, default=3)
    parser.add_argument("--epsilon", type=float, default=0.01)
    chosen = parser.parse_args()
    for title, (sites, how) in SPLITS.items():
        print(f"\n**{title}**\n")  # noqa: T201
        print("|", " | ".join(["guard", *chosen.datasets]), "|")  # noqa: T201
        print("|" + "---|" * (1 + len(chosen.datasets)))  # noqa: T201
        for guard in [POOLED, PAPER, BEFORE, *GUARDS]:
            row = [
                cell(
                    [
                        measure(split_of(name, sites, how, seed), guard, chosen.epsilon)
                        for seed in range(chosen.trials)
                    ]
                )
                for name in chosen.datasets
            ]
            print("|", " | ".join([guard, *row]), "|", flush=True)  # noqa: T201


if __name__ == "__main__":
    main()
