"""Options that `provision`, `server` and `client` share, and what they do with an engine."""

import json as json_module
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from fedhull.cli.console import err, note, out, print_json
from fedhull.cli.talk import silent
from fedhull.disk import read_text
from fedhull.engines.base import ENGINES, Runner, Say, runner_for
from fedhull.engines.connection import Contact
from fedhull.errors import InvalidInput, StudyEnded
from fedhull.kits.inspection import refuse_code
from fedhull.kits.kit import Kit
from fedhull.kits.results import RESULT, page_missing, read_status

EngineOption = Annotated[
    str, typer.Option(help="What moves the messages: nvflare, flower, files, or one you installed.")
]
KitEngineOption = Annotated[
    str | None, typer.Option(help="What moves the messages; by default, what KIT is made for.")
]
KitArgument = Annotated[Path, typer.Argument(help="The participant's kit.")]
MailOption = Annotated[
    Path | None,
    typer.Option(
        help="With files: the folder of messages; by default that of the last call, at first "
        "KIT/mail."
    ),
]
WaitOption = Annotated[float, typer.Option(min=0, help="Seconds to wait for the others.")]


def open_kit(folder: Path, identity: Path | None = None) -> Kit:
    """The kit in a folder. People start `fedhull` in it, so it is looked at before anything is
    compiled, for which even the check of its study suffices."""
    refuse_code(folder.resolve())
    return Kit.open(folder, identity)


def runner_of(engine: str) -> Runner:
    """The engine of this name, if all that it needs is installed."""
    runner = ENGINES[engine]
    runner.require()
    return runner


def runner_in(kit: Kit, engine: str | None) -> Runner:
    """The engine of a kit, if all that it needs is installed and the kit is as it was made."""
    runner = runner_for(kit, engine)
    runner.require()
    runner.inspect(kit)
    return runner


def say(sentence: str) -> None:
    """A sentence for the person at the terminal, on standard error."""
    err.print(sentence, soft_wrap=True)


def speaker(quiet: bool) -> Say:
    """Where a running study reports to."""
    return (lambda sentence: None) if quiet or silent() else say


def show_contact(contact: Contact, json: bool) -> None:
    """What has worked on the way to the server, and how long certificates are valid."""
    if json:
        print_json(contact.to_json())
        return
    lines = [f"{what} ({1e3 * seconds:.0f} ms)" for what, seconds in contact.worked]
    lines += [f"Certificate {each.describe()}" for each in contact.certificates]
    out.print("\n".join([contact.lead, *lines]), soft_wrap=True)
    for each in contact.certificates:
        if (warning := each.warning()) is not None:
            note(f"Warning: {warning}")


def show_result(kit: Kit, results: Path, lead: str, json: bool) -> None:
    """The result of a run, as JSON or in words; its error, if it has come to one."""
    result = read_result(results)
    if json:
        print_json(result)
        return
    if "survivors" in result:
        lead += f": {len(result['survivors'])} of {len(result['clients'])} sites"
    product = kit.task.product.capitalize()
    speaker(quiet=json)(
        f"{lead}.\n{kit.task.summarize(result)}\n"
        f"{product}, result, report page and audit log: {results}"
    )
    if (missing := page_missing(results)) is not None:
        note(f"Warning: {missing}")


def read_result(results: Path) -> dict[str, Any]:
    """The result of a run, or its error."""
    error, sentence = read_status(results)
    if error is not None:
        raise StudyEnded(error, sentence)
    try:
        result = json_module.loads(read_text(results / RESULT))
    except (ValueError, RecursionError):
        result = None
    if not isinstance(result, dict):
        raise InvalidInput(f"{results / RESULT} is damaged; bring it back from a backup")
    return result | {"results": str(results)}


@contextmanager
def stoppable() -> Iterator[None]:
    """Let whoever ends this process, or closes its terminal, stop it like Ctrl-C does, so that it
    cleans up."""
    if threading.current_thread() is not threading.main_thread():
        yield  # where only the main thread is told of signals
        return
    names = "SIGINT", "SIGTERM", "SIGHUP"  # the last is not known everywhere
    wanted = [getattr(signal, name) for name in names if hasattr(signal, name)]
    before = {number: signal.signal(number, signal.default_int_handler) for number in wanted}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
