"""Refuse a kit that was changed: `fedhull` runs nothing of it, but FLARE's own scripts would."""

from pathlib import Path
from typing import Any

import msgspec
from cryptography import x509
from cryptography.x509.oid import NameOID

from fedhull.disk import read_bytes
from fedhull.engines.nvflare.layout import (
    ADMIN_FOLDER,
    SERVER_KEYS,
    SERVER_START,
    SITE_KEYS,
    SITE_START,
    address_in,
)
from fedhull.engines.nvflare.workspace import (
    Configuration,
    server_configuration,
    site_configuration,
)
from fedhull.errors import BadIdentity, InvalidInput
from fedhull.kits.kit import Kit, not_part_of_a_kit

# for FLARE's own administrators
SCRIPTS = ["startup/start.sh", "startup/sub_start.sh", "startup/stop_fl.sh"]
ADMIN_SCRIPTS = [f"{ADMIN_FOLDER}/startup/fl_admin.sh"]
STORE = "flare-store"
_FOLDERS = ["startup", "local", ADMIN_FOLDER]


def inspect_site(kit: Kit) -> None:
    """InvalidInput unless the FLARE part of a site's kit is what `provision` made."""
    assert kit.name is not None
    host, port = address_in(kit.folder, SITE_START)
    owner = _owner(kit.folder)
    if owner != kit.name:
        raise BadIdentity(
            f"the certificate in {kit.folder} is {owner}'s, but the identity key is {kit.name}'s; "
            f"use the kit and the key of the same site"
        )
    _inspect(kit.folder, site_configuration(kit.name, host, port), [*SITE_KEYS, *SCRIPTS])


def inspect_server(kit: Kit) -> None:
    """InvalidInput unless the FLARE part of the coordinator's kit is what `provision` made."""
    host, port = address_in(kit.folder, SERVER_START)
    expected = server_configuration(host, port, _store_in(kit.folder))
    _inspect(kit.folder, expected, [*SERVER_KEYS, *SCRIPTS, *ADMIN_SCRIPTS])


def _inspect(folder: Path, expected: Configuration, others: list[str]) -> None:
    for path in _entries(folder):
        name = path.relative_to(folder).as_posix()
        if name in expected:
            if _json(path) != msgspec.to_builtins(expected[name]):
                raise InvalidInput(
                    f"{path} is not what fedhull wrote: somebody has changed this kit, and such a "
                    f"file can make FLARE run code; ask whoever made the kits"
                )
        elif name not in others:
            raise not_part_of_a_kit(path)
    for name in (*expected, *others):
        if not (folder / name).is_file():
            raise InvalidInput(f"{folder / name} is missing; ask for the kit again")


def _entries(folder: Path) -> list[Path]:
    """Everything in FLARE's folders."""
    return sorted(
        path
        for name in _FOLDERS
        for path in (folder / name).rglob("*")
        if not path.is_dir() or path.is_symlink()
    )


def _owner(folder: Path) -> str:
    """Owner of the certificate in a site's kit."""
    path = folder / "startup" / "client.crt"
    try:
        subject = x509.load_pem_x509_certificate(read_bytes(path)).subject
        return str(subject.get_attributes_for_oid(NameOID.COMMON_NAME)[0].value)
    except (ValueError, IndexError):
        raise InvalidInput(f"{path} is not a certificate; ask for the kit again") from None


def _store_in(folder: Path) -> str:
    """The folder for the server's jobs, the one setting that may differ."""
    resources = _json(folder / "local" / "resources.json")
    try:
        store = str(resources["snapshot_persistor"]["args"]["storage"]["args"]["root_dir"])
    except (LookupError, TypeError):
        return ""
    return store.removesuffix("/snapshots")


def _json(path: Path) -> Any:
    try:
        return msgspec.json.decode(read_bytes(path))
    except (InvalidInput, msgspec.MsgspecError):
        return None
