"""`fedhull keygen`: a participant's identity key."""

import os
from pathlib import Path
from typing import Annotated

import typer
from typer import Argument, Option

from fedhull.cli.console import JsonFlag, out, print_json
from fedhull.errors import InvalidInput


def keygen(
    name: Annotated[str, Argument(help="The site's name on the roster, such as lab-a.")],
    folder: Annotated[Path, Option("--out", help="Folder for the key file.")] = Path(),
    json: JsonFlag = False,
) -> None:
    """Make an identity key: a private file and a public line."""
    from fedhull.protocol.agreement import check_name
    from fedhull.protocol.keys import Identity

    path = folder / f"{check_name(name)}.key"
    identity = Identity.generate()
    try:
        # private from the start, and never in place of another key
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        raise InvalidInput(f"{path} already exists; keys are never overwritten") from None
    with os.fdopen(handle, "wb") as file:
        file.write(identity.to_pem())
    if json:
        print_json({"name": name, "public_key": identity.public, "private_key_file": str(path)})
        return
    out.print(
        f"Private key: {path} (keep it on this machine: it can sign for {name})\n"
        f"For the study's [clients] table, to be sent over a trusted channel:"
    )
    typer.echo(f'{name} = "{identity.public}"')
