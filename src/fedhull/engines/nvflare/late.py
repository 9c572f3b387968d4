"""A result that comes late, on NVIDIA FLARE: `fedhull server --publish` hands it out, `fedhull
client --fetch` brings it."""

from contextlib import suppress
from pathlib import Path
from time import monotonic, sleep

from fedhull.disk import read_bytes
from fedhull.engines.base import Say
from fedhull.engines.children import stop
from fedhull.engines.following import GONE_SECONDS, POLL_SECONDS, answers, wait_for_server
from fedhull.engines.nvflare.client import shake_hands
from fedhull.engines.nvflare.fetcher import FETCHED
from fedhull.engines.nvflare.launch import start
from fedhull.engines.nvflare.layout import SITE_KEYS, SITE_START, address_in
from fedhull.engines.nvflare.publisher import offer, requests
from fedhull.engines.nvflare.server import flare_server, wait_until_started
from fedhull.engines.nvflare.workspace import fetching_configuration, fresh_workspace
from fedhull.errors import EngineFailure, ServerUnreachable, StillWaiting
from fedhull.kits.kit import Kit

_HOW = "the coordinator hands results out with 'fedhull server KIT --publish'"


def publish(kit: Kit, results: Path, wait: float, say: Say) -> list[str]:
    """Hand a run's publication to every site that comes, until somebody stops this or no site has
    come for `wait` seconds; the sites that have been given it."""
    given: list[str] = []
    with suppress(KeyboardInterrupt), flare_server(kit, say) as flare:
        offer(flare.workspace, results)
        wait_until_started(flare)
        say(
            f"Handing out the result of run {results.name} (--run names another); a site gets it "
            f"with 'fedhull client KIT --fetch'. Ctrl-C ends this"
        )
        last = monotonic()
        while monotonic() - last < wait:
            if flare.process.poll() is not None:
                raise EngineFailure(f"FLARE's server has ended; the end of {flare.log} says why")
            for name in requests(flare.workspace, given=True)[len(given) :]:
                say(f"{name} has fetched the result")
                given.append(name)
                last = monotonic()
            sleep(POLL_SECONDS)
    return sorted(set(given))


def fetch(kit: Kit, wait: float, say: Say) -> bytes:
    """What the coordinator has published, asked for during `wait` seconds. It is as the server sent
    it, cut off where it is longer than it can be."""
    assert kit.name is not None
    host, port = address_in(kit.folder, SITE_START)
    say("Asking for the result. No consent is needed: nothing of this site's data is sent")
    deadline = monotonic() + wait
    while True:
        try:
            wait_for_server(host, port, max(0.0, deadline - monotonic()), say)
        except ServerUnreachable as problem:
            problem.args = (f"{problem}; {_HOW}",)
            raise
        shake_hands(kit, host, port)
        fetched = _ask(kit, host, port, deadline, say)
        if fetched is not None:
            return fetched
        say("The server is gone and has published nothing; waiting for it to come back")


def _ask(kit: Kit, host: str, port: int, deadline: float, say: Say) -> bytes | None:
    """What this server has published; None if it is gone."""
    assert kit.name is not None
    log = kit.log("flare")
    configuration = fetching_configuration(kit.name, host, port)
    with fresh_workspace(kit.folder, configuration, SITE_KEYS) as workspace:
        process = start("fetch", workspace, kit.name, kit.folder, log)
        say(f"Connected to {host}:{port}; waiting for the result (FLARE's own log: {log})")
        last_seen = monotonic()
        try:
            while not (workspace / FETCHED).exists():
                if process.poll() is not None:
                    raise EngineFailure(
                        f"FLARE's client has ended early; the end of {log} says why"
                    )
                if monotonic() > deadline:
                    raise StillWaiting(f"the server has published nothing yet; {_HOW}")
                if answers(host, port):
                    last_seen = monotonic()
                elif monotonic() - last_seen > GONE_SECONDS:
                    return None
                sleep(POLL_SECONDS)
            return read_bytes(workspace / FETCHED)
        finally:
            stop(process)
