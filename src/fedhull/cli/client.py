"""`fedhull client`: take part in a study as a site, after somebody there has agreed."""

import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from fedhull.cli.console import JsonFlag, err, prepare_kernels
from fedhull.cli.engine import (
    EngineOption,
    KitArgument,
    MailOption,
    WaitOption,
    runner_of,
    say,
    show_result,
    speaker,
)
from fedhull.engines.base import DEFAULT_ENGINE, Options
from fedhull.errors import InvalidInput
from fedhull.kits.consent import give
from fedhull.kits.kit import Kit
from fedhull.study.task import Source


def client(
    kit: KitArgument,
    data: Annotated[
        str | None, typer.Option(help="Your points or cells: .csv, .npz, .parquet or .h5ad.")
    ] = None,
    label: Annotated[str, typer.Option(help="Column that holds the classes.")] = "label",
    layer: Annotated[
        str | None,
        typer.Option(help="In a study with an encoder: the .h5ad layer to use instead of X."),
    ] = None,
    identity: Annotated[
        Path | None, typer.Option(help="Your key, if it is not in the kit.")
    ] = None,
    engine: EngineOption = DEFAULT_ENGINE,
    yes: Annotated[bool, typer.Option("--yes", help="Agree without being asked.")] = False,
    again: Annotated[
        bool, typer.Option("--again", help="Agree to a second session of the same study.")
    ] = False,
    wait: WaitOption = Options.wait,
    mail: MailOption = None,
    consent_only: Annotated[
        bool, typer.Option("--consent-only", help="Agree now; FLARE's own client joins later.")
    ] = False,
    json: JsonFlag = False,
) -> None:
    """Take part in a study as a site, after seeing what would be sent and agreeing to it."""
    opened = Kit.open(kit, identity)
    if opened.name is None:
        raise InvalidInput(f"{kit} is the coordinator's kit; run it with 'fedhull server'")
    runner = runner_of(engine)
    runner.inspect(opened)
    prepare_kernels(quiet=json)
    source = None if data is None else Source(data, label, layer)
    with opened.in_use():
        if consent_only or again or not runner.session_open(opened):
            _ask(opened, source, yes, again, quiet=json)
        if consent_only:
            speaker(json)(f"Agreed, for one session; the consent waits in {opened.folder}")
            return
        if again:
            runner.start_again(opened)
        try:
            results = runner.join(opened, Options(wait=wait, mail=mail), speaker(json))
        finally:
            runner.after_join(opened)
    show_result(opened, results, "The study is complete", json)


def _ask(kit: Kit, source: Source | None, yes: bool, again: bool, quiet: bool) -> None:
    """Show what would be sent, ask, and leave the consent for the session to find."""
    if source is None:
        raise InvalidInput("--data must name the file with your points or cells")
    assert kit.name is not None
    holdings = kit.task.read(source)
    if not (quiet and yes):
        say("\n".join(kit.task.explain(kit.name, holdings)))
    if kit.has_uploaded and not again:
        raise InvalidInput(
            "this kit has already uploaded in this study. Whoever sees two sums over different "
            "sites can subtract them; if the coordinator has told you why a second session is "
            "needed and you agree, use --again"
        )
    if not yes:
        err.print("Do you agree to send this? [y/N]: ", end="", markup=False, highlight=False)
        if sys.stdin.readline().strip().lower() not in ("y", "yes"):
            raise InvalidInput("you did not agree; nothing was sent (--yes agrees without asking)")
    give(kit, source, holdings, datetime.now(UTC).isoformat(timespec="seconds"))
