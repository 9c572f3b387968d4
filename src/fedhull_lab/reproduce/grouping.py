"""The share of hulls of different sites that are sorted into the right class, over random studies.

Each study has 2 to 8 classes and 3 to 20 sites, Dirichlet(0.5) shares, up to a third of the
classes missing at a site, and labels in an order of the site's own. `spread` is the standard
deviation of a class around its centre, in hyperbolic distance; centres lie 1.5 to 3 from the
origin.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from fedhull import exp_map, minimal_hull
from fedhull.extend import Report, match_hulls, partition, share_matched
from fedhull_lab.reproduce.finding import Finding, Table, counted

SPREADS = [0.3, 0.6, 1.0]
FULL_STUDIES, QUICK_STUDIES = 200, 20


def grouping(quick: bool, seed: int, report: Report) -> Finding:
    """The share of hulls put into the right class, three methods, over random studies."""
    n_studies = QUICK_STUDIES if quick else FULL_STUDIES
    step = counted(report, n_studies * len(SPREADS))
    result = measure_grouping(n_studies, seed, lambda n: step("random studies"))
    table = Table(
        f"Hulls in the right class, {n_studies} random studies for each spread",
        ("spread of a class", "method", "mean", "least", "studies"),
        [
            (
                f"{row['spread']:g}",
                method,
                f"{found['mean']:.4f}",
                f"{found['least']:.3f}",
                str(found["studies"]),
            )
            for row in result["rows"]
            for method, found in row["methods"].items()
        ],
    )
    remark = (
        "2–8 classes, 3–20 sites, Dirichlet(0.5) shares, up to a third of the classes missing at a "
        "site, labels switched. Kernighan–Lin is for two classes only, and must cut them into "
        "halves. 1,000 sites with 10 classes each are matched in about a second."
    )
    return Finding("Grouping", [table], result, remarks=[remark])


def measure_grouping(
    n_studies: int, seed: int, advance: Callable[[int], None] = lambda n: None
) -> dict[str, Any]:
    """Mean and least share of hulls in the right class, for each spread and method."""
    rows = []
    for spread in SPREADS:
        shares: dict[str, list[float]] = {"matching": [], "spectral": [], "kernighan-lin": []}
        for number in range(n_studies):
            hulls, owners, truth = random_study(spread, np.random.default_rng([seed, number]))
            n_classes = len(set(truth))
            for method, found in shares.items():
                if method != "kernighan-lin" or n_classes == 2:
                    groups = match_hulls(hulls, owners, n_classes, method).groups
                    found.append(share_matched(groups, truth))
            advance(1)
        rows.append(
            {
                "spread": spread,
                "methods": {
                    method: {"mean": float(np.mean(f)), "least": min(f), "studies": len(f)}
                    for method, f in shares.items()
                    if f
                },
            }
        )
    return {"studies": n_studies, "seed": seed, "rows": rows}


def random_study(
    spread: float, rng: np.random.Generator
) -> tuple[list[np.ndarray], list[int], list[int]]:
    """Hulls, the site of each, and its true class."""
    n_classes, n_clients = int(rng.integers(2, 9)), int(rng.integers(3, 21))
    y = rng.integers(0, n_classes, 400 * n_classes)
    angle = 2.0 * np.pi * (np.arange(n_classes) + rng.uniform(-0.2, 0.2, n_classes)) / n_classes
    radius = np.tanh(rng.uniform(1.5, 3.0, n_classes) / 2.0)
    centres = radius[:, None] * np.column_stack((np.cos(angle), np.sin(angle)))
    gap = 1.0 - (centres[y] ** 2).sum(axis=1, keepdims=True)
    x = exp_map(centres[y], spread * rng.standard_normal((len(y), 2)) * gap / 2.0)
    owner = partition(y, n_clients, "dirichlet:0.5", int(rng.integers(2**31)))
    hulls, owners, truth = [], [], []
    for client in range(n_clients):
        present = [c for c in range(n_classes) if ((owner == client) & (y == c)).any()]
        n_missing = int(rng.integers(0, n_classes // 3 + 1))
        for c in rng.permutation(present)[min(n_missing, max(0, len(present) - 1)) :]:
            points = x[(owner == client) & (y == c)]
            hulls.append(points[minimal_hull(points)])
            owners.append(client)
            truth.append(int(c))
    return hulls, owners, truth
