"""`fedhull bench peers`: what people would use instead, on the same cells and splits."""

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.box import SIMPLE_HEAD
from rich.table import Table

from fedhull.extend import (
    JsonFlag,
    note,
    out,
    output_folder,
    prepare_kernels,
    print_json,
    progress_bar,
)


def peers(
    quick: Annotated[
        bool, typer.Option("--quick", help="Two trials of two data sets, few rounds.")
    ] = False,
    data: Annotated[
        list[str] | None,
        typer.Option(help="Only this data set: lung, lung-all, paul or fashion-mnist; repeatable."),
    ] = None,
    celltypist: Annotated[
        Path | None,
        typer.Option(
            help="A Python that has CellTypist; without it one is made in your cache folder."
        ),
    ] = None,
    folder: Annotated[
        Path | None, typer.Option("--out", help="Folder for peers.md and results/peers.json.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of every random choice.")] = 0,
    json: JsonFlag = False,
) -> None:
    """Accuracy, bytes and rounds beside CellTypist, NVIDIA FLARE's SVM and Flower's FedAvg."""
    from fedhull_lab.bench.peers.compare import QUICK_ROUNDS, chosen_data, compare, steps
    from fedhull_lab.bench.peers.measured import Options
    from fedhull_lab.bench.peers.page import to_json, write

    if folder is not None:
        folder = output_folder(folder)
    options = Options(celltypist, tell=note)
    if quick:
        options = Options(celltypist, QUICK_ROUNDS, note)
    chosen = chosen_data(data or (), quick)
    prepare_kernels(quiet=json)
    found = []
    with progress_bar(quiet=json) as bar:
        task = bar.add_task("", total=steps(chosen, quick, options))

        def step(what: str) -> None:
            bar.update(task, description=what, advance=1)

        for content in compare(chosen, quick, seed, options, step):
            found.append(content)
            if not json:
                _show_peers(content)
            # each as soon as it is done: the next may take many minutes
            if folder is not None:
                written = write(folder, to_json(found, quick, seed))
    if folder is not None and not json:
        out.print(f"Written: {', '.join(map(str, written))}", soft_wrap=True)
    if json:
        print_json(to_json(found, quick, seed))


def _show_peers(content: dict[str, Any]) -> None:
    """The table of a data set as soon as it is done: the next may take minutes."""
    from fedhull_lab.bench.peers.table import LONG_COLUMNS, table
    from fedhull_lab.bench.peers.verdict import sentences

    found = table(content)
    shown = Table(title=found.title, box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
    # what is long, and the same for every data set, stands on the page only
    columns = [i for i, column in enumerate(found.columns) if column not in LONG_COLUMNS]
    for i in columns:
        words = (
            found.columns[i]
            .replace(" sites,", "\nsites,")
            .replace("bytes ", "bytes\n")
            .replace("seconds", "s")
        )
        shown.add_column(words, justify="right" if i else "left", no_wrap=True)
    for row in found.rows:
        shown.add_row(*(row[i] for i in columns))
    out.print(shown)
    for sentence in sentences(content):
        out.print(sentence.replace("*", ""))
