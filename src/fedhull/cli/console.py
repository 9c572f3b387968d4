"""What all commands share: where they print, how they show progress, where they write."""

import json
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.text import Text

from fedhull.cli.talk import QUIET, asked_for, silent
from fedhull.errors import InvalidInput
from fedhull.progress import Progress as Step
from fedhull.progress import Report
from fedhull.text import printable, printable_lines

if TYPE_CHECKING:
    from rich.progress import Progress
    from rich.status import Status


class Terminal(Console):
    """Where all words for people go: names from studies, data files and peers are among them, so
    none is taken for markup, an emoji or a command to the terminal."""

    def __init__(self, **settings: Any):
        super().__init__(markup=False, emoji=False, highlight=False, **settings)

    def render_str(self, text: str, **settings: Any) -> Text:
        """The text as it will be shown: rich sends every string through here, those in tables
        too."""
        return super().render_str(printable_lines(text), **settings)


out = Terminal()
err = Terminal(stderr=True)

JsonFlag = Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")]


def print_json(result: Any) -> None:
    """One JSON object on standard output."""
    typer.echo(json.dumps(result, indent=2))


def note(sentence: str) -> None:
    """Something worth knowing that nobody asked for, on standard error."""
    if not asked_for(QUIET):
        err.print(sentence, style="yellow", soft_wrap=True)


def output_folder(path: Path) -> Path:
    """Make the folder and try it out, before any work is done for it."""
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


def prepare_kernels(quiet: bool) -> None:
    """Compile the numerical kernels, with a spinner if that takes more than a second."""
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
    """A sentence on standard error for as long as the block runs, which may change it."""
    status = err.status(sentence)
    if not silent():
        status.start()
    try:
        yield status
    finally:
        status.stop()


def progress_bar(quiet: bool) -> "Progress":
    """A bar with the time it will still take, on standard error."""
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
    """What a bar is fed with: its one line shows the step that is under way."""
    line = bar.add_task(printable(prefix), total=None)

    def show(step: Step) -> None:
        bar.update(
            line, completed=step.done, total=step.total, description=printable(prefix + step.step)
        )

    return show
