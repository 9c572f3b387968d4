"""Kits for all participants of a study, from its draft."""

import hashlib
from dataclasses import dataclass
from pathlib import Path

from fedhull.errors import InvalidInput
from fedhull.federation.encoder_site import read_start
from fedhull.federation.kit import IDENTITY, START, STUDY, write_bytes
from fedhull.protocol.encoder_study import AnyStudy, EncoderStudy, study_from_plain
from fedhull.protocol.keys import Identity
from fedhull.protocol.study import parse_toml

SERVER, AUTHORITY = "server", "authority"


@dataclass(frozen=True)
class Kits:
    """The study, complete with keys, and which sites have to put in their own key."""

    folder: Path
    study: AnyStudy
    own_key: list[str]


def make_kits(draft: str, folder: Path, options: str = "", start: bytes | None = None) -> Kits:
    """Write a kit for the coordinator and one for each site on the roster; `options` are what the
    kits' READMEs add to the commands, `start` is the file of the encoder that an encoder study
    starts from.

    In the draft, an encoder's `start` may be "": the hash of the file is then put in.

    A site with a public key in the draft keeps its private key to itself. For a site whose key is
    "" a key is made and put into its kit: easier, but whoever makes the kits has then seen it.
    """
    content = parse_toml(draft)
    roster = content.get("clients")
    if not isinstance(roster, dict):
        raise InvalidInput("the study must have a [clients] table with a line for each site")
    for reserved in {SERVER, AUTHORITY} & roster.keys():
        raise InvalidInput(f"a site must not be called {reserved!r}, which is a folder of its own")
    made = {name: Identity.generate() for name, public in roster.items() if public == ""}
    coordinator = Identity.generate()
    if content.get("coordinator"):
        raise InvalidInput("leave 'coordinator' out of the draft: its key is made with the kits")
    content["coordinator"] = coordinator.public
    encoder = content.get("encoder")
    if start is None and encoder is not None:
        raise InvalidInput("an encoder study needs the encoder it starts from: --encoder FILE")
    if start is not None and isinstance(encoder, dict) and encoder.get("start") == "":
        encoder["start"] = hashlib.sha256(start).hexdigest()
    content["clients"] = roster | {name: identity.public for name, identity in made.items()}
    study = study_from_plain(content)
    if start is not None:
        if not isinstance(study, EncoderStudy):
            raise InvalidInput("--encoder is for studies with an [encoder] table")
        read_start(study, start)
    if folder.exists() and any(folder.iterdir()):
        raise InvalidInput(f"{folder} is not empty; kits are made in a new folder")
    for name in (SERVER, *study.clients):
        kit = folder / name
        kit.mkdir(parents=True)
        kit.chmod(0o700)
        write_bytes(kit / STUDY, study.to_toml().encode())
        identity = coordinator if name == SERVER else made.get(name)
        if identity is not None:
            write_bytes(kit / IDENTITY, identity.to_pem(), mode=0o600)
        if start is not None:
            write_bytes(kit / START, start)
        write_bytes(kit / "README.md", _readme(name, study, identity is not None, options).encode())
    return Kits(folder, study, sorted(set(study.clients) - set(made)))


def _readme(name: str, study: AnyStudy, has_key: bool, options: str) -> str:
    command = f"fedhull server .{options}"
    words = "It says whom it is waiting for, and ends by itself."
    if name != SERVER:
        file = "YOUR_CELLS.h5ad" if isinstance(study, EncoderStudy) else "YOUR_FILE"
        label = "" if isinstance(study, EncoderStudy) else " --label YOUR_CLASS_COLUMN"
        command = f"fedhull client .{options} --data {file}{label}"
        words = "It shows what would be sent, and asks, before anything is sent."
    key = (
        f"`{IDENTITY}` is your private key: keep this folder to yourself."
        if has_key
        else f"Put the key that `fedhull keygen` made for you here, as `{IDENTITY}`."
    )
    lines = [
        f"# {study.name}: the kit of {'the coordinator' if name == SERVER else name}",
        "`study.toml` is what all participants agree on; read it, it is short.",
        key,
        f"Start: `{command}` (in this folder). {words}",
        f"Afterwards `results/` holds the "
        f"{'encoder' if isinstance(study, EncoderStudy) else 'model'}, the result and the audit "
        f"log.",
    ]
    return "\n".join(lines) + "\n"
