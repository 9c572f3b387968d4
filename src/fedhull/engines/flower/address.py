"""Where a kit says that Flower's server is, and which certificates it has."""

from fedhull.disk import read_text
from fedhull.errors import InvalidInput
from fedhull.kits.kit import Kit

CA, CERTIFICATE, ADDRESS = "ca.pem", "server.crt", "address.txt"


def server_address(kit: Kit) -> tuple[str, int]:
    """Host and port in the kit."""
    if not (kit.folder / ADDRESS).is_file():
        raise InvalidInput(
            f"{kit.folder / ADDRESS} is missing; ask for the kit again, or, if it was not made for "
            f"Flower, leave --engine out"
        )
    host, _, port = read_text(kit.folder / ADDRESS).strip().rpartition(":")
    if not (host and port.isdecimal() and 0 < int(port) < 65536):
        raise InvalidInput(f"{kit.folder / ADDRESS} must be HOST:PORT; ask for the kit again")
    return host, int(port)
