"""NVIDIA FLARE as an engine; FLARE itself is imported when it is used."""

from pathlib import Path

from fedhull.engines.base import Options, Runner, Say
from fedhull.kits.kit import Kit
from fedhull.kits.provision import Kits


class FlareRunner(Runner):
    """The engine for real studies: mutual TLS, and sites that run no code but their own."""

    name = module = extra = "nvflare"

    def inspect(self, kit: Kit) -> None:
        """A kit is no code: one with more in it than `provision` put there is refused."""
        from fedhull.engines.nvflare.inspection import inspect_server, inspect_site

        super().inspect(kit)
        inspect_server(kit) if kit.name is None else inspect_site(kit)

    def provision(self, kits: Kits, host: str, port: int) -> None:
        """FLARE's startup kits, and a certificate authority."""
        from fedhull.engines.nvflare.startup import add_startup_kits

        add_startup_kits(kits, host, port)

    def serve(self, kit: Kit, options: Options, say: Say) -> Path:
        """FLARE's server, for as long as the study takes."""
        from fedhull.engines.nvflare.server import run_server

        return run_server(kit, options.wait, options.timeout, say)

    def join(self, kit: Kit, options: Options, say: Say) -> Path:
        """FLARE's client, for as long as the study takes."""
        from fedhull.engines.nvflare.client import run_client

        return run_client(kit, options.wait, say)

    def publish(self, kit: Kit, results: Path, options: Options, say: Say) -> list[str]:
        """FLARE's server, until nobody comes any more."""
        from fedhull.engines.nvflare.late import publish

        return publish(kit, results, options.wait, say)

    def fetch(self, kit: Kit, options: Options, say: Say) -> bytes:
        """FLARE's client, until it has what the server has published."""
        from fedhull.engines.nvflare.late import fetch

        return fetch(kit, options.wait, say)


RUNNER = FlareRunner()
