"""NVIDIA FLARE as an engine; imported when it is used."""

from pathlib import Path

from fedhull.disk import read_bytes
from fedhull.engines.base import Options, Runner, Say
from fedhull.engines.certificates import VALID_DAYS
from fedhull.engines.connection import Contact
from fedhull.engines.following import Turn
from fedhull.engines.nvflare.layout import CONNECTED, SERVER_CERTIFICATES, SITE_CERTIFICATES
from fedhull.kits.files import decoded
from fedhull.kits.kit import Kit
from fedhull.kits.provision import Kits


class FlareRunner(Runner):
    """The engine for real studies: mutual TLS, and sites that run only their own code."""

    name = module = extra = "nvflare"

    def certificates(self, kit: Kit) -> list[str]:
        """The certificates in FLARE's folders."""
        return SERVER_CERTIFICATES if kit.name is None else SITE_CERTIFICATES

    def turn(self, kit: Kit, options: Options) -> Turn | None:
        """The missing sites, while the server waits for them."""
        path = kit.folder / CONNECTED
        if not (kit.busy and path.is_file()):
            return super().turn(kit, options)
        complaint = f"{path} is damaged; the study itself goes on"
        connected = decoded(read_bytes(path), dict[str, set[str]], complaint)
        missing = kit.study.clients.keys() - connected.get("connected", set())
        return Turn("waiting for sites", sorted(missing))

    def ping(self, kit: Kit, options: Options) -> Contact:
        """Try mutual TLS with the server."""
        from fedhull.engines.nvflare.client import ping

        return ping(kit)

    def inspect(self, kit: Kit) -> None:
        """Refuse a kit with more or other files than `provision` wrote."""
        from fedhull.engines.nvflare.inspection import inspect_server, inspect_site

        inspect_server(kit) if kit.name is None else inspect_site(kit)

    def provision(self, kits: Kits, host: str, port: int, days: int = VALID_DAYS) -> None:
        """Add FLARE's startup kits and a certificate authority."""
        from fedhull.engines.nvflare.startup import add_startup_kits

        add_startup_kits(kits, host, port, days)

    def serve(self, kit: Kit, options: Options, say: Say) -> Path:
        """Run FLARE's server during the study."""
        from fedhull.engines.nvflare.server import run_server

        return run_server(kit, options.wait, options.timeout, say)

    def join(self, kit: Kit, options: Options, say: Say) -> Path:
        """Run FLARE's client during the study."""
        from fedhull.engines.nvflare.client import run_client

        return run_client(kit, options.wait, say)

    def publish(self, kit: Kit, results: Path, options: Options, say: Say) -> list[str]:
        """Run FLARE's server until no site comes any more."""
        from fedhull.engines.nvflare.server import publish

        return publish(kit, results, options.wait, say)

    def fetch(self, kit: Kit, options: Options, say: Say) -> bytes:
        """Run FLARE's client until it has the publication."""
        from fedhull.engines.nvflare.client import fetch

        return fetch(kit, options.wait, say)


RUNNER = FlareRunner()
