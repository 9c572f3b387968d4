"""Kits for all participants of a study, from its draft."""

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fedhull.disk import write_bytes, write_text
from fedhull.errors import InvalidInput
from fedhull.kits.kit import ENGINE, IDENTITY, STUDY
from fedhull.protocol.agreement import parse_toml
from fedhull.protocol.keys import Identity
from fedhull.study.kinds import AnyStudy, kind_of, study_from_plain, task_of
from fedhull.study.task import Task

SERVER, AUTHORITY = "server", "authority"


@dataclass(frozen=True)
class Kits:
    """The study, complete with keys, and which sites have to put in their own key."""

    folder: Path
    study: AnyStudy
    task: Task
    own_key: list[str]


def make_kits(
    draft: str, folder: Path, engine: str | None = None, attached: bytes | None = None
) -> Kits:
    """Write a kit for the coordinator and one for each site on the roster, all of which name the
    `engine` that they are for; `attached` is the content of the file that the study names, if it
    names one. Its hash is put into the study.

    A site with a public key in the draft keeps its private key to itself. For a site whose key is
    "" a key is made and put into its kit: easier, but whoever makes the kits has then seen it.
    """
    study, made = complete(draft, attached)
    task = task_of(study, attached)
    if folder.exists() and any(folder.iterdir()):
        raise InvalidInput(f"{folder} is not empty; kits are made in a new folder")
    for name in (SERVER, *study.clients):
        kit = folder / name
        kit.mkdir(parents=True)
        kit.chmod(0o700)
        write_bytes(kit / STUDY, study.to_toml().encode())
        identity = made.get(name)
        if identity is not None:
            write_bytes(kit / IDENTITY, identity.to_pem(), mode=0o600)
        if attached is not None:
            write_bytes(kit / study.attachment.file, attached)
        if engine is not None:
            write_text(kit / ENGINE, f"{engine}\n")
        write_text(kit / "README.md", _readme(name, task, identity is not None))
    return Kits(folder, study, task, sorted(set(study.clients) - set(made)))


def complete(draft: str, attached: bytes | None) -> tuple[AnyStudy, dict[str, Identity]]:
    """The study of a draft, with keys where it has none and the hash of the file that it names; and
    these keys, the coordinator's among them, by the names of their owners' kits."""
    content = parse_toml(draft)
    roster = content.get("clients")
    if not isinstance(roster, dict):
        raise InvalidInput("the study must have a [clients] table with a line for each site")
    for reserved in {SERVER, AUTHORITY} & roster.keys():
        raise InvalidInput(f"a site must not be called {reserved!r}: that folder is not a site's")
    made = {name: Identity.generate() for name, public in roster.items() if public == ""}
    if content.get("coordinator"):
        raise InvalidInput("leave 'coordinator' out of the draft: its key is made with the kits")
    made[SERVER] = Identity.generate()
    content["coordinator"] = made[SERVER].public
    if attached is not None:
        _put_hash(content, hashlib.sha256(attached).hexdigest())
    elif "encoder" in content or "embedding" in content:
        raise InvalidInput(f"this study needs {kind_of(content).attachment.words}")
    content["clients"] = {
        name: made[name].public if name in made else public for name, public in roster.items()
    }
    return study_from_plain(content), made


def _put_hash(content: dict[str, Any], sha256: str) -> None:
    """Where the draft leaves the hash of the file open."""
    place = kind_of(content).attachment
    settings = content.setdefault(place.table, {})
    if isinstance(settings, dict) and settings.get(place.key, "") == "":
        settings[place.key] = sha256


def _readme(name: str, task: Task, has_key: bool) -> str:
    command = "fedhull server ."
    words = "It says which sites it is waiting for, and what to do next."
    if name != SERVER:
        label = " --label YOUR_CLASS_COLUMN" if task.needs_labels else ""
        command = f"fedhull client . --data YOUR_FILE{label}"
        words = "It shows what would be sent, and asks before anything is sent."
    key = (
        f"`{IDENTITY}` is your private key: keep this folder to yourself."
        if has_key
        else f"Put the key that `fedhull keygen` made for you here, as `{IDENTITY}`."
    )
    lines = [
        f"# {task.study.name}: the kit of {'the coordinator' if name == SERVER else name}",
        "`study.toml` is what all participants agree on; read it, it is short.",
        key,
        f"Start: `{command}` (in this folder). {words}",
        f"Afterwards `results/` holds the {task.product}, the result, the report page and the "
        f"audit log.",
    ]
    return "\n".join(lines) + "\n"
