"""`fedhull server` on NVIDIA FLARE: start the server, wait for the sites, run the study, end."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic, sleep
from typing import Any

from nvflare.fuel.flare_api.flare_api import Session, new_secure_session

from fedhull.engines.base import Say
from fedhull.engines.children import stop
from fedhull.engines.following import POLL_SECONDS, PROGRESS, answers, say_steps
from fedhull.engines.nvflare.job import write_job
from fedhull.engines.nvflare.launch import start
from fedhull.engines.nvflare.startup import store_in_kit
from fedhull.engines.nvflare.workspace import (
    ADMIN,
    ADMIN_FOLDER,
    SERVER_KEYS,
    SERVER_START,
    WORKSPACE,
    address_in,
    fresh_workspace,
    server_configuration,
)
from fedhull.errors import BelowThreshold, EngineFailure
from fedhull.kits.kit import Kit
from fedhull.kits.results import STATUS, write_status

_START_SECONDS = 60
_END_SECONDS = 30


def run_server(kit: Kit, wait: float, timeout: float, say: Say) -> Path:
    """Run the study of a coordinator's kit; the folder with its results.

    The study begins when all sites are there, or after `wait` seconds if enough are. Each step
    waits for at most `timeout` seconds.
    """
    log = kit.folder / "flare.log"
    host, port = address_in(kit.folder, SERVER_START)
    if answers("localhost", port):
        raise EngineFailure(
            f"port {port} is taken on this machine; is another server running? "
            f"(provision again with another --port)"
        )
    store_in_kit(kit.folder)
    configuration = server_configuration(host, port, str(kit.folder / WORKSPACE))
    with fresh_workspace(kit.folder, configuration, SERVER_KEYS) as workspace:
        process = start("server", workspace, "server", kit.folder, log)
        try:
            say(f"Starting the server (NVIDIA FLARE; its own log: {log})")
            with _admin_session(workspace / ADMIN_FOLDER, port, process, log) as session:
                return _conduct(kit, session, wait, timeout, say)
        finally:
            stop(process)


def _conduct(kit: Kit, session: Session, wait: float, timeout: float, say: Say) -> Path:
    _wait_for_sites(kit, session, wait, say)
    with TemporaryDirectory() as folder:
        job = session.submit_job(str(write_job(Path(folder) / "job", kit.study, timeout)))
    say(f"All set; the study begins (FLARE job {job})")
    results = kit.results(job)
    _follow(session, job, results, say)
    _finish_job(session, job)
    return results


@contextmanager
def _admin_session(admin: Path, port: int, process: Any, log: Path) -> Iterator[Session]:
    """FLARE's own administration, from its own workspace."""
    logging.getLogger("nvflare").setLevel(logging.CRITICAL)
    deadline = monotonic() + _START_SECONDS
    while not answers("localhost", port):
        if process.poll() is not None or monotonic() > deadline:
            raise EngineFailure(f"the server did not start; the end of {log} says why")
        sleep(POLL_SECONDS)
    try:
        with redirect_stdout(StringIO()):  # FLARE prints there what it is doing
            session = new_secure_session(ADMIN, str(admin), timeout=_START_SECONDS)
    except Exception as problem:
        raise EngineFailure(
            f"the server cannot be reached as {ADMIN}: {problem}; the end of {log} may say why"
        ) from None
    try:
        yield session
    finally:
        session.close()


def _wait_for_sites(kit: Kit, session: Session, wait: float, say: Say) -> None:
    roster, threshold = set(kit.study.clients), kit.study.threshold
    deadline, known = monotonic() + wait, None
    while True:
        connected = {client.name for client in session.get_connected_client_list()} & roster
        if connected != known:
            missing = ", ".join(sorted(roster - connected))
            say(
                f"Sites: {len(connected)} of {len(roster)} are connected"
                + f"; waiting for {missing}" * bool(missing)
            )
            known = connected
        if connected == roster:
            return
        if monotonic() > deadline:
            if len(connected) >= threshold:
                say(f"Going on with {len(connected)} sites after {wait:g} seconds")
                return
            raise BelowThreshold(
                f"after {wait:g} seconds only {len(connected)} of {len(roster)} sites are "
                f"connected, but the study needs {threshold}; missing: "
                f"{', '.join(sorted(roster - connected))}"
            )
        sleep(POLL_SECONDS)


def _follow(session: Session, job: str, results: Path, say: Say) -> None:
    """Report each step until the controller has had its last word, or the job is over without."""
    known = 0
    over = False
    while True:
        known = say_steps(results / PROGRESS, known, say)
        if (results / STATUS).exists():
            return
        if over:
            sentence = f"FLARE ended job {job} before the study began; see its log"
            write_status(results, EngineFailure.__name__, sentence)
            return
        over = str(session.get_job_status(job)).startswith("FINISHED")
        sleep(POLL_SECONDS)


def _finish_job(session: Session, job: str) -> None:
    """No job is left running."""
    deadline = monotonic() + _END_SECONDS
    while not str(session.get_job_status(job)).startswith("FINISHED"):
        if monotonic() > deadline:
            session.abort_job(job)
            return
        sleep(POLL_SECONDS)
