"""`fedhull server` on NVIDIA FLARE: run a study, or hand out its result later."""

import json
import logging
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stdout, suppress
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic, sleep
from typing import TypeVar

from nvflare.fuel.flare_api.flare_api import NoReply, Session, new_secure_session

from fedhull.disk import read_bytes, read_text, write_json
from fedhull.engines.base import Say
from fedhull.engines.children import stop
from fedhull.engines.following import POLL_SECONDS, PROGRESS, refuse_taken, say_steps
from fedhull.engines.nvflare.launch import start
from fedhull.engines.nvflare.layout import (
    ADMIN,
    ADMIN_FOLDER,
    CONNECTED,
    SERVER_KEYS,
    SERVER_START,
    WORKSPACE,
    address_in,
)
from fedhull.engines.nvflare.publication import offer, requests
from fedhull.engines.nvflare.startup import store_in_kit
from fedhull.engines.nvflare.workspace import fresh_workspace, publishing_configuration, write_job
from fedhull.errors import BelowThreshold, EngineFailure
from fedhull.kits.kit import Kit
from fedhull.kits.results import RESULT, STATUS, read_status, write_status

_START_SECONDS = 180
# In the log, when FLARE serves everybody; it listens earlier.
_STARTED = b"Server started"
_END_SECONDS = 30
# A site that waits for its result asks every two seconds.
_ASKED_SECONDS = 20
_ANSWER_SECONDS = 60

T = TypeVar("T")


@dataclass(frozen=True)
class FlareServer:
    """A running FLARE server: its workspace, process and log, which is new after `older` bytes."""

    workspace: Path
    process: "subprocess.Popen[bytes]"
    log: Path
    older: int


def run_server(kit: Kit, wait: float, timeout: float, say: Say) -> Path:
    """Run the study of a coordinator's kit; the folder with its results. It begins when all sites
    are there, or after `wait` seconds with enough of them; each step takes `timeout` seconds at
    most."""
    with _flare_server(kit, say) as flare, _admin_session(flare) as session:
        results = _conduct(kit, session, wait, timeout, say)
        if read_status(results)[0] is None:
            _hand_out(flare.workspace, results, say)
        return results


@contextmanager
def _flare_server(kit: Kit, say: Say) -> Iterator[FlareServer]:
    """Run FLARE's server for a coordinator's kit while the block runs."""
    log = kit.log("flare")
    host, port = address_in(kit.folder, SERVER_START)
    refuse_taken("localhost", port)
    store_in_kit(kit.folder)
    configuration = publishing_configuration(host, port, str(kit.folder / WORKSPACE))
    with fresh_workspace(kit.folder, configuration, SERVER_KEYS) as workspace:
        older = log.stat().st_size if log.exists() else 0
        process = start("server", workspace, "server", kit.folder, log)
        try:
            say(f"Starting the server (NVIDIA FLARE; its own log: {log})")
            yield FlareServer(workspace, process, log, older)
        finally:
            stop(process)


def publish(kit: Kit, results: Path, wait: float, say: Say) -> list[str]:
    """Hand out a run's publication until stopped, or until no site has come for `wait` seconds; the
    sites that got it."""
    served: list[str] = []
    with suppress(KeyboardInterrupt), _flare_server(kit, say) as flare:
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
            for name in requests(flare.workspace, given=True)[len(served) :]:
                say(f"{name} has fetched the result")
                served.append(name)
                last = monotonic()
            sleep(POLL_SECONDS)
    return sorted(set(served))


def _conduct(kit: Kit, session: Session, wait: float, timeout: float, say: Say) -> Path:
    _wait_for_sites(kit, session, wait, say)
    (kit.folder / CONNECTED).unlink()
    with TemporaryDirectory() as folder:
        job = session.submit_job(str(write_job(Path(folder) / "job", kit.study, timeout)))
    say(f"All set; the study begins (FLARE job {job})")
    results = kit.results(job)
    _follow(session, job, results, say)
    _finish_job(session, job)
    return results


def wait_until_started(flare: FlareServer) -> None:
    """Wait until FLARE's server says that it has started."""
    deadline = monotonic() + _START_SECONDS
    while _STARTED not in read_bytes(flare.log)[flare.older :]:
        if flare.process.poll() is not None or monotonic() > deadline:
            raise EngineFailure(f"the server did not start; the end of {flare.log} says why")
        sleep(POLL_SECONDS)


@contextmanager
def _admin_session(flare: FlareServer) -> Iterator[Session]:
    """FLARE's administration, from its own workspace."""
    logging.getLogger("nvflare").setLevel(logging.CRITICAL)
    wait_until_started(flare)
    admin = flare.workspace / ADMIN_FOLDER
    try:
        with redirect_stdout(StringIO()):  # FLARE prints there what it is doing
            session = new_secure_session(ADMIN, str(admin), timeout=_START_SECONDS)
    except Exception as problem:
        raise EngineFailure(
            f"the server cannot be reached as {ADMIN}: {problem}; the end of {flare.log} may "
            f"say why"
        ) from None
    try:
        yield session
    finally:
        session.close()


def _wait_for_sites(kit: Kit, session: Session, wait: float, say: Say) -> None:
    roster, threshold = set(kit.study.clients), kit.study.threshold
    deadline, known = monotonic() + wait, None
    while True:
        connected = {client.name for client in _asked(session.get_connected_client_list)} & roster
        if connected != known:
            missing = ", ".join(sorted(roster - connected))
            say(
                f"Sites: {len(connected)} of {len(roster)} are connected"
                + f"; waiting for {missing}" * bool(missing)
            )
            known = connected
            write_json(kit.folder / CONNECTED, {"connected": sorted(connected)})
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
    """Report each step until the controller has written its last word or the job is over."""
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
        over = _is_over(session, job)
        sleep(POLL_SECONDS)


def _finish_job(session: Session, job: str) -> None:
    """Wait for the end of a job, then abort it."""
    deadline = monotonic() + _END_SECONDS
    while not _is_over(session, job):
        if monotonic() > deadline:
            session.abort_job(job)
            return
        sleep(POLL_SECONDS)


def _is_over(session: Session, job: str) -> bool:
    return str(_asked(lambda: session.get_job_status(job))).startswith("FINISHED")


def _asked(question: Callable[[], T]) -> T:
    """Ask FLARE's server, several times if it is busy."""
    deadline = monotonic() + _ANSWER_SECONDS
    while True:
        try:
            return question()
        except (ConnectionError, NoReply) as problem:
            if monotonic() > deadline:
                raise EngineFailure(f"FLARE's server does not answer: {problem}") from None
        sleep(POLL_SECONDS)


def _hand_out(workspace: Path, results: Path, say: Say) -> None:
    """Give the publication to sites that came back for it; name those that did not."""
    offer(workspace, results)
    deadline = monotonic() + _ASKED_SECONDS
    while True:
        served = set(requests(workspace, given=True))
        if set(requests(workspace, given=False)) <= served or monotonic() > deadline:
            break
        sleep(POLL_SECONDS)
    record = json.loads(read_text(results / RESULT))
    missed = set(record.get("survivors", [])) & set(record.get("failures", []))
    for name in sorted(served):
        say(f"{name} has fetched the result")
    if missed - served:
        say(
            f"In the round, but gone at the end: {', '.join(sorted(missed - served))}. 'fedhull "
            f"server KIT --publish' hands out the result later"
        )
