"""`fedhull reproduce`: the paper's experiments, its numbers beside ours."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table as RichTable

from fedhull.errors import InvalidInput
from fedhull.extend import (
    JsonFlag,
    err,
    out,
    output_folder,
    prepare_kernels,
    print_json,
    progress_bar,
    showing,
    write_json,
)

if TYPE_CHECKING:
    from fedhull_lab.reproduce.finding import Finding

ALL = "all"


def reproduce(
    what: Annotated[str, typer.Argument(help="An experiment, or 'all'; omit it for a list.")] = "",
    folder: Annotated[Path, typer.Option("--out", help="Folder for figures and JSON.")] = Path(
        "fedhull-results"
    ),
    quick: Annotated[bool, typer.Option("--quick", help="Small sizes, few trials.")] = False,
    page: Annotated[
        Path | None, typer.Option(help="Also write a page of all results in the folder.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of every random choice.")] = 0,
    json: JsonFlag = False,
) -> None:
    """Run an experiment from the paper and show its numbers beside ours."""
    from fedhull_lab.reproduce.catalogue import EXPERIMENTS

    if not what:
        for name, (_, words) in EXPERIMENTS.items():
            out.print(f"{name:14} {words}")
        return
    if what not in (ALL, *EXPERIMENTS):
        raise InvalidInput(f"there is no experiment {what!r}; try {', '.join((ALL, *EXPERIMENTS))}")
    folder = output_folder(folder)
    prepare_kernels(quiet=json)
    names = list(EXPERIMENTS) if what == ALL else [what]
    found: dict[str, Any] = {}
    for name in names:
        try:
            found[name] = _run(name, folder, quick, seed, json)
        except InvalidInput as problem:
            if what != ALL:
                raise
            # one data set that is not on this machine does not stop the others
            err.print(f"{name}: {problem}", style="yellow", soft_wrap=True)
    if page is not None:
        from fedhull_lab.reproduce.page import write_page

        write_page(page, folder)
    if json:
        print_json(found if what == ALL else found[what])


def _run(name: str, folder: Path, quick: bool, seed: int, quiet: bool) -> dict[str, Any]:
    from fedhull.extend import save_figure
    from fedhull_lab.reproduce.catalogue import experiment
    from fedhull_lab.reproduce.page import to_json

    with progress_bar(quiet=quiet) as bar:
        finding = experiment(name)(quick, seed, showing(bar, prefix=f"{name}: "))
    written = [f"{name}.json"]
    content = to_json(finding, quick, seed)
    write_json(folder / written[0], content)
    if finding.figure is not None:
        for ending in ("png", "svg"):
            save_figure(finding.figure, folder / f"{name}.{ending}")
            written.append(f"{name}.{ending}")
    if not quiet:
        _show(finding)
        out.print(f"Written to {folder}: {', '.join(written)}\n")
    return content


def _show(finding: "Finding") -> None:
    for table in finding.tables:
        shown = RichTable(title=table.title)
        for i, column in enumerate(table.columns):
            shown.add_column(column, justify="left" if i == 0 else "right")
        for row in table.rows:
            shown.add_row(*row)
        out.print(shown)
    for remark in finding.remarks:
        out.print(remark)
