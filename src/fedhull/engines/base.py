"""The engine interface: provision a study, serve it, join it.

An engine is found by name in the registry `ENGINES`. Its module is light: anything that may not be
installed is imported when it is used.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from fedhull.engines.certificates import VALID_DAYS
from fedhull.engines.connection import Contact
from fedhull.engines.following import Say, Turn, next_step, open_turn
from fedhull.errors import InvalidInput, MissingExtra
from fedhull.kits.consent import forget_holdings, withdraw
from fedhull.kits.kit import Kit
from fedhull.kits.provision import Kits
from fedhull.registry import Registry
from fedhull.rounds.run import PUBLICATION

__all__ = ["DEFAULT_ENGINE", "ENGINES", "Options", "Runner", "Say", "runner_for"]

DEFAULT_ENGINE = "nvflare"


@dataclass(frozen=True)
class Options:
    """A participant's choices: seconds to `wait` for the others, seconds for each step; over files,
    the folder of messages, whether to `go_on` without missing replies or to begin `again`; on
    Flower, whether the server listens on all interfaces."""

    wait: float = 3600.0
    timeout: float = 600.0
    mail: Path | None = None
    go_on: bool = False
    again: bool = False
    all_interfaces: bool = False


class Runner(ABC):
    """One engine. It needs the importable `module`, which fedhull's `extra` installs."""

    name: str
    module: str | None = None
    extra: str | None = None
    # `provision` makes a certificate authority, whose key nobody needs afterwards
    has_authority = True
    # an unused consent stays for the next call
    keeps_consent = False

    def require(self) -> None:
        """MissingExtra unless the engine's module is installed."""
        if self.module is not None and find_spec(self.module) is None:
            raise MissingExtra(
                f"studies on this engine need an extra: pip install 'fedhull[{self.extra}]'"
            )

    def inspect(self, kit: Kit) -> None:
        """InvalidInput if the engine's part of the kit is not what `provision` made."""
        return

    def certificates(self, kit: Kit) -> list[str]:
        """File names of the certificates in a kit."""
        return []

    def turn(self, kit: Kit, options: Options) -> Turn | None:
        """The current step and the missing sites; None if no session is open."""
        return open_turn(kit)

    def next_step(self, kit: Kit, turn: Turn | None, options: Options) -> str:
        """The next person to act, and the command."""
        return next_step(kit, turn, has_publisher=type(self).publish is not Runner.publish)

    def ping(self, kit: Kit, options: Options) -> Contact:
        """Reach the server as a site would, and leave again; ServerUnreachable if that fails. The
        site's data stay untouched."""
        raise InvalidInput(f"the engine {self.name!r} has no check of the connection")

    @abstractmethod
    def provision(self, kits: Kits, host: str, port: int, days: int = VALID_DAYS) -> None:
        """Add the engine's own files to the kits; its certificates are valid for `days`."""

    @abstractmethod
    def serve(self, kit: Kit, options: Options, say: Say) -> Path:
        """Run the study of the coordinator's kit; the folder with its results."""

    @abstractmethod
    def join(self, kit: Kit, options: Options, say: Say) -> Path:
        """Take part in the study of a site's kit; the folder with its results."""

    def fetch(self, kit: Kit, options: Options, say: Say) -> bytes | None:
        """Get the publication, for a site that missed the end of its session; None if there is none
        yet."""
        raise InvalidInput(
            f"the engine {self.name!r} cannot fetch a result: ask the coordinator for the file "
            f"publication.bin in its results, the same for all sites, and name it with "
            f"--publication"
        )

    def publish(self, kit: Kit, results: Path, options: Options, say: Say) -> list[str]:
        """Hand out the publication of a run to every site that asks; the sites that got it."""
        raise InvalidInput(
            f"the engine {self.name!r} cannot hand out a result: send {results / PUBLICATION}, the "
            f"same for all sites, to whoever needs it; 'fedhull client KIT --fetch --publication "
            f"FILE' reads it"
        )

    def check_invited(self, kit: Kit, options: Options) -> None:
        """StillWaiting if there is nothing yet that a site could agree to."""
        return

    def session_open(self, kit: Kit) -> bool:
        """True if the next call goes on with an open session, and nothing need be asked."""
        return False

    def start_again(self, kit: Kit) -> None:
        """Put a site's earlier session aside, where an engine keeps one."""
        return

    def after_join(self, kit: Kit) -> None:
        """Clean up after `join`: no unused consent and none of the site's cells stay in the kit."""
        withdraw(kit)
        forget_holdings(kit)


def runner_for(kit: Kit, engine: str | None = None) -> Runner:
    """The engine that a kit was made for, or `engine` where the kit names none."""
    known = kit.engine
    if engine is not None and known not in (None, ENGINES.check(engine)):
        raise InvalidInput(
            f"--engine must be what {kit.folder} was made for, {known}, got {engine}; leave it "
            f"out, or ask for kits made with 'fedhull provision --engine {engine}'"
        )
    return ENGINES[engine or known or "files"]


ENGINES: Registry[Runner] = Registry("engine", "fedhull.engines")
