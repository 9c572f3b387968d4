"""FLARE's places in a kit, known without FLARE."""

import os
import re
from pathlib import Path
from typing import Any

import msgspec

from fedhull.disk import read_bytes
from fedhull.errors import InvalidInput
from fedhull.kits.kit import Kit

ADMIN, ADMIN_FOLDER = "coordinator@fedhull.org", "admin"
WORKSPACE = "flare"
SITE_KEYS = ["startup/rootCA.pem", "startup/client.crt", "startup/client.key"]
SERVER_KEYS = [
    *("startup/rootCA.pem", "startup/server.crt", "startup/server.key"),
    *(f"{ADMIN_FOLDER}/{name}" for name in SITE_KEYS),
]
SITE_CERTIFICATES = SITE_KEYS[:2]
SERVER_CERTIFICATES = [name for name in SERVER_KEYS if name.endswith((".pem", ".crt"))]
SITE_START, SERVER_START = "startup/fed_client.json", "startup/fed_server.json"
# The connected sites, while `fedhull server` waits for the others.
CONNECTED = f"{WORKSPACE}/connected.json"
KIT_VARIABLE = "FEDHULL_KIT"
_HOST = re.compile(r"[A-Za-z0-9]([A-Za-z0-9.-]{0,251}[A-Za-z0-9])?")


def kit_of(fl_ctx: Any) -> Kit:
    """The kit of a process that FLARE has started; with FLARE's own tools, its workspace."""
    folder = os.environ.get(KIT_VARIABLE)
    return Kit.open(folder or fl_ctx.get_engine().get_workspace().get_root_dir())


def address_in(folder: Path, start: str) -> tuple[str, int]:
    """Host and port of the server, the only settings taken from a kit."""
    try:
        content = msgspec.json.decode(read_bytes(folder / start))
        host, _, port = str(content["servers"][0]["service"]["target"]).rpartition(":")
        number = int(port)
    except (InvalidInput, msgspec.MsgspecError, LookupError, TypeError, ValueError):
        raise InvalidInput(
            f"{folder / start} is missing or damaged; ask for the kit again, or, if it was not "
            f"made for NVIDIA FLARE, leave --engine out"
        ) from None
    if not (_HOST.fullmatch(host) and 0 < number < 65536):
        raise InvalidInput(
            f"{folder / start} must name the server as HOST:PORT; ask for the kit again"
        )
    return host, number
