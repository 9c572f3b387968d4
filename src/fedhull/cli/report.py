"""`fedhull report`: the HTML page of a result."""

from pathlib import Path
from typing import Annotated

import typer

from fedhull.cli.console import JsonFlag, out, print_json


def report(
    result: Annotated[Path, typer.Argument(help="A result file, or the folder that holds it.")],
    file: Annotated[
        Path | None, typer.Option("--out", help="Where to write; by default report.html beside it.")
    ] = None,
    json: JsonFlag = False,
) -> None:
    """Write the report page of a demo, simulation, server or client run: one HTML file."""
    from fedhull.kits.results import write_report

    page = write_report(result, file)
    if json:
        print_json({"report": str(page)})
        return
    out.print(f"Report: {page}", soft_wrap=True)
