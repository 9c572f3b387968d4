"""`fedhull client` on NVIDIA FLARE: connect, answer, end; the person has agreed beforehand."""

import socket
import ssl
import subprocess
from pathlib import Path

from fedhull.engines.base import Say
from fedhull.engines.certificates import read_certificate
from fedhull.engines.children import stop
from fedhull.engines.connection import Contact, reach
from fedhull.engines.following import answers, follow_site, runs_of, wait_for_server
from fedhull.engines.nvflare.launch import start
from fedhull.engines.nvflare.layout import SITE_CERTIFICATES, SITE_KEYS, SITE_START, address_in
from fedhull.engines.nvflare.workspace import fresh_workspace, site_configuration
from fedhull.errors import BadIdentity, ConnectionDropped, EngineFailure, InvalidInput
from fedhull.kits.kit import Kit
from fedhull.kits.results import read_status

_CONNECT_SECONDS = 5.0
# of a server's name in FLARE's certificates
_LONGEST_NAME = 63
_JOB_END_SECONDS, _SESSION_END_SECONDS = 10.0, 3600.0


def run_client(kit: Kit, wait: float, say: Say) -> Path:
    """Take part in the study of a site's kit; the folder with its results.

    Waits `wait` seconds at most for the server to be there.
    """
    assert kit.name is not None
    host, port = address_in(kit.folder, SITE_START)
    wait_for_server(host, port, wait, say)
    shake_hands(kit, host, port)
    before = runs_of(kit)
    log = kit.log("flare")
    seen = log.stat().st_size if log.exists() else 0
    configuration = site_configuration(kit.name, host, port)
    with fresh_workspace(kit.folder, configuration, SITE_KEYS) as workspace:
        process = start("client", workspace, kit.name, kit.folder, log)
        return _take_part(kit, before, process, host, port, log, seen, say)


def _take_part(
    kit: Kit,
    before: set[Path],
    process: "subprocess.Popen[bytes]",
    host: str,
    port: int,
    log: Path,
    seen: int,
    say: Say,
) -> Path:
    say(f"Connected to {host}:{port}; waiting for the study to begin (FLARE's own log: {log})")

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

    grace = _JOB_END_SECONDS
    try:
        results = follow_site(kit, before, host, port, check, say)
        if read_status(results)[0] is not None and answers(host, port):
            # a message was refused, a forged one perhaps: the session itself may still complete
            grace = _SESSION_END_SECONDS
        return results
    finally:
        stop(process, grace)


def shake_hands(kit: Kit, host: str, port: int) -> None:
    """Whether the server's certificate and this kit's come from the same authority: FLARE itself
    would only try again and again."""
    try:
        with (
            socket.create_connection((host, port), _CONNECT_SECONDS) as plain,
            _context(kit).wrap_socket(plain) as secure,
        ):
            # with TLS 1.3 a refusal of our certificate arrives with the first read
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
    """Reach the server as FLARE's client would, without a word of FLARE's."""
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
    """Whether FLARE has lost the server, which is there: it lets one client of a name in, the
    newest, and drops the other without a word."""
    with log.open("rb") as file:
        file.seek(seen)
        return any(b"TP=heart_beat" in line and b"cannot send" in line for line in file)
