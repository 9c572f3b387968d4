"""`fedhull server`: run a study as its coordinator."""

from typing import Annotated

import typer

from fedhull.cli.console import JsonFlag, prepare_kernels, print_json
from fedhull.cli.engine import (
    KitArgument,
    KitEngineOption,
    MailOption,
    WaitOption,
    open_kit,
    runner_in,
    show_result,
    speaker,
    stoppable,
)
from fedhull.engines.base import Options, Runner
from fedhull.errors import InvalidInput
from fedhull.kits.fetch import published_run
from fedhull.kits.kit import Kit


def server(
    kit: KitArgument,
    engine: KitEngineOption = None,
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
    publish: Annotated[
        bool,
        typer.Option(
            "--publish",
            help="Hand out the newest result to sites that missed the end of their session, until "
            "stopped or nobody has come for --wait seconds.",
        ),
    ] = False,
    run: Annotated[
        str | None,
        typer.Option(help="With --publish: the run in KIT/results whose result is handed out."),
    ] = None,
    json: JsonFlag = False,
) -> None:
    """Run a study as its coordinator, and end when it is done."""
    opened = open_kit(kit)
    if opened.name is not None:
        raise InvalidInput(f"{kit} is the kit of {opened.name}; run it with 'fedhull client'")
    runner = runner_in(opened, engine)
    options = Options(wait, timeout, mail, go_on, again, all_interfaces)
    if publish or run is not None:
        with opened.in_use(), stoppable():
            _publish(opened, runner, run, options, json)
        return
    opened.check_valid()
    prepare_kernels(quiet=json)
    with opened.in_use(), stoppable():
        results = runner.serve(opened, options, speaker(json))
    show_result(opened, results, "The study is complete", json)


def _publish(kit: Kit, runner: Runner, run: str | None, options: Options, json: bool) -> None:
    """Hand out a result; no study is run."""
    results = published_run(kit, run)
    fetched = runner.publish(kit, results, options, speaker(json))
    if json:
        print_json({"run": results.name, "fetched": fetched})
    else:
        speaker(json)(f"Run {results.name} was fetched by: {', '.join(fetched) or 'nobody'}")
