"""`fedhull server` and `fedhull client` on Flower: a SuperLink or SuperNode for one study."""

import json
import os
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic, sleep
from typing import Any

from fedhull.disk import read_text, write_text
from fedhull.engines.base import Say
from fedhull.engines.flower.certificates import ADDRESS, CA, CERTIFICATE, KEY
from fedhull.engines.following import (
    POLL_SECONDS,
    PROGRESS,
    answers,
    follow_site,
    runs_of,
    say_steps,
    wait_for_server,
)
from fedhull.errors import EngineFailure, InvalidInput
from fedhull.kits.kit import Kit
from fedhull.kits.results import STATUS

_START_SECONDS = 60.0
# The last reply of a site is still to be fetched from its SuperNode.
_GRACE_SECONDS = 5.0
_APP = """\
[project]
name = "fedhull-study"
version = "1.0.0"
dependencies = []
[tool.flwr.app]
publisher = "fedhull"
[tool.flwr.app.components]
serverapp = "fedhull.engines.flower.server_app:app"
clientapp = "fedhull.engines.flower.client_app:app"
[tool.flwr.app.config]
kit = {kit}
wait = {wait}
timeout = {timeout}
"""
_CONNECTION = """\
[superlink]
default = "study"
[superlink.study]
address = {address}
root-certificates = {ca}
"""


def run_server(kit: Kit, wait: float, timeout: float, say: Say) -> Path:
    """Run the study of a coordinator's kit on a SuperLink that lives as long as the study."""
    _, port = server_address(kit)
    log = kit.folder / "flower.log"
    with TemporaryDirectory() as folder:
        home = Path(folder)
        process = _start(
            "flower-superlink",
            {
                "host": "0.0.0.0",
                "port": port,
                "ssl-ca-certfile": kit.folder / CA,
                "ssl-certfile": kit.folder / CERTIFICATE,
                "ssl-keyfile": kit.folder / KEY,
            },
            ["--disable-runtime-dependency-installation"],
            home,
            log,
        )
        try:
            say(f"Starting the server (Flower; its own log: {log})")
            _wait_until(lambda: answers("127.0.0.1", port), process, log)
            run = _submit(kit, home, port, wait, timeout)
            results = kit.results(f"flower-{run}")
            _follow(process, results, log, say)
            return results
        finally:
            _stop(process)


def run_client(kit: Kit, wait: float, say: Say) -> Path:
    """Take part in the study of a site's kit with a SuperNode that lives as long as the study."""
    host, port = server_address(kit)
    wait_for_server(host, port, wait, say)
    before = runs_of(kit)
    log = kit.folder / "flower.log"
    with TemporaryDirectory() as folder:
        process = _start(
            "flower-supernode",
            {
                "superlink": f"{host}:{port}",
                "root-certificates": kit.folder / CA,
                "node-config": f"kit={json.dumps(str(kit.folder))}",
                "port": _free_port(),
            },
            [],
            Path(folder),
            log,
        )
        say(f"Connected to {host}:{port}; waiting for the study (Flower's own log: {log})")

        def check(results: Path | None) -> None:
            if process.poll() is not None:
                raise EngineFailure(
                    f"Flower's SuperNode has ended early; the end of {log} says why"
                )

        try:
            results = follow_site(kit, before, host, port, check, say)
            sleep(_GRACE_SECONDS)
            return results
        finally:
            _stop(process)


def server_address(kit: Kit) -> tuple[str, int]:
    """Host and port in the kit."""
    if not (kit.folder / ADDRESS).is_file():
        raise InvalidInput(f"{kit.folder} was not made for Flower: provision with --engine flower")
    host, port = read_text(kit.folder / ADDRESS).strip().rsplit(":", 1)
    return host, int(port)


def _submit(kit: Kit, home: Path, port: int, wait: float, timeout: float) -> str:
    """Start the run, as `flwr run` would."""
    app = home / "app"
    app.mkdir()
    write_text(
        app / "pyproject.toml",
        _APP.format(kit=json.dumps(str(kit.folder)), wait=wait, timeout=timeout),
    )
    write_text(
        home / "config.toml",
        _CONNECTION.format(
            address=json.dumps(f"127.0.0.1:{port}"), ca=json.dumps(str(kit.folder / CA))
        ),
    )
    done = subprocess.run(
        [_script("flwr"), "run", str(app), "study", "--format", "json"],
        env=_environment(home),
        capture_output=True,
        text=True,
    )
    try:
        return str(json.loads(done.stdout)["run-id"])
    except (ValueError, KeyError):
        raise EngineFailure(
            f"Flower did not accept the study: {(done.stdout + done.stderr).strip()[-300:]}"
        ) from None


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


def _start(
    program: str, options: dict[str, Any], flags: list[str], home: Path, log: Path
) -> "subprocess.Popen[bytes]":
    words = [word for name, value in options.items() for word in (f"--{name}", str(value))]
    command = [_script(program), *words, *flags]
    with log.open("ab") as file:
        return subprocess.Popen(command, stdout=file, stderr=file, env=_environment(home))


def _stop(process: "subprocess.Popen[bytes]") -> None:
    process.terminate()
    try:
        process.wait(10.0)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _free_port() -> int:
    """For what a SuperNode's own parts say to each other on this machine."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def _script(name: str) -> str:
    return str(Path(sys.executable).with_name(name))


def _environment(home: Path) -> dict[str, str]:
    """Flower's folders in a place of their own, its parts found, no word to its makers."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}"
    offline = {"FLWR_TELEMETRY_ENABLED": "0", "FLWR_DISABLE_UPDATE_CHECK": "1"}
    return os.environ | offline | {"FLWR_HOME": str(home), "PATH": path}
