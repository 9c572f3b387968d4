"""`fedhull server`: a coordinator's part in a study."""

from typing import Annotated

from typer import Option

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
    timeout: Annotated[float, Option(min=1, help="Seconds for each step.")] = Options.timeout,
    mail: MailOption = None,
    go_on: Annotated[
        bool, Option("--go-on", help="With files: go on without missing replies.")
    ] = False,
    again: Annotated[bool, Option("--again", help="With files: a new session.")] = False,
    all_interfaces: Annotated[
        bool,
        Option(
            "--all-interfaces",
            help="With Flower: open the server's port to every network of this machine. FLARE "
            "always does.",
        ),
    ] = False,
    publish: Annotated[
        bool,
        Option(
            "--publish",
            help="Hand out the newest result to sites that missed the end, until stopped or "
            "nobody has come for --wait seconds.",
        ),
    ] = False,
    run: Annotated[
        str | None, Option(help="With --publish: a run in KIT/results instead of the newest.")
    ] = None,
    json: JsonFlag = False,
) -> None:
    """Run a study as its coordinator."""
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
