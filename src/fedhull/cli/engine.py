"""Parts shared by `provision`, `server`, `client` and `status`."""

import json as json_module
import signal
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

from typer import Argument, Option

from fedhull.cli.console import err, note, out, print_json
from fedhull.cli.talk import silent
from fedhull.disk import read_text
from fedhull.engines.base import ENGINES, Runner, Say, runner_for
from fedhull.engines.connection import Contact
from fedhull.errors import InvalidInput, StudyEnded
from fedhull.kits.kit import Kit, refuse_code
from fedhull.kits.results import RESULT, page_missing, read_status

EngineOption = Annotated[
    str, Option(help="Engine that moves the messages: nvflare, flower, files, or your own.")
]
KitEngineOption = Annotated[
    str | None, Option(help="Engine that moves the messages; by default, the kit's.")
]
KitArgument = Annotated[Path, Argument(help="The participant's kit.")]
MailOption = Annotated[
    Path | None,
    Option(
        help="With files: the folder of messages; by default that of the last call, or KIT/mail."
    ),
]
WaitOption = Annotated[float, Option(min=0, help="Seconds to wait for the others.")]


def open_kit(folder: Path, identity: Path | None = None) -> Kit:
    """Open a kit. People start `fedhull` in it, so it is checked for code before anything is
    compiled, as even its study's checks would."""
    refuse_code(folder.resolve())
    return Kit.open(folder, identity)


def runner_of(engine: str) -> Runner:
    """The engine of this name, if it is installed."""
    runner = ENGINES[engine]
    runner.require()
    return runner


def runner_in(kit: Kit, engine: str | None) -> Runner:
    """The engine of a kit, if it is installed and the kit is unchanged."""
    runner = runner_for(kit, engine)
    runner.require()
    runner.inspect(kit)
    return runner


def say(sentence: str) -> None:
    """Print a sentence on standard error."""
    err.print(sentence, soft_wrap=True)


def speaker(quiet: bool) -> Say:
    """Output for a running study."""
    return (lambda sentence: None) if quiet or silent() else say


def show_contact(contact: Contact, json: bool) -> None:
    """Print the checks of a connection and the certificates."""
    if json:
        print_json(contact.to_json())
        return
    lines = [f"{what} ({1e3 * seconds:.0f} ms)" for what, seconds in contact.worked]
    lines += [f"Certificate {each.describe()}" for each in contact.certificates]
    out.print("\n".join([contact.lead, *lines]), soft_wrap=True)
    warn(each.warning() for each in contact.certificates)


def warn(warnings: Iterable[str | None]) -> None:
    """Print warnings on standard error."""
    for warning in warnings:
        if warning is not None:
            note(f"Warning: {warning}")


def show_result(kit: Kit, results: Path, lead: str, json: bool) -> None:
    """Print a run's result, as JSON or in words; raise its error."""
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
    warn([page_missing(results)])


def read_result(results: Path) -> dict[str, Any]:
    """Read a run's result, or raise its error."""
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
    """End like after Ctrl-C, with all clean-up, when the process is terminated or its terminal
    closed."""
    if threading.current_thread() is not threading.main_thread():
        yield  # signals reach the main thread only
        return
    names = "SIGINT", "SIGTERM", "SIGHUP"  # no SIGHUP on Windows
    numbers = [getattr(signal, name) for name in names if hasattr(signal, name)]
    before = {number: signal.signal(number, signal.default_int_handler) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
