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
    """The study, complete with keys, and the sites that must add their own key."""

    folder: Path
    study: AnyStudy
    task: Task
    own_key: list[str]


def make_kits(
    draft: str, folder: Path, engine: str | None = None, attached: bytes | None = None
) -> Kits:
    """Write a kit for the coordinator and for each site on the roster. `engine` is noted in all of
    them; `attached` is the content of the file that the study names.

    A site with a public key in the draft keeps its private key. For a site whose key is "", a key
    is made and put into its kit: easier, but seen by whoever makes the kits.
    """
    study, keys = complete(draft, attached)
    task = task_of(study, attached)
    if folder.exists() and any(folder.iterdir()):
        raise InvalidInput(f"{folder} is not empty; kits are made in a new folder")
    for name in (SERVER, *study.clients):
        kit = folder / name
        kit.mkdir(parents=True)
        kit.chmod(0o700)
        write_bytes(kit / STUDY, study.to_toml().encode())
        identity = keys.get(name)
        if identity is not None:
            write_bytes(kit / IDENTITY, identity.to_pem(), mode=0o600)
        if attached is not None:
            write_bytes(kit / study.attachment.file, attached)
        if engine is not None:
            write_text(kit / ENGINE, f"{engine}\n")
        write_text(kit / "README.md", _readme(name, task, identity is not None))
    return Kits(folder, study, task, sorted(set(study.clients) - set(keys)))


def complete(draft: str, attached: bytes | None) -> tuple[AnyStudy, dict[str, Identity]]:
    """Complete a draft with missing keys and the hash of the file that it names; the study, and the
    new keys by kit, the coordinator's among them."""
    content = parse_toml(draft)
    roster = content.get("clients")
    if not isinstance(roster, dict):
        raise InvalidInput("the study must have a [clients] table with a line for each site")
    for reserved in {SERVER, AUTHORITY} & roster.keys():
        raise InvalidInput(f"no site can be called {reserved!r}: that folder has another use")
    keys = {name: Identity.generate() for name, public in roster.items() if public == ""}
    if content.get("coordinator"):
        raise InvalidInput("leave 'coordinator' out of the draft: that key is made with the kits")
    keys[SERVER] = Identity.generate()
    content["coordinator"] = keys[SERVER].public
    if attached is not None:
        _put_hash(content, hashlib.sha256(attached).hexdigest())
    elif "encoder" in content or "embedding" in content:
        raise InvalidInput(f"this study needs {kind_of(content).attachment.words}")
    content["clients"] = {
        name: keys[name].public if name in keys else public for name, public in roster.items()
    }
    return study_from_plain(content), keys


def _put_hash(content: dict[str, Any], sha256: str) -> None:
    """Fill in the file's hash where the draft leaves it open."""
    place = kind_of(content).attachment
    settings = content.setdefault(place.table, {})
    if isinstance(settings, dict) and settings.get(place.key, "") == "":
        settings[place.key] = sha256


def _readme(name: str, task: Task, has_key: bool) -> str:
    command = "fedhull server ."
    words = "It lists the sites that are missing, and says what to do next."
    if name != SERVER:
        label = " --label YOUR_CLASS_COLUMN" if task.needs_labels else ""
        command = f"fedhull client . --data YOUR_FILE{label}"
        words = "It shows what would be sent, and asks before anything is sent."
    key = (
        f"`{IDENTITY}` is your private key: keep this folder to yourself."
        if has_key
        else f"Put your key from `fedhull keygen` here, as `{IDENTITY}`."
    )
    lines = [
        f"# {task.study.name}: the kit of {'the coordinator' if name == SERVER else name}",
        "`study.toml` is the agreement of all participants. Read it; it is short.",
        key,
        f"Start: `{command}` (in this folder). {words}",
        f"Afterwards `results/` holds the {task.product}, the result, the report page and the "
        f"audit log.",
    ]
    return "\n".join(lines) + "\n"
