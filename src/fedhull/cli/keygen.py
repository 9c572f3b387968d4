"""`fedhull keygen`: a participant's long-term identity."""

import os
from pathlib import Path
from typing import Annotated

import typer

from fedhull.cli.console import JsonFlag, out, print_json
from fedhull.errors import InvalidInput


def keygen(
    name: Annotated[str, typer.Argument(help="The site's name, as on the roster: lab-a.")],
    folder: Annotated[Path, typer.Option("--out", help="Folder for the key file.")] = Path(),
    json: JsonFlag = False,
) -> None:
    """Make an identity key: a private file that stays here, a public line for the study."""
    from fedhull.protocol.agreement import check_name
    from fedhull.protocol.keys import Identity

    path = folder / f"{check_name(name)}.key"
    identity = Identity.generate()
    try:
        # created readable by its owner only, and never in place of another key
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        raise InvalidInput(f"{path} already exists; keys are never overwritten") from None
    with os.fdopen(handle, "wb") as file:
        file.write(identity.to_pem())
    if json:
        print_json({"name": name, "public_key": identity.public, "private_key_file": str(path)})
        return
    out.print(
        f"Private key: {path} (keep it on this machine; whoever has it can speak for {name})\n"
        f"For the study's [clients] table, over a channel that nobody can tamper with:",
    )
    typer.echo(f'{name} = "{identity.public}"')
