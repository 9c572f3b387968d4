"""`fedhull report`: the page of a result."""

from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from fedhull.cli.console import JsonFlag, out, print_json


def report(
    result: Annotated[Path, Argument(help="A result file or its folder.")],
    file: Annotated[
        Path | None, Option("--out", help="File to write, if not report.html beside the result.")
    ] = None,
    json: JsonFlag = False,
) -> None:
    """Write the report page of a result, one HTML file.

    Results are those of demo, simulate, server and client.
    """
    from fedhull.kits.results import write_report

    page = write_report(result, file)
    if json:
        print_json({"report": str(page)})
        return
    out.print(f"Report: {page}", soft_wrap=True)
