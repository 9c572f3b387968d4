"""`fedhull client`: a site's part in a study, after somebody there has agreed."""

import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

from typer import Option

from fedhull.cli.console import JsonFlag, err, prepare_kernels
from fedhull.cli.engine import (
    KitArgument,
    KitEngineOption,
    MailOption,
    WaitOption,
    open_kit,
    runner_in,
    say,
    show_contact,
    show_result,
    speaker,
    stoppable,
)
from fedhull.cli.options import (
    DataOption,
    DonorOption,
    IdentityOption,
    LabelOption,
    LayerOption,
    MapOption,
)
from fedhull.disk import read_bytes
from fedhull.engines.base import Options, Runner, Say
from fedhull.errors import Declined, InvalidInput, ProtocolError, StillWaiting, Stopped
from fedhull.kits.consent import earlier_uploads, give, waits, withdraw
from fedhull.kits.fetch import take_late, waiting_run
from fedhull.kits.kit import Kit
from fedhull.kits.ledger import refusal
from fedhull.study.task import Source
from fedhull.text import check_visible, printable


def client(
    kit: KitArgument,
    data: DataOption = None,
    label: LabelOption = "label",
    donor: DonorOption = None,
    names: MapOption = None,
    layer: LayerOption = None,
    identity: IdentityOption = None,
    engine: KitEngineOption = None,
    yes: Annotated[bool, Option("--yes", help="Agree without being asked.")] = False,
    agreed_by: Annotated[str, Option(help="With --yes: name of the person who agrees.")] = "",
    again: Annotated[
        bool, Option("--again", help="Agree to one more session over the same data.")
    ] = False,
    wait: WaitOption = Options.wait,
    mail: MailOption = None,
    consent_only: Annotated[
        bool, Option("--consent-only", help="Agree now; FLARE's own client joins later.")
    ] = False,
    fetch: Annotated[
        bool, Option("--fetch", help="Get the result of a session that ended without this site.")
    ] = False,
    publication: Annotated[
        Path | None, Option(help="With --fetch: the coordinator's file publication.bin.")
    ] = None,
    ping: Annotated[
        bool,
        Option(
            "--ping",
            help="Only test the connection to the server, or the mail folder; no data, no consent.",
        ),
    ] = False,
    json: JsonFlag = False,
) -> None:
    """Take part in a study as a site; nothing leaves without consent."""
    opened = open_kit(kit, identity)
    if opened.name is None:
        raise InvalidInput(f"{kit} is the coordinator's kit; run it with 'fedhull server'")
    runner = runner_in(opened, engine)
    if ping:
        show_contact(runner.ping(opened, Options(mail=mail)), json)
        return
    prepare_kernels(quiet=json)
    source = None if data is None else Source(data, label, layer, donor, names)
    options = Options(wait=wait, mail=mail)
    with opened.in_use():
        if fetch or publication is not None:
            try:
                with stoppable():
                    results = _fetch(opened, runner, publication, options, speaker(json))
            except KeyboardInterrupt:
                raise Stopped("stopped; the result can be fetched later") from None
            show_result(opened, results, "The study is complete", json)
            return
        agreed = runner.session_open(opened) or (runner.keeps_consent and waits(opened, source))
        if consent_only or again or not agreed:
            opened.check_valid()
            if not consent_only:
                runner.check_invited(opened, options)
            _ask(opened, source, yes, agreed_by, again, quiet=json)
        if consent_only:
            speaker(json)(f"Agreed, for one session; the consent is in {opened.folder}")
            return
        if again:
            runner.start_again(opened)
        try:
            with stoppable():
                results = runner.join(opened, options, speaker(json))
        except KeyboardInterrupt:
            withdraw(opened)
            raise Stopped("stopped; an unused consent is withdrawn") from None
        finally:
            runner.after_join(opened)
    show_result(opened, results, "The study is complete", json)


def _fetch(kit: Kit, runner: Runner, file: Path | None, options: Options, say: Say) -> Path:
    """Fetch the result of a session that has uploaded; nothing is sent."""
    waiting_run(kit)
    if file is not None:
        try:
            return take_late(kit, read_bytes(file))
        except ProtocolError as problem:
            # the right file can still be used
            raise InvalidInput(f"{file} cannot be used: {problem}") from None
    published = runner.fetch(kit, options, say)
    if published is None:
        raise StillWaiting("nothing has been published yet; try again later")
    return take_late(kit, published)


def _ask(
    kit: Kit, source: Source | None, yes: bool, agreed_by: str, again: bool, quiet: bool
) -> None:
    """Show what would be sent, ask, and leave the consent for the session."""
    if source is None:
        raise InvalidInput("--data must name the file with your points or cells")
    assert kit.name is not None
    holdings = kit.task.read(source)
    if not (quiet and yes):
        say("\n".join(map(printable, kit.task.explain(kit.name, holdings))))
    earlier = earlier_uploads(kit, source, holdings)
    if earlier and not again:
        raise InvalidInput(refusal(earlier[-1]))
    if not again and kit.has_uploaded:
        raise InvalidInput(
            "this kit has already uploaded in this study. Anybody with two totals over different "
            "sites can subtract them; if the coordinator has told you why a second session is "
            "needed and you agree, use --again"
        )
    if not yes:
        err.print("Do you agree to send this? [y/N]: ", end="")
        answer = sys.stdin.readline()
        if not answer:
            raise InvalidInput(
                "there was no answer, and nothing was sent: run this in a terminal, or agree with "
                "--yes and --agreed-by NAME"
            )
        if answer.strip().lower() not in ("y", "yes"):
            raise Declined("you did not agree; nothing was sent")
        err.print("Your name, for this site's consent and audit log; it is not sent: ", end="")
        agreed_by = sys.stdin.readline().strip()
        if not agreed_by:
            raise InvalidInput("nobody agreed by name; nothing was sent")
    check_visible(agreed_by, "the name of who agrees")
    now = datetime.now(UTC).isoformat(timespec="seconds")
    give(kit, source, holdings, now, after=earlier, by=agreed_by)
