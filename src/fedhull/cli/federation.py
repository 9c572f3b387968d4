"""`fedhull provision`, `server`, `client`: a real study, each participant on its own machine."""

import json as json_module
import shutil
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from fedhull.cli.consent import ask_consent, tell
from fedhull.cli.console import JsonFlag, out, output_folder, prepare_kernels, print_json
from fedhull.errors import EngineFailure, FedhullError, InvalidInput, MissingExtra


class EngineName(StrEnum):
    """What moves the messages."""

    NVFLARE = "nvflare"
    FLOWER = "flower"
    FILES = "files"


EngineOption = Annotated[EngineName, typer.Option(help="What moves the messages.")]
KitArgument = Annotated[Path, typer.Argument(help="The participant's kit.")]
MailOption = Annotated[
    Path | None, typer.Option(help="By files: the folder of messages; without it, KIT/mail.")
]
WaitOption = Annotated[float, typer.Option(min=0, help="Seconds to wait for the others.")]


def provision(
    study: Annotated[Path, typer.Argument(help="The study's draft, a TOML file.")],
    folder: Annotated[Path, typer.Option("--out", help="A new folder for the kits.")],
    server: Annotated[
        str, typer.Option(help="Host name of the server, as the sites reach it.")
    ] = "localhost",
    port: Annotated[int, typer.Option(min=1, max=65535, help="Port of the server.")] = 8002,
    engine: EngineOption = EngineName.NVFLARE,
    encoder: Annotated[
        Path | None, typer.Option(help="The encoder of the study, an .npz: every kit gets it.")
    ] = None,
    json: JsonFlag = False,
) -> None:
    """Make one kit for each participant: the study, certificates, keys, a README."""
    from fedhull.engines.files import check_one_session
    from fedhull.federation.kit import read_bytes, read_text
    from fedhull.federation.provision import AUTHORITY, SERVER, make_kits

    _require_extra(engine)
    options = "" if engine is EngineName.NVFLARE else f" --engine {engine.value}"
    content = None if encoder is None else read_bytes(encoder)
    kits = make_kits(read_text(study), output_folder(folder), options, content)
    try:
        if engine is EngineName.NVFLARE:
            from fedhull.engines.nvflare.startup import add_startup_kits

            add_startup_kits(kits, server, port)
        elif engine is EngineName.FLOWER:
            from fedhull.engines.flower.certificates import add_certificates

            add_certificates(kits, server, port)
        else:
            check_one_session(kits.study)
    except FedhullError:
        shutil.rmtree(folder)  # no half-made kits with keys in them are left
        raise
    if json:
        print_json(
            {
                "kits": str(folder),
                "study_hash": kits.study.hash.hex(),
                "sites": sorted(kits.study.clients),
                "own_key": kits.own_key,
            }
        )
        return
    lines = [
        f"Study '{kits.study.name}', {len(kits.study.clients)} sites, hash {kits.study.hash.hex()}",
        f"Coordinator: {folder / SERVER}  (start: fedhull server {folder / SERVER}{options})",
        *(f"Site {name}: {folder / name}" for name in kits.study.clients),
    ]
    if engine is not EngineName.FILES:
        lines.append(f"Certificate authority: {folder / AUTHORITY} (take it off this machine)")
    if kits.own_key:
        lines.append(f"These bring their own identity key: {', '.join(kits.own_key)}")
    lines.append("Hand every site its folder, and no other, by a way that nobody else can read.")
    out.print("\n".join(lines), highlight=False, markup=False, soft_wrap=True)


def server(
    kit: KitArgument,
    engine: EngineOption = EngineName.NVFLARE,
    wait: WaitOption = 3600.0,
    timeout: Annotated[
        float, typer.Option(min=1, help="Seconds that a site has for each step.")
    ] = 600.0,
    mail: MailOption = None,
    go_on: Annotated[
        bool, typer.Option("--go-on", help="By files: without those who have not replied.")
    ] = False,
    again: Annotated[bool, typer.Option("--again", help="By files: a new session.")] = False,
    json: JsonFlag = False,
) -> None:
    """Run a study as its coordinator, and end when it is done."""
    from fedhull.federation.kit import Kit

    opened = Kit.open(kit)
    if opened.name is not None:
        raise InvalidInput(f"{kit} is the kit of {opened.name}; 'fedhull client' starts a site")
    _require_extra(engine)
    prepare_kernels(quiet=json)
    say = _speaker(json)
    with opened.in_use():
        if engine is EngineName.NVFLARE:
            from fedhull.engines.nvflare.server import run_server

            results = run_server(opened, wait, timeout, say)
        elif engine is EngineName.FLOWER:
            from fedhull.engines.flower.run import run_server as run_flower_server

            results = run_flower_server(opened, wait, timeout, say)
        else:
            from fedhull.engines.files import serve_files

            results = serve_files(opened, mail or opened.folder / "mail", go_on, again, say)
    result = _result_of(results)
    if json:
        print_json(result)
        return
    sites = f"{len(result['survivors'])} of {len(result['clients'])} sites"
    if "encoder" in result:
        tell(
            f"The study is complete: {sites} to the end of {result['rounds']} rounds.\n"
            f"{_encoder_words(result)}"
        )
        return
    accuracy = (
        f"{result['accuracy']:.2f} % of {result['tested']:,} held-out points, counted at "
        f"{len(result['evaluators'])} sites"
        if result["accuracy"] is not None
        else "not known: somebody who was asked did not answer, or nobody held points out"
    )
    tell(
        f"The study is complete: {sites}.\n"
        f"Accuracy: {accuracy}.\n"
        f"Model, result, report page and audit log: {results}"
    )


def client(
    kit: KitArgument,
    data: Annotated[
        str | None, typer.Option(help="Your points, or cells: .csv, .npz, .parquet or .h5ad.")
    ] = None,
    label: Annotated[str, typer.Option(help="Column that holds the classes.")] = "label",
    layer: Annotated[
        str | None,
        typer.Option(help="In a study with an encoder: the .h5ad's layer in place of X."),
    ] = None,
    identity: Annotated[
        Path | None, typer.Option(help="Your key, if it is not in the kit.")
    ] = None,
    engine: EngineOption = EngineName.NVFLARE,
    yes: Annotated[bool, typer.Option("--yes", help="Agree to what would be sent.")] = False,
    again: Annotated[
        bool, typer.Option("--again", help="Agree to a second session of the same study.")
    ] = False,
    wait: WaitOption = 3600.0,
    mail: MailOption = None,
    consent_only: Annotated[
        bool, typer.Option("--consent-only", help="Agree now; FLARE's own client takes part.")
    ] = False,
    json: JsonFlag = False,
) -> None:
    """Take part in a study as a site; shows what would be sent, and asks."""
    from fedhull.federation.consent import withdraw
    from fedhull.federation.kit import Kit

    opened = Kit.open(kit, identity)
    if opened.name is None:
        raise InvalidInput(f"{kit} is the coordinator's kit; 'fedhull server' starts it")
    _require_extra(engine)
    prepare_kernels(quiet=json)
    say = _speaker(json)
    with opened.in_use():
        if consent_only:
            ask_consent(opened, data, label, layer, yes, again, quiet=json)
            say(f"Agreed, for one session; it waits in {opened.folder}")
            return
        if engine is EngineName.FILES:
            from fedhull.engines.files import answer_files, session_open, start_again

            if again or not session_open(opened):
                ask_consent(opened, data, label, layer, yes, again, quiet=json)
            if again:
                start_again(opened)
            results = answer_files(opened, mail or opened.folder / "mail", say)
        else:
            ask_consent(opened, data, label, layer, yes, again, quiet=json)
            try:
                results = _client_runner(engine)(opened, wait, say)
            finally:
                withdraw(opened)
    result = _result_of(results)
    if json:
        print_json(result)
        return
    if "encoder" in result:
        tell(f"The study is complete: {result['rounds']} rounds.\n{_encoder_words(result)}")
        return
    own = ""
    if result["tested"]:
        own = (
            f"On the {result['tested']:,} points you held out it is right for "
            f"{result['accuracy']:.2f} %.\n"
        )
    tell(
        f"The study is complete. The model speaks of your classes: "
        f"{', '.join(map(str, result['classes'].values()))}.\n{own}"
        f"Model, result, report page and audit log: {results}"
    )


def _encoder_words(result: dict[str, Any]) -> str:
    return (
        f"Encoder: {result['encoder']} (SHA-256), the same for everybody.\n"
        f"Encoder, result and audit log: {result['results']}"
    )


def _result_of(results: Path) -> dict[str, Any]:
    """The result of a run, or its error."""
    from fedhull.federation.kit import RESULT, STATUS

    status = json_module.loads((results / STATUS).read_text())
    if status["error"] is not None:
        raise EngineFailure(f"{status['error']}: {status['sentence']}")
    result: dict[str, Any] = json_module.loads((results / RESULT).read_text())
    return result | {"results": str(results)}


def _speaker(quiet: bool) -> Any:
    return (lambda sentence: None) if quiet else tell


def _client_runner(engine: EngineName) -> Any:
    if engine is EngineName.FLOWER:
        from fedhull.engines.flower.run import run_client as run_flower_client

        return run_flower_client
    from fedhull.engines.nvflare.client import run_client

    return run_client


def _require_extra(engine: EngineName) -> None:
    from importlib.util import find_spec

    module = {EngineName.NVFLARE: "nvflare", EngineName.FLOWER: "flwr"}.get(engine)
    if module is not None and find_spec(module) is None:
        raise MissingExtra(
            f"studies on this engine need an extra: pip install 'fedhull[{engine.value}]'"
        )
