"""Flower as an engine, for researchers; Flower itself is imported when it is used."""

from pathlib import Path

from fedhull.engines.base import Options, Runner, Say
from fedhull.kits.kit import Kit
from fedhull.kits.provision import Kits


class FlowerRunner(Runner):
    """A SuperLink and SuperNodes that live as long as the study."""

    name = extra = "flower"
    module = "flwr"

    def provision(self, kits: Kits, host: str, port: int) -> None:
        """TLS certificates, and the server's address."""
        from fedhull.engines.flower.certificates import add_certificates

        add_certificates(kits, host, port)

    def serve(self, kit: Kit, options: Options, say: Say) -> Path:
        """A SuperLink."""
        from fedhull.engines.flower.run import run_server

        return run_server(kit, options.wait, options.timeout, options.all_interfaces, say)

    def join(self, kit: Kit, options: Options, say: Say) -> Path:
        """A SuperNode."""
        from fedhull.engines.flower.run import run_client

        return run_client(kit, options.wait, say)


RUNNER = FlowerRunner()
