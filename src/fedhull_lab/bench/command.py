"""`fedhull bench`: speed against peers, as ratios of times taken in one run."""

import math
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer
from rich.box import SIMPLE_HEAD
from rich.table import Table

from fedhull.errors import InvalidInput
from fedhull.extend import JsonFlag, out, prepare_kernels, print_json, progress_bar, spinner
from fedhull_lab.bench.peers.command import peers

if TYPE_CHECKING:
    from fedhull_lab.bench.timing import Measurement

bench_app = typer.Typer(
    help="Measure speed against peers, as ratios within one run.", no_args_is_help=True
)


@bench_app.command()
def hull(
    quick: Annotated[
        bool, typer.Option("--quick", help="1e6 points and a stream of 1e8, not 1e7 and 1e9.")
    ] = False,
    json: JsonFlag = False,
) -> None:
    """Hulls against Qhull, streams, quantizing, and the time of import."""
    from fedhull_lab.bench.hull import (
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
    out.print(_ratios(rows))
    times = ", ".join(f"{s:.2f} s for {int(n):.0e}" for n, s in stream["seconds"].items())
    out.print(
        f"Stream: {times} points "
        f"(as N^{stream['exponent']:.2f} over the last decade); "
        f"{stream['corners']:,} corners; the whole process never held more than "
        f"{stream['peak_memory_mb'] or math.nan:.0f} MB.\nimport fedhull: {import_seconds:.2f} s",
    )


@bench_app.command()
def scma(
    quick: Annotated[
        bool, typer.Option("--quick", help="Up to 2,000 non-empty bins, not 16,000.")
    ] = False,
    json: JsonFlag = False,
) -> None:
    """Power sums and label codes against NumPy and bare FLINT."""
    from fedhull_lab.bench.scma import (
        FULL_SIZES,
        PLANES_SIZE,
        QUICK_SIZES,
        bench_decoding,
        bench_encoding,
        bench_label_codes,
        bench_planes,
        growth,
    )

    sizes = QUICK_SIZES if quick else FULL_SIZES
    with progress_bar(quiet=json) as bar:
        task = bar.add_task("Encoding and decoding", total=sum(sizes) + 4 * PLANES_SIZE)
        # once unmeasured, for the compiler
        list(bench_decoding([200]))
        encoding = list(bench_encoding())
        decoding = list(bench_decoding(sizes, lambda n: bar.advance(task, n)))
        planes = list(
            bench_planes(
                sizes[-1] if quick else PLANES_SIZE, advance=lambda n: bar.advance(task, n)
            )
        )
        labels = bench_label_codes()
    exponent = growth(decoding)
    if json:
        ratios = [row.to_json() for row in (*encoding, *decoding, *planes)]
        print_json({"ratios": ratios, "decode_exponent": exponent, "label_codes": labels})
        return
    out.print(_ratios([*encoding, *decoding, *planes]))
    out.print(f"Decoding time grows as n^{exponent:.2f} (target: at most n^1.5)")
    for what, seconds in labels.items():
        out.print(f"Bose–Chowla, {what}: {seconds:.2f} s")


@bench_app.command("bytes")
def bytes_up(
    corners: Annotated[int, typer.Option(min=1, help="Corners of a site's hulls.")] = 50,
    classes: Annotated[int, typer.Option(min=1, help="Classes at each site.")] = 2,
    epsilon: Annotated[float, typer.Option(help="Width of a bin.")] = 0.1,
    json: JsonFlag = False,
) -> None:
    """Bytes a site sends, against the minimum, the dense vector and no secrecy."""
    from fedhull_lab.bench.size import COHORTS, MANY_LABELS, bench_bytes

    cohorts = [*((n, classes) for n in COHORTS), *MANY_LABELS]
    rows = [bench_bytes(n, j, corners, epsilon) for n, j in cohorts]
    if json:
        print_json({"bytes_up_per_client": [row.to_json() for row in rows]})
        return
    table = Table(title=f"Bytes up per site: {corners} corners, ε = {epsilon}")
    columns = (
        "sites", "labels", "label code", "planes", "bits", "power sums", "least", "dense",
        "in clear",
    )  # fmt: skip
    for column in columns:
        table.add_column(column, justify="right")
    for row in rows:
        table.add_row(*(f"{v:,}" if isinstance(v, int) else v for v in row.to_json().values()))
    out.print(table)
    out.print(
        "least: information in the sum of all vectors. dense: every bin masked.\n"
        "in clear: the site's own bins and labels, no secrecy.",
    )


@bench_app.command()
def scale(
    clients: Annotated[
        list[int] | None,
        typer.Option(min=10, help="Number of sites; can be repeated.", show_default="10 to 10,000"),
    ] = None,
    summary: Annotated[
        str | None, typer.Option(help="hulls or moments.", show_default="both")
    ] = None,
    corners: Annotated[int, typer.Option(min=2, help="Corners of a site's hulls.")] = 20,
    classes: Annotated[int, typer.Option(min=2, help="Classes of each site's hulls.")] = 2,
    quick: Annotated[
        bool, typer.Option("--quick", help="Up to 300 sites, not 1,000 with hulls and 10,000.")
    ] = False,
    json: JsonFlag = False,
) -> None:
    """Seconds, bytes and memory of a study against the number of sites, all on this machine.

    Hulls up to 1,000 sites, and moments up to 10,000, with agreed names, unaligned, without ballot.
    On two cores all of it takes five to ten minutes and 6.5 GB.
    """
    from fedhull_lab.bench.scale import SIZES, bench_scale_apart, bench_sizes

    if summary is not None and summary not in SIZES:
        raise InvalidInput(f"--summary must be {' or '.join(SIZES)}, got {summary!r}")
    rows = []
    with spinner("Running studies") as status:
        for each in [summary] if summary else list(SIZES):
            for n in clients or bench_sizes(each, quick):
                status.update(f"{each}, {n:,} sites")
                rows.append(bench_scale_apart(n, each, corners, classes))
    if json:
        print_json({"scale": rows})
        return
    # narrow enough for a terminal of 80 columns; --json has everything, to the byte
    table = Table(
        title=f"One study; hulls with {corners} corners at each site, moments of 8 cells",
        box=SIMPLE_HEAD,
        padding=(0, 1, 0, 0),
    )
    for column in (
        "", "sites", "graph", "a site,\nms", "witness,\nms", "server,\ns", "all,\ns", "up,\nkB",
        "keys,\nkB", "MB",
    ):  # fmt: skip
        table.add_column(column, justify="right" if column else "left", no_wrap=True)
    for row in rows:
        table.add_row(
            row["summary"],
            f"{row['clients']:,}",
            f"{row['circle']}, {row['witnesses']}" if row["graph"] == "sparse" else "all",
            *(f"{1e3 * row[who]:,.0f}" for who in ("site_seconds", "witness_seconds")),
            f"{row['server_seconds']:.2f}",
            f"{row['total_seconds']:.1f}",
            f"{row['bytes_up_per_client'] / 1e3:.0f}",
            f"{row['protocol_bytes_up'] / 1e3:.0f}",
            "" if row["memory_mb"] is None else f"{row['memory_mb']:,.0f}",
        )
    out.print(table)
    out.print("graph: holders of a site's shares, and witnesses; keys: also shares and seals")
    for row in rows:
        for name, bar in row["bars"].items():
            met = "met" if bar["met"] else "not met"
            out.print(
                f"{row['summary']}, {row['clients']:,} sites: {name} {row[name]:,.2f}, target "
                f"{bar['bar']}: {met}"
            )


@bench_app.command("end-to-end")
def end_to_end(
    quick: Annotated[bool, typer.Option("--quick", help="8,000 points, not 80,000.")] = False,
    json: JsonFlag = False,
) -> None:
    """Seconds of each stage of a whole study: the paper's synthetic data, ten sites."""
    from fedhull_lab.bench.end_to_end import bench_end_to_end

    with spinner("Running a study"):
        result = bench_end_to_end(8_000 if quick else 80_000)
    if json:
        print_json(result)
        return
    stages = ", ".join(f"{stage} {s:.2f} s" for stage, s in result["seconds"].items())
    met = "yes" if result["grouping_and_learning"] < 1.0 else "no"
    out.print(
        f"{result['n']:,} points, {result['clients']} sites, ε = {result['epsilon']}: {stages}.\n"
        f"Grouping and learning together: {result['grouping_and_learning']:.2f} s "
        f"(target: below 1 s; met: {met}). Accuracy {result['accuracy']:.2f} %.",
    )


@bench_app.command()
def moments(
    quick: Annotated[bool, typer.Option("--quick", help="1e5 points, not 1e6.")] = False,
    json: JsonFlag = False,
) -> None:
    """Features and moments against NumPy's cosine and a matrix product, and a whole study."""
    from fedhull_lab.bench.moments import bench_memory, bench_moments, bench_study

    n, cells = (10**5, 7_000) if quick else (10**6, 70_000)
    with spinner("Summing up moments"):
        # first, while the memory of the process is still small
        memory = bench_memory(n)
        rows = list(bench_moments(n))
        study = bench_study(cells)
    if json:
        ratios = [row.to_json() for row in rows]
        print_json({"ratios": ratios, "peak_memory_mb": memory, "study_seconds": study})
        return
    out.print(_ratios(rows))
    out.print(
        f"Moments of {n:,} points: the whole process never held more than "
        f"{memory or math.nan:.0f} MB; their features would take {n * 128 * 8 / 2**20:,.0f} MB.\n"
        f"A study of {cells:,} cells at ten sites, every message included: "
        f"{study['total']:.1f} s.",
    )


@bench_app.command()
def embed(
    cells: Annotated[int, typer.Option(min=100, help="Cells to place.")] = 100_000,
    json: JsonFlag = False,
) -> None:
    """Seconds and memory to place new cells, against scikit-learn's truncated SVD."""
    from fedhull_lab.bench.embed import MOST_GIGABYTES, MOST_SECONDS, bench_embed

    with spinner("Making cells") as status:
        rows = list(bench_embed(cells, status.update))
    if json:
        print_json({"embed": rows})
        return
    for row in rows:
        out.print(
            f"{row['method']}: {row['cells']:,} cells, {row['genes']:,} genes in "
            f"{row['seconds']:.1f} s, {row['ratio']:.2f} times the {row['svd_seconds']:.1f} s of a "
            f"truncated SVD; at most {row['peak_memory_mb'] or math.nan:,.0f} MB so far.",
        )
    out.print(
        f"Targets for 100,000 cells: below {MOST_SECONDS:.0f} s and {MOST_GIGABYTES:.0f} GB.",
    )


@bench_app.command()
def frame(
    cells: Annotated[int, typer.Option(min=100, help="Cells at all sites together.")] = 100_000,
    sites: Annotated[int, typer.Option(min=2, help="Sites that make the encoder.")] = 10,
    json: JsonFlag = False,
) -> None:
    """An encoder from three masked sums: seconds against a truncated SVD, memory, bytes."""
    from fedhull_lab.bench.frame import (
        MOST_GIGABYTES,
        MOST_MEGABYTES_UP,
        MOST_SECONDS,
        bench_frame,
    )

    with spinner("Making cells") as status:
        row = bench_frame(cells, sites, lambda progress: status.update(progress.step))
    if json:
        print_json(row)
        return
    out.print(
        f"{row['cells']:,} cells, {row['genes']:,} genes, {row['sites']} sites, every message "
        f"included: {row['seconds']:.1f} s, {row['ratio']:.1f} times the {row['svd_seconds']:.1f} "
        f"s of a truncated SVD of all cells; {row['anchors']:,} anchors, "
        f"{row['bytes_up_per_client'] / 1e6:.1f} MB up per site; at most "
        f"{row['peak_memory_mb'] or math.nan:,.0f} MB of memory.\n"
        f"Targets for 100,000 cells at ten sites: below {MOST_SECONDS:.0f} s, "
        f"{MOST_GIGABYTES:.0f} GB and {MOST_MEGABYTES_UP:.0f} MB up.",
    )


@bench_app.command()
def modules(json: JsonFlag = False) -> None:
    """Count the modules of fedhull that a whole study of moments executes."""
    from fedhull_lab.bench.modules import modules_executed

    with spinner("Running a study"):
        found = modules_executed()
    if json:
        print_json({"executed": len(found), "modules": found})
        return
    folders = Counter(name.split(".")[1] for name in found)
    parts = ", ".join(f"{folder} {n}" for folder, n in folders.most_common())
    out.print(f"A study of moments executes {len(found)} modules of fedhull: {parts}.")


bench_app.command()(peers)


def _ratios(rows: Sequence["Measurement"]) -> Table:
    table = Table(title="Ratios, best of several alternating runs", padding=0)
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
    return table
