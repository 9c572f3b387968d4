"""A check of the connection to a server: name, port, certificates, in this order."""

import socket
import ssl
from collections.abc import Callable
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any, TypeVar

from fedhull.engines.certificates import Certificate, shown_certificate
from fedhull.errors import ServerUnreachable

_SECONDS = 10.0
# With TLS 1.3, the server's refusal of our certificate arrives with the first read.
_REFUSAL_SECONDS = 1.0
_KITS = "ask the coordinator for the kit of this study"

T = TypeVar("T")


@dataclass
class Contact:
    """The checks that passed, with their seconds, and the certificates used; `lead` sums them
    up."""

    where: str
    lead: str
    worked: list[tuple[str, float]] = field(default_factory=list)
    certificates: list[Certificate] = field(default_factory=list)

    def timed(self, work: Callable[[], T], words: Callable[[T], str]) -> T:
        """Do a check, and note that it passed."""
        start = perf_counter()
        done = work()
        self.worked.append((words(done), perf_counter() - start))
        return done

    def to_json(self) -> dict[str, Any]:
        """Encode for scripts."""
        return {
            "where": self.where,
            "lead": self.lead,
            "worked": [{"what": what, "seconds": seconds} for what, seconds in self.worked],
            "certificates": [each.to_json() for each in self.certificates],
        }


def reach(
    host: str,
    port: int,
    context: ssl.SSLContext,
    own: list[Certificate],
    owner: str | None = None,
    mutual: bool = False,
) -> Contact:
    """Connect to a server and leave again; ServerUnreachable says what failed and what to do.

    `own` are the kit's certificates, used by `context`. The server's must be `owner`'s, where TLS
    itself does not check that. With `mutual`, the server must accept ours.
    """
    contact = Contact(f"{host}:{port}", f"Reached {host}:{port}")
    contact.timed(
        lambda: _resolved(host, port), lambda found: f"name resolution: {host} is {found}"
    )
    opened = f"TCP: port {port} is open"
    with contact.timed(lambda: _connected(host, port), lambda _: opened) as plain:
        for each in own:
            if each.days_left() < 0:
                raise ServerUnreachable(f"certificate: {each.warning()}")
        with contact.timed(
            lambda: _secured(plain, host, port, context),
            lambda tls: f"{tls.version()}: the server's certificate is from this kit's authority",
        ) as secure:
            shown = shown_certificate(secure.getpeercert(binary_form=True) or b"")
            if owner is not None and shown.owner != owner:
                raise ServerUnreachable(
                    f"certificate: at {host}:{port} answers {shown.owner!r}, with a certificate of "
                    f"this study, but not the server; tell the coordinator"
                )
            if mutual:
                contact.timed(
                    lambda: _accepted(secure, host, port),
                    lambda _: "certificate: the server accepts this site's",
                )
    contact.certificates = [shown, *own]
    return contact


def _resolved(host: str, port: int) -> str:
    try:
        addresses = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        return ", ".join(sorted({str(entry[4][0]) for entry in addresses}))
    except OSError as problem:
        raise ServerUnreachable(
            f"name resolution: no address for {host} ({problem.strerror}); is the name right, and "
            f"does this machine's DNS know it? Ask the coordinator, then your network team"
        ) from None


def _connected(host: str, port: int) -> socket.socket:
    try:
        return socket.create_connection((host, port), _SECONDS)
    except TimeoutError:
        reason = (
            f"no answer in {_SECONDS:g} seconds, as if a firewall dropped the attempt; ask your "
            f"network team to allow outgoing connections to {host}, port {port}"
        )
    except ConnectionRefusedError:
        reason = (
            "nobody listens there; ask the coordinator if the server is running and its firewall "
            "lets this port through"
        )
    except OSError as problem:
        reason = f"{problem.strerror}; ask your network team"
    raise ServerUnreachable(f"TCP: {host}, port {port}: {reason}")


def _secured(plain: socket.socket, host: str, port: int, context: ssl.SSLContext) -> ssl.SSLSocket:
    try:
        return context.wrap_socket(plain, server_hostname=host)
    except ssl.SSLCertVerificationError as problem:
        raise ServerUnreachable(
            f"certificate: that of the server at {host}:{port} does not hold by this kit's "
            f"authority ({problem.verify_message}): another study's server, or a proxy that opens "
            f"TLS; {_KITS}, or your network team to let this connection through unopened"
        ) from None
    except OSError as problem:
        raise ServerUnreachable(
            _refusal(problem, host, port)
            or f"TLS: what answers at {host}:{port} is not the study's server, or something in "
            f"between has cut the connection off ({_reason(problem)}); ask the coordinator for "
            f"host and port, and your network team about a proxy"
        ) from None


def _accepted(secure: ssl.SSLSocket, host: str, port: int) -> None:
    secure.settimeout(_REFUSAL_SECONDS)
    try:
        if secure.recv(1):
            return
        problem: OSError = OSError(0, "it was closed")
    except TimeoutError:
        return  # nothing to read and no refusal
    except OSError as failure:
        problem = failure
    raise ServerUnreachable(
        _refusal(problem, host, port)
        or f"TLS: the connection to {host}:{port} was cut off after the handshake "
        f"({_reason(problem)}); try again, then ask the coordinator"
    )


def _reason(problem: OSError) -> str:
    if isinstance(problem, ssl.SSLError):
        return str(problem.reason or problem).replace("_", " ").lower()
    return problem.strerror or "no answer"


def _refusal(problem: OSError, host: str, port: int) -> str | None:
    """The sentence about a server that refuses our certificate, if that is the problem."""
    if not (isinstance(problem, ssl.SSLError) and "ALERT" in str(problem.reason)):
        return None
    return (
        f"certificate: the server at {host}:{port} does not accept this kit's, as it is from "
        f"another authority or has expired; {_KITS}"
    )
