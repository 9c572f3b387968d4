"""What lies where in a kit for FLARE, known without FLARE."""

import re
from pathlib import Path

import msgspec

from fedhull.disk import read_bytes
from fedhull.errors import InvalidInput

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
# While `fedhull server` waits for sites, the names of those that are there.
CONNECTED = f"{WORKSPACE}/connected.json"
_HOST = re.compile(r"[A-Za-z0-9]([A-Za-z0-9.-]{0,251}[A-Za-z0-9])?")


def address_in(folder: Path, start: str) -> tuple[str, int]:
    """Host and port of the server, from a kit: all that is taken from its configuration."""
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
