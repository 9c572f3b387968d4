"""`fedhull reproduce`: the paper's experiments."""

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
    progress_bar,
)

reproduce_app = typer.Typer(
    help="Run an experiment of the paper and show its numbers beside ours.", no_args_is_help=True
)


@reproduce_app.callback()
def experiments() -> None:
    """Run an experiment of the paper and show its numbers beside ours."""


@reproduce_app.command()
def complexity(
    folder: Annotated[Path, typer.Option("--out", help="Folder for figure and JSON.")] = Path(
        "fedhull-results"
    ),
    quick: Annotated[bool, typer.Option("--quick", help="N up to 1e5 in place of 1e7.")] = False,
    seed: SeedOption = 0,
    json: JsonFlag = False,
) -> None:
    """Hull sizes against N^{1/3}, and with ε = N^{-c} against Theorem 2."""
    import json as json_module

    from fedhull.report.disc_plot import save_figure
    from fedhull.reproduce.complexity import (
        FULL_SIZES,
        QUICK_SIZES,
        measure_complexity,
        trials_for,
    )
    from fedhull.reproduce.complexity_figure import draw_complexity

    folder = output_folder(folder)
    sizes = QUICK_SIZES if quick else FULL_SIZES
    prepare_kernels(quiet=json)
    with progress_bar(quiet=json) as bar:
        task = bar.add_task("Hull sizes", total=sum(n * trials_for(n) for n in sizes))
        result = measure_complexity(sizes, seed, lambda n: bar.advance(task, n))
    figure = draw_complexity(result)
    for ending in ("png", "svg"):
        save_figure(figure, folder / f"complexity.{ending}")
    numbers = result.to_json() | {"seed": seed}
    (folder / "complexity.json").write_text(json_module.dumps(numbers, indent=2) + "\n")
    if json:
        print_json(numbers)
        return
    table = Table(title="Corners of the minimal hull of N uniform points, R = 0.95")
    for column in ("N", "trials", "mean", "std", "mean / N^(1/3)"):
        table.add_column(column, justify="right")
    for n, trials, mean, std in zip(
        result.sizes, result.trials, result.hull, result.hull_std, strict=True
    ):
        table.add_row(
            f"{n:,}", str(trials), f"{mean:.1f}", f"{std:.1f}", f"{mean / n ** (1 / 3):.2f}"
        )
    out.print(table)
    table = Table(title="Exponents of N, fitted from N = 10,000 on")
    for column in (
        "",
        "theorem, at most",
        "all points quantized (Thm. 2)",
        "corners quantized (Def. 5)",
    ):
        table.add_column(column, justify="right")
    table.add_row("no quantization", "0.333", f"{result.hull_exponent:.3f}", "")
    for row in numbers["rates"]:
        exponent = row["exponent"]
        table.add_row(
            f"ε = N^-{row['c']:g}",
            f"{exponent['theorem']:.3f}",
            f"{exponent['quantized']:.3f}",
            f"{exponent['epsilon_hull']:.3f}",
        )
    out.print(table)
    out.print(
        "The theorem is about N → ∞. Without quantization the size per N^(1/3) still grows a\n"
        "little here. For c < 1/2 the ceiling is the number of sectors, reached only where\n"
        "N·ε² ≫ 450 (c = 0.3: N ≫ 4e6); until then the count climbs faster than the ceiling.",
        highlight=False,
    )
    out.print(f"Written: {folder}/complexity.json, .png, .svg", highlight=False)


@reproduce_app.command()
def grouping(
    quick: Annotated[bool, typer.Option("--quick", help="20 studies in place of 200.")] = False,
    seed: SeedOption = 0,
    json: JsonFlag = False,
) -> None:
    """The share of hulls put into the right class, three methods, over random studies."""
    from fedhull.reproduce.grouping import (
        FULL_STUDIES,
        QUICK_STUDIES,
        SPREADS,
        measure_grouping,
    )

    n_studies = QUICK_STUDIES if quick else FULL_STUDIES
    prepare_kernels(quiet=json)
    with progress_bar(quiet=json) as bar:
        task = bar.add_task("Random studies", total=n_studies * len(SPREADS))
        result = measure_grouping(n_studies, seed, lambda n: bar.advance(task, n))
    if json:
        print_json(result)
        return
    table = Table(title=f"Hulls in the right class, {n_studies} random studies for each row")
    for column in ("spread of a class", "method", "mean", "least", "studies"):
        table.add_column(column, justify="left" if column == "method" else "right")
    for row in result["rows"]:
        for method, found in row["methods"].items():
            table.add_row(
                f"{row['spread']:g}",
                method,
                f"{found['mean']:.4f}",
                f"{found['least']:.3f}",
                str(found["studies"]),
            )
    out.print(table)
    out.print("kernighan-lin is for two classes only, hence fewer studies.", highlight=False)
