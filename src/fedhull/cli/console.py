"""Output of all commands: printing, progress, folders."""

import json
import tempfile
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.text import Text
from typer import Option

from fedhull.cli.talk import QUIET, asked_for, silent
from fedhull.errors import InvalidInput
from fedhull.progress import Progress as Step
from fedhull.progress import Report
from fedhull.text import printable, printable_lines

if TYPE_CHECKING:
    from rich.progress import Progress
    from rich.status import Status


class Terminal(Console):
    """A console for people. Names from studies, data files and peers pass through it, so nothing is
    markup, an emoji or a terminal command."""

    def __init__(self, **settings: Any):
        super().__init__(markup=False, emoji=False, highlight=False, **settings)

    def render_str(self, text: str, **settings: Any) -> Text:
        """Clean the text; rich sends every string through here, also those in tables."""
        return super().render_str(printable_lines(text), **settings)


out = Terminal()
err = Terminal(stderr=True)

JsonFlag = Annotated[bool, Option("--json", help="Print one JSON object and nothing else.")]


def print_json(result: Any) -> None:
    """Print one JSON object on standard output."""
    typer.echo(json.dumps(result, indent=2))


def note(sentence: str) -> None:
    """Print an unasked-for remark on standard error."""
    if not asked_for(QUIET):
        err.print(sentence, style="yellow", soft_wrap=True)


def output_folder(path: Path) -> Path:
    """Make a folder, and write to it before any work is done."""
    try:
        path.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=path):
            pass
    except OSError as problem:
        reason = "it is a file" if path.is_file() else problem.strerror
        raise InvalidInput(
            f"--out must name a writable folder, but {path} is not one: {reason}"
        ) from None
    return path


def check_target(target: Path, endings: Iterable[str]) -> None:
    """Refuse a place to write to, before any work is done."""
    if target.suffix not in endings:
        raise InvalidInput(f"--out must end in {', '.join(endings)} here, got {target}")
    if not target.parent.is_dir():
        raise InvalidInput(f"--out must be in a folder that exists, but {target.parent} does not")


def missing_genes(genes: Sequence[str], of: int) -> str:
    """The warning about genes of an encoder that are not in the data."""
    some = ", ".join(genes[:5]) + (", …" if len(genes) > 5 else "")
    return (
        f"{len(genes):,} of the encoder's {of:,} genes are missing and count as not expressed: "
        f"{some}"
    )


def prepare_kernels(quiet: bool) -> None:
    """Compile the numerical kernels, with a spinner after one second."""
    from fedhull.disc.hull import compile_kernels

    status = err.status("Compiling the numerical kernels (only the first time on this machine)")
    timer = threading.Timer(1.0, status.start)
    if not (quiet or silent()):
        timer.start()
    try:
        compile_kernels()
    finally:
        timer.cancel()
        status.stop()


@contextmanager
def spinner(sentence: str) -> Iterator["Status"]:
    """Show a sentence, which the block may change, on standard error while it runs."""
    status = err.status(sentence)
    if not silent():
        status.start()
    try:
        yield status
    finally:
        status.stop()


def progress_bar(quiet: bool) -> "Progress":
    """A bar with the remaining time, on standard error."""
    from rich.progress import (
        BarColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    return Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TextColumn("{task.percentage:>3.0f}%"),
        TimeElapsedColumn(),
        TextColumn("left:"),
        TimeRemainingColumn(),
        console=err,
        transient=True,
        disable=quiet or silent(),
    )


def showing(bar: "Progress", prefix: str = "") -> Report:
    """Feed a bar with progress reports."""
    line = bar.add_task(printable(prefix), total=None)

    def show(step: Step) -> None:
        bar.update(
            line, completed=step.done, total=step.total, description=printable(prefix + step.step)
        )

    return show
