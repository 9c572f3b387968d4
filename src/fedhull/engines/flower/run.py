"""`fedhull server` and `fedhull client` on Flower: a SuperLink or SuperNode for one study."""

import json
import os
import secrets
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from ipaddress import ip_address
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic, sleep

import msgspec

from fedhull.disk import read_text, write_bytes
from fedhull.engines.base import Say
from fedhull.engines.children import start, stop
from fedhull.engines.flower.certificates import (
    CA,
    CERTIFICATE,
    KEY,
    NODE_KEY,
    read_nodes,
    server_address,
)
from fedhull.engines.flower.launch import FOREIGN_APP, Settings
from fedhull.engines.following import (
    POLL_SECONDS,
    PROGRESS,
    answers,
    follow_site,
    refuse_taken,
    runs_of,
    say_steps,
    wait_for_server,
)
from fedhull.errors import BadMessage, EngineFailure, InvalidInput
from fedhull.kits.kit import Kit
from fedhull.kits.results import STATUS

LOOPBACK = "127.0.0.1"
_START_SECONDS = 60.0
# for the site's last reply to leave its SuperNode
_GRACE_SECONDS = 5.0
_GOODBYE_SECONDS = 5.0


def run_server(kit: Kit, wait: float, timeout: float, all_interfaces: bool, say: Say) -> Path:
    """Run the study of a coordinator's kit on a SuperLink of its own, which listens on this machine
    only or on all interfaces."""
    host, port = server_address(kit)
    if not (all_interfaces or is_this_machine(host)):
        raise InvalidInput(
            f"these kits expect the server at {host}, but with Flower it listens on this machine "
            f"only; --all-interfaces opens port {port} to every network of this machine: first "
            f"read about it in docs/deploy.md, 'Flower'"
        )
    log = kit.log("flower")
    with _home() as home:
        words = {
            "host": "0.0.0.0" if all_interfaces else LOOPBACK,
            "port": port,
            "ssl-ca-certfile": kit.folder / CA,
            "ssl-certfile": kit.folder / CERTIFICATE,
            "ssl-keyfile": kit.folder / KEY,
        }
        settings = Settings(
            words=[
                *_words(words),
                "--enable-supernode-auth",
                "--disable-runtime-dependency-installation",
            ],
            executor=_words(
                {"runtime-api-address": f"{LOOPBACK}:{port}", "root-certificates": kit.folder / CA}
            ),
            secret=_make_secret(home),
            nodes=read_nodes(kit),
            config={"kit": str(kit.folder), "wait": float(wait), "timeout": float(timeout)},
            run=str(home / "run.txt"),
        )
        refuse_taken(LOOPBACK, port)
        process = _start("superlink", settings, home, log)
        try:
            say(f"Starting the server (Flower; its own log: {log})")
            _wait_until(lambda: answers(LOOPBACK, port), process, log)
            results = kit.results(f"flower-{read_text(settings.run)}")
            _follow(process, results, log, say)
            return results
        finally:
            stop(process)


def run_client(kit: Kit, wait: float, say: Say) -> Path:
    """Take part in the study of a site's kit with a SuperNode of its own."""
    host, port = server_address(kit)
    wait_for_server(host, port, wait, say)
    before = runs_of(kit)
    log = kit.log("flower")
    with _home() as home:
        own = _free_port()
        words = {
            "superlink": f"{host}:{port}",
            "root-certificates": kit.folder / CA,
            "auth-supernode-private-key": kit.folder / NODE_KEY,
            "node-config": f"kit={json.dumps(str(kit.folder))}",
            "host": LOOPBACK,
            "port": own,
        }
        settings = Settings(
            words=_words(words),
            executor=["--insecure", *_words({"runtime-api-address": f"{LOOPBACK}:{own}"})],
            secret=_make_secret(home),
        )
        process = _start("supernode", settings, home, log)
        say(f"Connected to {host}:{port}; waiting for the study (Flower's own log: {log})")

        def check(results: Path | None) -> None:
            if process.poll() == FOREIGN_APP:
                raise BadMessage(
                    f"the server at {host}:{port} has sent this site an app that is not the "
                    f"study's; nothing of it was run. Tell the other sites"
                )
            if process.poll() is not None:
                raise EngineFailure(
                    f"Flower's SuperNode has ended early; the end of {log} says why"
                )

        try:
            results = follow_site(kit, before, host, port, check, say)
            sleep(_GRACE_SECONDS)
            return results
        finally:
            # or the server would wait for a lost node
            stop(process, goodbye=_GOODBYE_SECONDS)


def is_this_machine(host: str) -> bool:
    """True for names that always mean the machine itself."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


@contextmanager
def _home() -> Iterator[Path]:
    """A private folder for Flower's files, and its working directory; a kit is neither."""
    with TemporaryDirectory(prefix="fedhull-") as folder:
        yield Path(folder)


def _make_secret(home: Path) -> str:
    write_bytes(home / "secret", secrets.token_bytes(32), mode=0o600)
    return str(home / "secret")


def _words(options: Mapping[str, object]) -> list[str]:
    return [word for name, value in options.items() for word in (f"--{name}", str(value))]


def _follow(process: "subprocess.Popen[bytes]", results: Path, log: Path, say: Say) -> None:
    known = 0
    while True:
        known = say_steps(results / PROGRESS, known, say)
        if (results / STATUS).exists():
            return
        if process.poll() is not None:
            raise EngineFailure(f"Flower's SuperLink has ended early; the end of {log} says why")
        sleep(POLL_SECONDS)


def _wait_until(ready: Callable[[], bool], process: "subprocess.Popen[bytes]", log: Path) -> None:
    deadline = monotonic() + _START_SECONDS
    while not ready():
        if process.poll() is not None or monotonic() > deadline:
            raise EngineFailure(
                f"the server did not start; is its port free? The end of {log} says why"
            )
        sleep(POLL_SECONDS)


def _start(role: str, settings: Settings, home: Path, log: Path) -> "subprocess.Popen[bytes]":
    settings.words += ["--isolation", "process", "--superexec-auth-secret-file", settings.secret]
    write_bytes(home / "settings.json", msgspec.json.encode(settings), mode=0o600)
    words = [role, str(home / "settings.json")]
    return start("fedhull.engines.flower.launch", words, home, log, _environment(home))


def _free_port() -> int:
    """A port for the SuperNode's own processes."""
    with socket.socket() as probe:
        probe.bind((LOOPBACK, 0))
        return int(probe.getsockname()[1])


def _environment(home: Path) -> dict[str, str]:
    """Flower's folders apart, its commands in the path, its telemetry off."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}"
    offline = {"FLWR_TELEMETRY_ENABLED": "0", "FLWR_DISABLE_UPDATE_CHECK": "1"}
    return offline | {"FLWR_HOME": str(home), "PATH": path}
