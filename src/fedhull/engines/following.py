"""What `fedhull server` and `fedhull client` say while another process does the work."""

import json
import socket
from collections.abc import Callable
from pathlib import Path
from time import monotonic, sleep
from typing import Any

from fedhull.disk import read_bytes
from fedhull.errors import InvalidInput, ServerUnreachable
from fedhull.kits.audit import read_audit
from fedhull.kits.consent import RECEIPT
from fedhull.kits.kit import AUDIT, RESULTS, Kit
from fedhull.kits.results import STATUS, write_end
from fedhull.progress import Progress, Report

PROGRESS = "progress.jsonl"
POLL_SECONDS, GONE_SECONDS = 0.5, 15.0
_CONNECT_SECONDS = 5.0


def new_lines(log: Path, known: int) -> list[dict[str, Any]]:
    """The entries of a log of JSON lines after the first `known`; half a line is none."""
    lines = read_bytes(log).split(b"\n")[:-1] if log.exists() else []
    try:
        return [dict(json.loads(line)) for line in lines[known:]]
    except (ValueError, TypeError, RecursionError):
        raise InvalidInput(f"{log} is damaged; the study itself goes on") from None


def say_steps(log: Path, known: int, say: Callable[[str], None]) -> int:
    """Say which steps the server has completed since; how many there have been."""
    entries = new_lines(log, known)
    for entry in entries:
        say(describe(entry))
    return known + len(entries)


def note_steps(log: Path) -> Report:
    """What the process that does the work notes of each step, for `say_steps`."""

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


def say_sent(audit: Path, known: int, say: Callable[[str], None]) -> int:
    """Say what has been sent since; how many entries have been seen."""
    entries = read_audit(audit)[known:]
    for entry in entries:
        if entry.direction == "sent":
            say(f"{entry.step}: sent {entry.bytes:,} bytes")
    return known + len(entries)


def answers(host: str, port: int) -> bool:
    """Whether somebody listens there."""
    try:
        socket.create_connection((host, port), _CONNECT_SECONDS).close()
    except OSError:
        return False
    return True


def wait_for_server(host: str, port: int, wait: float, say: Callable[[str], None]) -> None:
    """Until somebody listens there, `wait` seconds at most."""
    deadline, said = monotonic() + wait, False
    while not answers(host, port):
        if not said:
            say(f"Waiting for the server at {host}:{port}")
            said = True
        if monotonic() > deadline:
            raise ServerUnreachable(
                f"the server at {host}:{port} has not answered for {wait:g} seconds; ask the "
                f"coordinator if it is running, and your network team if port {port} is open"
            )
        sleep(POLL_SECONDS)


def runs_of(kit: Kit) -> set[Path]:
    """The folders of all runs that have left something in a kit."""
    return set((kit.folder / RESULTS).glob("*"))


def follow_site(
    kit: Kit,
    before: set[Path],
    host: str,
    port: int,
    check: Callable[[Path | None], None],
    say: Callable[[str], None],
) -> Path:
    """Say what the engine's process at a site sends, until it has had its last word or the server
    is gone; the folder of the run, which is none of those from `before`. `check` raises if there is
    something wrong with the process."""
    results: Path | None = None
    known, last_seen = 0, monotonic()
    while True:
        results = results or next(iter(runs_of(kit) - before), None)
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
    if results is None:
        sentence = (
            f"the server at {host}:{port} is gone and never asked this site for anything: the "
            f"study took place without it, or with another process that has the kit of {kit.name}"
        )
    else:
        sentence = (
            f"the server at {host}:{port} is gone and the study did not finish, or went on with "
            f"another process that has the kit of {kit.name}. "
        ) + (
            "This site has uploaded: if there is a result, 'fedhull client KIT --fetch' brings it"
            if (results / RECEIPT).exists()
            else "Nothing of this session is left on this machine but its log. A new attempt is a "
            "new session"
        )
    results = results or kit.results("no-session")
    write_end(results, ServerUnreachable.__name__, sentence)
    return results
