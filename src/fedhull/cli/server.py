"""`fedhull server`: run a study as its coordinator."""

from typing import Annotated

import typer

from fedhull.cli.console import JsonFlag, prepare_kernels
from fedhull.cli.engine import (
    EngineOption,
    KitArgument,
    MailOption,
    WaitOption,
    runner_of,
    show_result,
    speaker,
)
from fedhull.engines.base import DEFAULT_ENGINE, Options
from fedhull.errors import InvalidInput
from fedhull.kits.kit import Kit


def server(
    kit: KitArgument,
    engine: EngineOption = DEFAULT_ENGINE,
    wait: WaitOption = Options.wait,
    timeout: Annotated[
        float, typer.Option(min=1, help="Seconds that a site has for each step.")
    ] = Options.timeout,
    mail: MailOption = None,
    go_on: Annotated[
        bool, typer.Option("--go-on", help="With files: go on without missing replies.")
    ] = False,
    again: Annotated[bool, typer.Option("--again", help="With files: a new session.")] = False,
    all_interfaces: Annotated[
        bool,
        typer.Option(
            "--all-interfaces",
            help="With Flower: let every network of this machine reach the server's port, not "
            "only this machine itself. FLARE always does.",
        ),
    ] = False,
    json: JsonFlag = False,
) -> None:
    """Run a study as its coordinator, and end when it is done."""
    opened = Kit.open(kit)
    if opened.name is not None:
        raise InvalidInput(f"{kit} is the kit of {opened.name}; run it with 'fedhull client'")
    runner = runner_of(engine)
    runner.inspect(opened)
    prepare_kernels(quiet=json)
    options = Options(wait, timeout, mail, go_on, again, all_interfaces)
    with opened.in_use():
        results = runner.serve(opened, options, speaker(json))
    show_result(opened, results, "The study is complete", json)
