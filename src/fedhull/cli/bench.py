"""`fedhull bench`: speed against peers, as ratios of times taken in one run."""

import math
from typing import Annotated

import typer
from rich.table import Table

from fedhull.cli.console import JsonFlag, out, prepare_kernels, print_json, progress_bar

bench_app = typer.Typer(help="Speed against peers, ratios in one run.", no_args_is_help=True)


@bench_app.callback()
def benchmarks() -> None:
    """Speed against peers, ratios in one run."""


@bench_app.command()
def hull(
    quick: Annotated[
        bool, typer.Option("--quick", help="1e6 points and a stream of 1e8, not 1e7 and 1e9.")
    ] = False,
    json: JsonFlag = False,
) -> None:
    """Hulls against Qhull, streams, quantizing, and the time of the import."""
    from fedhull.bench.hull import (
        bench_graham,
        bench_hulls,
        bench_import,
        bench_quantizer,
        bench_stream,
    )

    sizes = [10**3, 10**4, 10**5, 10**6] + ([] if quick else [10**7])
    streamed = 10**8 if quick else 10**9
    prepare_kernels(quiet=json)
    with progress_bar(quiet=json) as bar:
        task = bar.add_task(f"Streaming {streamed:.0e} points", total=streamed)
        # first, while the memory of the process is still small
        stream = bench_stream(streamed, lambda n: bar.advance(task, n))
        task = bar.add_task("Hulls and bins", total=2 * len(sizes) + 3)
        rows = []
        for group in (bench_hulls(sizes), bench_graham(), bench_quantizer(10**6)):
            for row in group:
                rows.append(row)
                bar.advance(task)
        import_seconds = bench_import()
    if json:
        print_json(
            {
                "ratios": [row.to_json() for row in rows],
                "stream": stream,
                "import_seconds": import_seconds,
            }
        )
        return
    table = Table(title="Ratios, best of several, taken in turn", padding=0)
    for column in ("", "N", "ours, ms", "peer", "peer, ms", "ratio", "target", "met"):
        table.add_column(column, justify="left" if column in ("", "peer") else "right")
    for row in rows:
        table.add_row(
            row.what,
            f"{row.n:,}",
            f"{1e3 * row.seconds:.2f}",
            row.peer,
            f"{1e3 * row.peer_seconds:.2f}",
            f"{row.ratio:.2f} {row.unit}",
            str(row.bar or ""),
            "" if row.bar is None else "yes" if row.bar.holds(row.ratio) else "no",
        )
    out.print(table)
    times = ", ".join(f"{s:.2f} s for {int(n):.0e}" for n, s in stream["seconds"].items())
    out.print(
        f"Stream: {times} points "
        f"(as N^{stream['exponent']:.2f} over the last decade); "
        f"{stream['corners']:,} corners; the whole process never held more than "
        f"{stream['peak_memory_mb'] or math.nan:.0f} MB.\nimport fedhull: {import_seconds:.2f} s",
        highlight=False,
    )
