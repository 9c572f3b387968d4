"""`fedhull client` on NVIDIA FLARE: take part in a study, or fetch its result later."""

import socket
import ssl
from pathlib import Path
from time import monotonic, sleep

from fedhull.disk import read_bytes
from fedhull.engines.base import Say
from fedhull.engines.certificates import read_certificate
from fedhull.engines.children import stop
from fedhull.engines.connection import Contact, reach
from fedhull.engines.following import (
    GONE_SECONDS,
    POLL_SECONDS,
    answers,
    follow_site,
    runs_of,
    wait_for_server,
)
from fedhull.engines.nvflare.launch import start
from fedhull.engines.nvflare.layout import SITE_CERTIFICATES, SITE_KEYS, SITE_START, address_in
from fedhull.engines.nvflare.publication import FETCHED
from fedhull.engines.nvflare.workspace import (
    fetching_configuration,
    fresh_workspace,
    site_configuration,
)
from fedhull.errors import (
    BadIdentity,
    ConnectionDropped,
    EngineFailure,
    InvalidInput,
    ServerUnreachable,
    StillWaiting,
)
from fedhull.kits.kit import Kit
from fedhull.kits.results import read_status

_CONNECT_SECONDS = 5.0
# Longest server name in FLARE's certificates.
_LONGEST_NAME = 63
_HOW = "the coordinator hands results out with 'fedhull server KIT --publish'"
_JOB_END_SECONDS, _SESSION_END_SECONDS = 10.0, 3600.0


def run_client(kit: Kit, wait: float, say: Say) -> Path:
    """Take part in the study of a site's kit; the folder with its results. Waits `wait` seconds at
    most for the server."""
    assert kit.name is not None
    host, port = address_in(kit.folder, SITE_START)
    wait_for_server(host, port, wait, say)
    _shake_hands(kit, host, port)
    before = runs_of(kit)
    log = kit.log("flare")
    seen = log.stat().st_size if log.exists() else 0
    configuration = site_configuration(kit.name, host, port)

    def check(results: Path | None) -> None:
        if results is None and _displaced(log, seen) and answers(host, port):
            raise ConnectionDropped(
                f"the server has dropped this connection: another process is connected with "
                f"the kit of {kit.name}, or the network broke. If nobody else uses this kit, "
                f"start again; if somebody does, ask the coordinator for new kits"
            )
        if process.poll() is not None:
            raise EngineFailure(
                f"FLARE's client, started with the kit of {kit.name}, has ended early; the end of "
                f"{log} says why"
            )

    with fresh_workspace(kit.folder, configuration, SITE_KEYS) as workspace:
        process = start("client", workspace, kit.name, kit.folder, log)
        say(f"Connected to {host}:{port}; waiting for the study to begin (FLARE's own log: {log})")
        grace = _JOB_END_SECONDS
        try:
            results = follow_site(kit, before, host, port, check, say)
            if read_status(results)[0] is not None and answers(host, port):
                # perhaps this site refused a forged message, and the session still completes
                grace = _SESSION_END_SECONDS
            return results
        finally:
            stop(process, grace)


def fetch(kit: Kit, wait: float, say: Say) -> bytes:
    """Ask for the publication during `wait` seconds; the reply, unchecked, cut off at the limit."""
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
        _shake_hands(kit, host, port)
        fetched = _ask(kit, host, port, deadline, say)
        if fetched is not None:
            return fetched
        say("The server is gone and has published nothing; waiting for it to come back")


def _ask(kit: Kit, host: str, port: int, deadline: float, say: Say) -> bytes | None:
    """The publication of this server; None if the server is gone."""
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


def _shake_hands(kit: Kit, host: str, port: int) -> None:
    """Refuse a server whose certificate is from another authority: FLARE itself would try for
    ever."""
    try:
        with (
            socket.create_connection((host, port), _CONNECT_SECONDS) as plain,
            _context(kit).wrap_socket(plain) as secure,
        ):
            # with TLS 1.3, the refusal of our certificate arrives with the first read
            secure.settimeout(1.0)
            secure.recv(1)
    except TimeoutError:
        return  # nothing to read and no refusal: accepted
    except ssl.SSLError:
        raise BadIdentity(
            f"the server at {host}:{port} and this kit do not have certificates from the same "
            f"authority; ask the coordinator for the kit of this study"
        ) from None
    except OSError:
        return


def ping(kit: Kit) -> Contact:
    """Reach the server with FLARE's certificates, but without FLARE."""
    host, port = address_in(kit.folder, SITE_START)
    own = [read_certificate(kit.folder, name) for name in SITE_CERTIFICATES]
    name = host[:_LONGEST_NAME]
    return reach(host, port, _context(kit), own, owner=name, mutual=True)


def _context(kit: Kit) -> ssl.SSLContext:
    """TLS with the certificates of a site's kit."""
    authority, certificate, key = (str(kit.folder / name) for name in SITE_KEYS)
    try:
        context = ssl.create_default_context(cafile=authority)
        context.load_cert_chain(certificate, key)
    except (ssl.SSLError, OSError):
        raise InvalidInput(
            f"certificate and key in {kit.folder / 'startup'} cannot be used; ask for the kit again"
        ) from None
    context.check_hostname = False  # FLARE's certificates name the server, not its addresses
    return context


def _displaced(log: Path, seen: int) -> bool:
    """True if FLARE lost a server that is there: it accepts one client per name, the newest, and
    drops the other without a word."""
    with log.open("rb") as file:
        file.seek(seen)
        return any(b"TP=heart_beat" in line and b"cannot send" in line for line in file)
