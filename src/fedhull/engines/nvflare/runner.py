"""NVIDIA FLARE as an engine; FLARE itself is imported when it is used."""

from pathlib import Path

import msgspec

from fedhull.disk import read_bytes
from fedhull.engines.base import Options, Runner, Say
from fedhull.engines.certificates import VALID_DAYS
from fedhull.engines.connection import Contact
from fedhull.engines.nvflare.layout import (
    CONNECTED,
    SERVER_CERTIFICATES,
    SITE_CERTIFICATES,
)
from fedhull.engines.turn import Turn
from fedhull.errors import InvalidInput
from fedhull.kits.kit import Kit
from fedhull.kits.provision import Kits


class FlareRunner(Runner):
    """The engine for real studies: mutual TLS, and sites that run no code but their own."""

    name = module = extra = "nvflare"

    def certificates(self, kit: Kit) -> list[str]:
        """Those that `provision` has put into FLARE's folders."""
        return SERVER_CERTIFICATES if kit.name is None else SITE_CERTIFICATES

    def turn(self, kit: Kit, options: Options) -> Turn | None:
        """While the server waits for sites, those that are not there yet."""
        path = kit.folder / CONNECTED
        if not (kit.busy and path.is_file()):
            return super().turn(kit, options)
        try:
            there = msgspec.json.decode(read_bytes(path), type=dict[str, set[str]])
        except (msgspec.MsgspecError, ValueError):  # ValueError: not UTF-8
            raise InvalidInput(f"{path} is damaged; the study itself goes on") from None
        missing = kit.study.clients.keys() - there.get("connected", set())
        return Turn("waiting for sites", sorted(missing))

    def ping(self, kit: Kit, options: Options) -> Contact:
        """Mutual TLS with the server."""
        from fedhull.engines.nvflare.client import ping

        return ping(kit)

    def inspect(self, kit: Kit) -> None:
        """A kit is no code: one with more in it than `provision` put there is refused."""
        from fedhull.engines.nvflare.inspection import inspect_server, inspect_site

        inspect_server(kit) if kit.name is None else inspect_site(kit)

    def provision(self, kits: Kits, host: str, port: int, days: int = VALID_DAYS) -> None:
        """FLARE's startup kits, and a certificate authority."""
        from fedhull.engines.nvflare.startup import add_startup_kits

        add_startup_kits(kits, host, port, days)

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
