"""`fedhull provision`: kits for all participants of a study."""

import shutil
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from fedhull.cli.console import JsonFlag, out, output_folder, print_json
from fedhull.cli.engine import EngineOption, runner_of
from fedhull.cli.options import EncoderOption, GenesOption, read_attachment
from fedhull.disk import read_text
from fedhull.engines.base import DEFAULT_ENGINE
from fedhull.engines.certificates import VALID_DAYS
from fedhull.errors import FedhullError
from fedhull.kits.provision import AUTHORITY, SERVER, make_kits


def provision(
    study: Annotated[Path, Argument(help="The study's draft, a TOML file.")],
    folder: Annotated[Path, Option("--out", help="A new folder for the kits.")],
    server: Annotated[
        str, Option(help="Host name of the server, as the sites see it.")
    ] = "localhost",
    port: Annotated[int, Option(min=1, max=65535, help="Port of the server.")] = 8002,
    engine: EngineOption = DEFAULT_ENGINE,
    encoder: EncoderOption = None,
    genes: GenesOption = None,
    days: Annotated[
        int, Option(min=1, max=3650, help="Days until certificates expire.")
    ] = VALID_DAYS,
    json: JsonFlag = False,
) -> None:
    """Make a kit for each participant: study, certificates, keys."""
    runner = runner_of(engine)
    content = read_attachment(encoder, genes)
    kits = make_kits(read_text(study), output_folder(folder), engine, content)
    try:
        runner.provision(kits, server, port, days)
    except FedhullError:
        shutil.rmtree(folder)  # leaves no keys in half-made kits
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
        f"Coordinator: {folder / SERVER}  (start: fedhull server {folder / SERVER})",
        *(f"Site {name}: {folder / name}" for name in kits.study.clients),
    ]
    if runner.has_authority:
        lines.append(f"Certificate authority: {folder / AUTHORITY} (take it off this machine)")
        until = datetime.now(UTC) + timedelta(days=days)
        lines.append(f"Certificates: valid until {until:%Y-%m-%d} ('fedhull status KIT' shows it)")
    if kits.own_key:
        lines.append(f"Sites that bring their own identity key: {', '.join(kits.own_key)}")
    lines.append("Give each site its own folder and no other, over a private channel.")
    out.print("\n".join(lines), soft_wrap=True)
