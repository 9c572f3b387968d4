"""`fedhull demo`: what there is so far, on generated data."""

from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from fedhull.cli.console import (
    JsonFlag,
    SeedOption,
    out,
    output_folder,
    prepare_kernels,
    print_json,
)

SITES, POINTS, EPSILON, RADIUS = 3, 6_000, 1.0, 0.95


def demo(
    folder: Annotated[Path, typer.Option("--out", help="Folder for the picture.")] = Path(
        "fedhull-demo"
    ),
    seed: SeedOption = 1,
    json: JsonFlag = False,
) -> None:
    """Show what leaves a site: its classes' hulls, quantized. On generated data, in seconds."""
    import numpy as np

    from fedhull.data.synthetic import make_two_class
    from fedhull.disc.epsilon_hull import epsilon_hull
    from fedhull.disc.hull import minimal_hull
    from fedhull.disc.quantize import Quantizer
    from fedhull.report.disc_plot import (
        PALETTE,
        draw_bins,
        draw_disc,
        draw_hull,
        new_figure,
        save_figure,
    )

    folder = output_folder(folder)
    prepare_kernels(quiet=json)
    data = make_two_class(POINTS, mu=0.4, gamma=0.2, radius=RADIUS, seed=seed)
    quantizer = Quantizer(EPSILON, RADIUS)
    site = np.random.default_rng(seed).permutation(np.arange(POINTS) % SITES)
    figure = new_figure()
    axes = figure.subplots()
    axes.set_title(f"One site: its points, their hulls, and the bins (ε = {EPSILON:g}) that leave")
    draw_disc(axes, radius=RADIUS)
    rows = []
    for color, label in zip(PALETTE, (-1, 1), strict=False):
        for s in range(SITES):
            held = data.x[(site == s) & (data.y == label)]
            corners = minimal_hull(held)
            bins = epsilon_hull(held, quantizer)
            rows.append(
                {
                    "site": s + 1,
                    "class": label,
                    "points_held": len(held),
                    "hull_corners": len(corners),
                    "bins_sent": len(bins),
                }
            )
            if s == 0:
                axes.plot(*held.T, ".", color=color, markersize=2, alpha=0.25, rasterized=True)
                draw_hull(axes, held[corners], color=color)
                draw_bins(axes, bins, quantizer, color)
    picture = folder / "hulls.svg"
    save_figure(figure, picture)
    sent, held_in_all = sum(r["bins_sent"] for r in rows), POINTS
    if json:
        print_json(
            {
                "complete_federation": False,
                "epsilon": EPSILON,
                "bins": quantizer.n_bins,
                "hulls": rows,
                "leakage": {
                    "points_sent": sent,
                    "points_total": held_in_all,
                    "ratio": sent / held_in_all,
                    "max_hull": max(r["bins_sent"] for r in rows),
                },
                "picture": str(picture),
            }
        )
        return
    table = Table(title=f"What would leave each site (ε = {EPSILON}, {quantizer.n_bins:,} bins)")
    for column in ("site", "class", "points held", "hull corners", "bins sent"):
        table.add_column(column, justify="right")
    for row in rows:
        table.add_row(*(f"{value:,}" for value in row.values()))
    out.print(table)
    out.print(
        f"Leakage: {sent} of {held_in_all:,} points ({sent / held_in_all:.1%}) would leave,\n"
        f"each as the number of a bin that is at most {EPSILON} wide.\n"
        f"Picture of site 1: {picture}\n"
        "This version has the geometry only: label codes, secure aggregation and the\n"
        "classifier are not built yet, and nothing was sent anywhere.",
        highlight=False,
    )
