"""Fig. 6–8 of the paper: what the width of the bins does to hulls, accuracy and leakage.

The paper's UC-Stromal data cannot be had. In their place: the four largest classes of Paul's
myeloid progenitors, 3 and 5 sites.
"""

from typing import Any

import numpy as np

from fedhull.data.datasets import load_dataset
from fedhull.disc.hull import epsilon_hull, minimal_hull
from fedhull.disc.maps import pairwise_distance
from fedhull.disc.quantize import Quantizer
from fedhull.progress import Report
from fedhull.report.disc_plot import draw_disc, draw_hull, new_figure
from fedhull.report.palette import PALETTE
from fedhull.reproduce.accuracy import PAPER
from fedhull.reproduce.finding import Finding, Table, counted, score
from fedhull.simulation.simulate import simulate

EPSILONS = [0.001, 0.01, 0.1, 0.3, 1.0, 2.0]
SHOWN = [0.1, 0.5, 1.0]
CLIENTS = [3, 5]


def quantization(quick: bool, seed: int, report: Report) -> Finding:
    """Accuracy, complexity and size of hulls against ε."""
    x, y = _largest_classes(*load_dataset("paul"), count=4)
    epsilons = EPSILONS[1::2] if quick else EPSILONS
    step = counted(report, len(CLIENTS) * len(epsilons))
    rows = []
    for clients in CLIENTS:
        for epsilon in epsilons:
            step(f"{clients} sites, ε = {epsilon:g}")
            rows.append(_measure(x, y, clients, epsilon, 3 if quick else 10, seed))
    table = Table(
        "Paul, four largest classes, as in the paper and with our defaults",
        ("sites", "ε", "FLP", "FLE", "FL", "corners: mean", "most", "of a class, %", "moved by"),
        [
            (
                str(row["clients"]),
                f"{row['epsilon']:g}",
                *(score(row["accuracy"][m]) for m in ("FLP", "FLE", "FL")),
                f"{row['mean_hull']:.1f}",
                str(row["max_hull"]),
                f"{100 * row['mean_ratio']:.1f}",
                f"{row['distortion']:.3f}",
            )
            for row in rows
        ],
    )
    return Finding(
        "Bins (Fig. 6–8)",
        [table],
        {"rows": rows},
        _draw(x, y, rows),
        [
            "Corners, their share of the class and the largest hyperbolic distance by which "
            "quantizing moves a hull's corner are those of the hulls as in the paper (no guard), "
            "over all sites and classes.",
        ],
    )


def _measure(
    x: np.ndarray, y: np.ndarray, clients: int, epsilon: float, trials: int, seed: int
) -> dict[str, Any]:
    common: dict[str, Any] = {
        "clients": clients, "epsilon": epsilon, "trials": trials, "seed": seed,
    }  # fmt: skip
    paper = simulate(x, y, baselines=("FLP", "FLE"), **PAPER, **common)
    ours = simulate(x, y, **common)
    sites = [site.holdings for t in paper.trials for site in t.session.sites.values()]
    corners = [len(hull) for site in sites for hull in site.hulls]
    ratios = [len(h) / n for site in sites for h, n in zip(site.hulls, site.sizes, strict=True)]
    return {
        "clients": clients,
        "epsilon": epsilon,
        "accuracy": {m: paper.accuracy[m] for m in ("FLP", "FLE")} | {"FL": ours.accuracy["FL"]},
        "mean_hull": float(np.mean(corners)),
        "max_hull": max(corners),
        "mean_ratio": float(np.mean(ratios)),
        "distortion": max(_distortion(x[y == c], epsilon) for c in np.unique(y)),
    }


def _distortion(points: np.ndarray, epsilon: float) -> float:
    """The farthest that a corner of the hull lies from every corner of the quantized hull."""
    corners = points[minimal_hull(points)]
    quantizer = Quantizer(epsilon, float(np.hypot(*points.T).max()) * (1 + 1e-12))
    quantized = quantizer.decode(epsilon_hull(points, quantizer))
    return float(pairwise_distance(corners, quantized).min(axis=1).max())


def _largest_classes(x: np.ndarray, y: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
    names, sizes = np.unique(y, return_counts=True)
    kept = np.isin(y, names[np.argsort(-sizes, kind="stable")[:count]])
    return x[kept], y[kept]


def _draw(x: np.ndarray, y: np.ndarray, rows: list[dict[str, Any]]) -> Any:
    figure = new_figure(12.0, 8.4)
    panels = figure.subplots(2, 3)
    radius = float(np.hypot(*x.T).max()) * (1 + 1e-12)
    two = np.unique(y)[:2]
    for axes, epsilon in zip(panels[0], SHOWN, strict=True):
        draw_disc(axes)
        for color, label in zip(PALETTE, two, strict=False):
            points = x[y == label]
            quantizer = Quantizer(epsilon, radius)
            axes.plot(*points.T, ".", color=color, markersize=1.5, alpha=0.5, rasterized=True)
            draw_hull(axes, points[minimal_hull(points)], color=color, linestyle=":")
            quantized = quantizer.decode(epsilon_hull(points, quantizer))
            draw_hull(axes, quantized[minimal_hull(quantized)], color=color, linewidth=1.4)
        axes.set_title(f"hulls (dotted) and quantized hulls, ε = {epsilon:g}", fontsize=10)
    panels_of = {"accuracy of FL and FLP, %": "FL", "corners of a hull, mean": "mean_hull",
                 "corners / points of the class": "mean_ratio"}  # fmt: skip
    for axes, (words, key) in zip(panels[1], panels_of.items(), strict=True):
        for color, clients in zip(PALETTE, CLIENTS, strict=False):
            mine = [r for r in rows if r["clients"] == clients]
            at = [r["epsilon"] for r in mine]
            if key == "FL":
                for method, line in (("FL", "-"), ("FLP", "--")):
                    values = [r["accuracy"][method]["mean"] for r in mine]
                    axes.plot(
                        at, values, line, marker="o", color=color, label=f"{method}, L = {clients}"
                    )
            else:
                axes.plot(
                    at, [r[key] for r in mine], marker="o", color=color, label=f"L = {clients}"
                )
        axes.set(xscale="log", xlabel="width of a bin ε", ylabel=words)
        axes.grid(visible=True, alpha=0.3)
        axes.legend(frameon=False, fontsize=8)
    return figure
