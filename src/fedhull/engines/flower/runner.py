"""Flower as an engine, for researchers; imported when it is used."""

import ssl
from pathlib import Path

from fedhull.engines.base import Options, Runner, Say
from fedhull.engines.certificates import VALID_DAYS, read_certificate
from fedhull.engines.connection import Contact, reach
from fedhull.engines.flower.certificates import CA, CERTIFICATE, add_certificates, server_address
from fedhull.errors import InvalidInput
from fedhull.kits.kit import Kit
from fedhull.kits.provision import Kits


class FlowerRunner(Runner):
    """A SuperLink and SuperNodes that live as long as the study."""

    name = extra = "flower"
    module = "flwr"

    def certificates(self, kit: Kit) -> list[str]:
        """The authority's, and at the coordinator the server's."""
        return [CA, CERTIFICATE] if kit.name is None else [CA]

    def ping(self, kit: Kit, options: Options) -> Contact:
        """Try TLS with the server; nodes identify themselves later, by signatures."""
        host, port = server_address(kit)
        try:
            context = ssl.create_default_context(cafile=str(kit.folder / CA))
        except (ssl.SSLError, OSError):
            raise InvalidInput(f"{kit.folder / CA} cannot be used; ask for the kit again") from None
        return reach(host, port, context, [read_certificate(kit.folder, CA)])

    def provision(self, kits: Kits, host: str, port: int, days: int = VALID_DAYS) -> None:
        """Add certificates and the server's address."""
        add_certificates(kits, host, port, days)

    def serve(self, kit: Kit, options: Options, say: Say) -> Path:
        """Run a SuperLink."""
        from fedhull.engines.flower.run import run_server

        return run_server(kit, options.wait, options.timeout, options.all_interfaces, say)

    def join(self, kit: Kit, options: Options, say: Say) -> Path:
        """Run a SuperNode."""
        from fedhull.engines.flower.run import run_client

        return run_client(kit, options.wait, say)


RUNNER = FlowerRunner()
