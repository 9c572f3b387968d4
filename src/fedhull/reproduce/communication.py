"""Bytes that a site sends against the number of sites, the width of the bins and the number of
points, beside the paper's O(K L max{h log L, log B}) bits."""

import math
from typing import Any

from fedhull.data.generated import make_two_class
from fedhull.progress import Report
from fedhull.report.disc_plot import new_figure
from fedhull.report.palette import PALETTE
from fedhull.reproduce.finding import Finding, Table, counted
from fedhull.simulation.simulate import simulate

BASE = {"clients": 10, "epsilon": 0.01, "n": 20_000}
VARIED: dict[str, list[float]] = {
    "clients": [3, 10, 30],
    "epsilon": [0.001, 0.01, 0.1, 1.0],
    "n": [5_000, 20_000, 80_000],
}
WORDS = {"clients": "sites L", "epsilon": "width of a bin ε", "n": "points N"}


def communication(quick: bool, seed: int, report: Report) -> Finding:
    """Measured bytes beside the paper's order of growth."""
    step = counted(report, sum(map(len, VARIED.values())))
    rows: list[dict[str, Any]] = []
    for name, values in VARIED.items():
        for value in values:
            step(f"{WORDS[name]} = {value:g}")
            setting = BASE | {name: value}
            n = int(setting["n"]) // (10 if quick else 1)
            rows.append({"varied": name, "value": value} | _measure(setting, n, seed))
    table = Table(
        "Bytes up per site, all messages; two classes, no guard",
        ("varied", "value", "corners K", "bins B", "label code", "bits", "measured", "K·L·log",
         "ratio"),
        [
            (
                WORDS[row["varied"]],
                f"{row['value']:g}",
                f"{row['corners']:.0f}",
                f"{row['bins']:.1e}",
                row["label_code"],
                str(row["field_bits"]),
                f"{row['bytes']:,}",
                f"{row['order']:,.0f}",
                f"{row['bytes'] / row['order']:.2f}",
            )
            for row in rows
        ],
    )  # fmt: skip
    return Finding(
        "Communication",
        [table],
        {"rows": rows},
        _draw(rows),
        [
            "K·L·log is K·L·max{h·log2 L, log2 B} bits, as bytes; K is the mean number of corners "
            "of a site, h = 2. The measured bytes are 2 to 6 times that: two sums for each "
            "non-empty bin, a field wide enough for labels that can never be confused, and keys, "
            "shares and signatures for each peer, which matter where hulls are small.",
        ],
    )


def _measure(setting: dict[str, float], n: int, seed: int) -> dict[str, Any]:
    data = make_two_class(n, seed=seed)
    clients = int(setting["clients"])
    result = simulate(
        data.x, data.y, clients=clients, epsilon=setting["epsilon"], radius=0.95,
        guard="none", min_cells=1,
        grouping="matching", seed=seed,
    )  # fmt: skip
    numbers = result.to_json()
    corners = numbers["leakage"]["points_sent"] / clients
    bits = corners * clients * max(2 * math.log2(clients), math.log2(numbers["bins"]))
    return {
        "n": n,
        "clients": clients,
        "corners": corners,
        "bins": numbers["bins"],
        "label_code": numbers["label_code"],
        "field_bits": numbers["field_bits"],
        "bytes": numbers["bytes_up_per_client"],
        "order": bits / 8.0,
    }


def _draw(rows: list[dict[str, Any]]) -> Any:
    figure = new_figure(12.0, 3.8)
    for axes, name in zip(figure.subplots(1, 3), VARIED, strict=True):
        mine = [r for r in rows if r["varied"] == name]
        at = [r["n"] if name == "n" else r["value"] for r in mine]
        axes.plot(at, [r["bytes"] for r in mine], "o-", color=PALETTE[0], label="measured")
        axes.plot(at, [r["order"] for r in mine], "s--", color=PALETTE[1], label="K·L·log")
        axes.set(xscale="log", yscale="log", xlabel=WORDS[name], ylabel="bytes up per site")
        axes.set_xticks(at, [f"{value:g}" for value in at])
        axes.xaxis.minorticks_off()
        axes.grid(visible=True, which="major", alpha=0.3)
        axes.legend(frameon=False)
    return figure
