"""What an engine is: how a study is provisioned for it, served and joined, and what it cannot do.

An engine is found by its name, in the registry `ENGINES`. Its module is light: whatever the engine
needs that may not be installed is imported when it is used.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from fedhull.engines.certificates import VALID_DAYS
from fedhull.engines.connection import Contact
from fedhull.engines.turn import Turn, next_step, open_run, turn_in
from fedhull.errors import InvalidInput, MissingExtra
from fedhull.kits.consent import forget_holdings, withdraw
from fedhull.kits.kit import Kit
from fedhull.kits.provision import Kits
from fedhull.registry import Registry
from fedhull.study.coordinator import PUBLICATION

Say = Callable[[str], None]
DEFAULT_ENGINE = "nvflare"


@dataclass(frozen=True)
class Options:
    """What a participant may choose, whatever the engine: how long to wait for the others, and how
    long each step may take, in seconds; for files, where messages lie, whether to go on without
    those who have not replied, and whether to begin again; for Flower, whether the server listens
    on all networks of its machine."""

    wait: float = 3600.0
    timeout: float = 600.0
    mail: Path | None = None
    go_on: bool = False
    again: bool = False
    all_interfaces: bool = False


class Runner(ABC):
    """One engine. `module` is what must be importable, `extra` the extra of fedhull that has it."""

    name: str
    module: str | None = None
    extra: str | None = None
    # whether `provision` makes a certificate authority, whose key nobody needs afterwards
    has_authority = True
    # whether a consent that was not used yet stays for the next call
    keeps_consent = False

    def require(self) -> None:
        """MissingExtra unless all that the engine needs is installed."""
        if self.module is not None and find_spec(self.module) is None:
            raise MissingExtra(
                f"studies on this engine need an extra: pip install 'fedhull[{self.extra}]'"
            )

    def inspect(self, kit: Kit) -> None:
        """InvalidInput if the engine's own part of the kit is not what `provision` made, before
        anybody is asked anything."""
        return

    def certificates(self, kit: Kit) -> list[str]:
        """The certificates in a kit, as file names."""
        return []

    def turn(self, kit: Kit, options: Options) -> Turn | None:
        """Where the study stands, and who has not answered; None if no session has begun, or the
        last one has ended."""
        run = open_run(kit)
        return None if run is None else turn_in(kit, run)

    def next_step(self, kit: Kit, turn: Turn | None, options: Options) -> str:
        """Who has to act next, and with which command."""
        return next_step(kit, turn, has_publisher=type(self).publish is not Runner.publish)

    def ping(self, kit: Kit, options: Options) -> Contact:
        """Reach the server as a site would, and leave again; ServerUnreachable if that fails.
        Nothing of the site's data is touched."""
        raise InvalidInput(f"the engine {self.name!r} has no check of the connection")

    @abstractmethod
    def provision(self, kits: Kits, host: str, port: int, days: int = VALID_DAYS) -> None:
        """Add to the kits whatever the engine needs; its certificates are valid for `days`."""

    @abstractmethod
    def serve(self, kit: Kit, options: Options, say: Say) -> Path:
        """Run the study of the coordinator's kit; the folder with its results."""

    @abstractmethod
    def join(self, kit: Kit, options: Options, say: Say) -> Path:
        """Take part in the study of a site's kit; the folder with its results."""

    def fetch(self, kit: Kit, options: Options, say: Say) -> bytes | None:
        """What the coordinator has published, for a site that missed the end of its session; None
        if that is nothing yet."""
        raise InvalidInput(
            f"the engine {self.name!r} cannot fetch a result: ask the coordinator for the file "
            f"publication.bin in its results, the same for all sites, and name it with "
            f"--publication"
        )

    def publish(self, kit: Kit, results: Path, options: Options, say: Say) -> list[str]:
        """Hand what a run of the coordinator's has published to every site that comes for it; the
        sites that have been given it."""
        raise InvalidInput(
            f"the engine {self.name!r} cannot hand out a result: send {results / PUBLICATION}, the "
            f"same for all sites, to whoever needs it; 'fedhull client KIT --fetch --publication "
            f"FILE' reads it"
        )

    def check_invited(self, kit: Kit, options: Options) -> None:
        """StillWaiting if a site need not be asked yet, since there is nothing to answer."""
        return

    def session_open(self, kit: Kit) -> bool:
        """Whether a session has begun that the next call goes on with, so that nothing has to be
        asked."""
        return False

    def start_again(self, kit: Kit) -> None:
        """Put an earlier session of a site aside, where an engine keeps one."""
        return

    def after_join(self, kit: Kit) -> None:
        """Clean up when `join` has ended, well or not: withdraw a consent that was not used, and
        leave nothing of the site's cells in the kit."""
        withdraw(kit)
        forget_holdings(kit)


def runner_for(kit: Kit, engine: str | None = None) -> Runner:
    """The engine that a kit was made for. `engine` may name it where the kit does not; InvalidInput
    if it contradicts the kit."""
    known = kit.engine
    if engine is not None and known not in (None, ENGINES.check(engine)):
        raise InvalidInput(
            f"--engine must be what {kit.folder} was made for, {known}, got {engine}; leave it "
            f"out, or ask for kits made with 'fedhull provision --engine {engine}'"
        )
    return ENGINES[engine or known or "files"]


ENGINES: Registry[Runner] = Registry("engine", "fedhull.engines")
