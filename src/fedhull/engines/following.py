"""The state of a session, by the files of its run, for `fedhull status` and for commands that wait
while another process does the work."""

import json
import socket
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic, sleep
from typing import Any

import msgspec

from fedhull.disk import read_bytes
from fedhull.errors import EngineFailure, InvalidInput, ServerUnreachable
from fedhull.kits.audit import read_audit
from fedhull.kits.consent import RECEIPT
from fedhull.kits.kit import AUDIT, RESULTS, Kit
from fedhull.kits.results import STATUS, read_status, write_end
from fedhull.progress import Progress, Report

Say = Callable[[str], None]
PROGRESS = "progress.jsonl"
POLL_SECONDS, GONE_SECONDS = 0.5, 15.0
_CONNECT_SECONDS = 5.0


@dataclass(frozen=True)
class Turn:
    """A step in plain words, and those who have not answered, as far as that is known."""

    step: str
    missing: list[str] = field(default_factory=list)


def new_lines(log: Path, known: int) -> list[dict[str, Any]]:
    """Read a log of JSON lines after the first `known`; half a line does not count."""
    lines = read_bytes(log).split(b"\n")[:-1] if log.exists() else []
    try:
        return [dict(json.loads(line)) for line in lines[known:]]
    except (ValueError, TypeError, RecursionError):
        raise InvalidInput(f"{log} is damaged; the study itself goes on") from None


def say_steps(log: Path, known: int, say: Say) -> int:
    """Report the steps completed after the first `known`; the number of all."""
    entries = new_lines(log, known)
    for entry in entries:
        say(describe(entry))
    return known + len(entries)


def note_steps(log: Path) -> Report:
    """Log each step for `say_steps`."""

    def note(progress: Progress) -> None:
        with log.open("a") as file:
            file.write(json.dumps(vars(progress)) + "\n")

    return note


def describe(progress: dict[str, Any]) -> str:
    """A step in plain words."""
    failed = ", ".join(f"{name} ({why})" for name, why in sorted(progress["failures"].items()))
    without = f"; without: {failed}" if failed else ""
    return (
        f"{progress['step']}: {progress['done']} of {progress['total']} sites answered in "
        f"{progress['seconds']:.1f} s{without}"
    )


def say_sent(audit: Path, known: int, say: Say) -> int:
    """Report the messages sent after the first `known` entries; the number of all."""
    entries = read_audit(audit)[known:]
    for entry in entries:
        if entry.direction == "sent":
            say(f"{entry.step}: sent {entry.bytes:,} bytes")
    return known + len(entries)


def answers(host: str, port: int) -> bool:
    """True if somebody listens there."""
    try:
        socket.create_connection((host, port), _CONNECT_SECONDS).close()
    except OSError:
        return False
    return True


def refuse_taken(host: str, port: int) -> None:
    """Refuse to start a server at a port that is taken."""
    if answers(host, port):
        raise EngineFailure(
            f"port {port} is taken on this machine; is another server running? "
            f"(provision again with another --port)"
        )


def wait_for_server(host: str, port: int, wait: float, say: Say) -> None:
    """Wait until somebody listens there, for `wait` seconds at most."""
    deadline, announced = monotonic() + wait, False
    while not answers(host, port):
        if not announced:
            say(f"Waiting for the server at {host}:{port}")
            announced = True
        if monotonic() > deadline:
            raise ServerUnreachable(
                f"the server at {host}:{port} has not answered for {wait:g} seconds; ask the "
                f"coordinator if it is running, and your network team if port {port} is open"
            )
        sleep(POLL_SECONDS)


def runs_of(kit: Kit) -> list[Path]:
    """Folders of all runs, the oldest first."""
    runs = [run for run in (kit.folder / RESULTS).glob("*") if run.is_dir()]
    return sorted(runs, key=lambda run: run.stat().st_mtime_ns)


def follow_site(
    kit: Kit,
    before: list[Path],
    host: str,
    port: int,
    check: Callable[[Path | None], None],
    say: Say,
) -> Path:
    """Report what the engine's process sends at a site, until its run, none of those from `before`,
    has ended or the server is gone; the run's folder. `check` raises if the process has failed."""
    results: Path | None = None
    known, last_seen = 0, monotonic()
    while True:
        results = results or next((run for run in runs_of(kit) if run not in before), None)
        if results is not None:
            known = say_sent(results / AUDIT, known, say)
            if (results / STATUS).exists():
                return results
        check(results)
        if answers(host, port):
            last_seen = monotonic()
        elif monotonic() - last_seen > GONE_SECONDS:
            return _server_gone(kit, results, host, port)
        sleep(POLL_SECONDS)


def _server_gone(kit: Kit, results: Path | None, host: str, port: int) -> Path:
    gone = f"the server at {host}:{port} is gone and"
    if results is None:
        sentence = (
            f"{gone} never asked this site for anything: the study took place without it, or with "
            f"another process that has the kit of {kit.name}"
        )
    else:
        sentence = (
            f"{gone} the study did not finish, or went on with another process that has the kit of "
            f"{kit.name}. "
        ) + (
            "This site has uploaded: if there is a result, 'fedhull client KIT --fetch' brings it"
            if (results / RECEIPT).exists()
            else "Only the log of this session is left on this machine. A new attempt is a new "
            "session"
        )
    results = results or kit.results("no-session")
    write_end(results, ServerUnreachable.__name__, sentence)
    return results


def open_turn(kit: Kit) -> Turn | None:
    """The last step of the newest open run, by its own files; None if there is none."""
    still_open = [run for run in runs_of(kit) if not (run / STATUS).exists()]
    messages = read_audit(still_open[-1] / AUDIT) if still_open else []
    if not messages:
        return None
    last = messages[-1]
    if kit.name is not None:
        return Turn(f"{last.step}: {'answered' if last.direction == 'sent' else 'asked'}")
    done = _last_step(still_open[-1] / PROGRESS)
    lost = [] if done is None else sorted(done.failures)
    # replies are logged together, when a step is complete
    if last.direction == "sent":
        return Turn(f"{last.step}: the sites are asked", lost)
    words = f"{last.step}: the replies are there" if done is None else describe(vars(done))
    return Turn(words, lost)


def next_step(kit: Kit, turn: Turn | None, has_publisher: bool) -> str:
    """The next person to act and the command, where a session is one process at each participant;
    with `has_publisher`, its server can hand out results later."""
    start = f"'fedhull server {kit.folder}'"
    if kit.name is not None:
        start = f"'fedhull client {kit.folder} --data FILE'"
    if kit.busy:
        if kit.name is None and turn is not None and turn.missing:
            return f"{', '.join(turn.missing)}: 'fedhull client KIT --data FILE'"
        return "nobody: the process here goes on by itself"
    runs = runs_of(kit)
    if not runs:
        return f"you: {start}"
    if (runs[-1] / STATUS).is_file() and read_status(runs[-1])[0] is None:
        return "nobody: the study is complete"
    if (runs[-1] / RECEIPT).is_file():
        how = "--fetch" if has_publisher else "--fetch --publication FILE"
        source = "'fedhull server KIT --publish'" if has_publisher else "its file publication.bin"
        return (
            f"the coordinator: if there is a result, {source}; then you: 'fedhull client "
            f"{kit.folder} {how}'"
        )
    return f"everybody: the last session came to no result, and a new one begins with {start}"


def _last_step(log: Path) -> Progress | None:
    steps = new_lines(log, 0)
    try:
        return msgspec.convert(steps[-1], Progress) if steps else None
    except msgspec.ValidationError:
        raise InvalidInput(f"{log} is damaged; the study itself goes on") from None
