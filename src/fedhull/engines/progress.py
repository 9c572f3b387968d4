"""What `fedhull server` and `fedhull client` tell while another process does the work."""

import json
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

from fedhull.federation.coordinator import Progress, Report

PROGRESS = "progress.jsonl"
_CONNECT_SECONDS = 5.0


def new_lines(log: Path, told: int) -> list[dict[str, Any]]:
    """The entries of a log of JSON lines after the first `told`; a line half written is not one."""
    text = log.read_text() if log.exists() else ""
    whole = text[: text.rfind("\n") + 1].splitlines()
    return [json.loads(line) for line in whole[told:]]


def tell_steps(log: Path, told: int, say: Callable[[str], None]) -> int:
    """Tell of the steps that the server has completed since; how many there have been."""
    entries = new_lines(log, told)
    for entry in entries:
        say(describe(entry))
    return told + len(entries)


def note_steps(log: Path) -> Report:
    """What the process that does the work notes of each step, for `tell_steps`."""

    def note(progress: Progress) -> None:
        with log.open("a") as file:
            file.write(json.dumps(vars(progress)) + "\n")

    return note


def describe(progress: dict[str, Any]) -> str:
    """A step in plain words."""
    failed = ", ".join(f"{name} ({why})" for name, why in sorted(progress["failures"].items()))
    without = f"; without: {failed}" if failed else ""
    return (
        f"{progress['step']}: {progress['answered']} of {progress['asked']} sites answered in "
        f"{progress['seconds']:.1f} s{without}"
    )


def tell_sent(audit: Path, told: int, say: Callable[[str], None]) -> int:
    """Tell of what has been sent since; how many entries have been seen."""
    entries = new_lines(audit, told)
    for entry in entries:
        if entry["direction"] == "sent":
            say(f"{entry['step']}: sent {entry['bytes']:,} bytes")
    return told + len(entries)


def answers(host: str, port: int) -> bool:
    """Whether somebody listens there."""
    try:
        socket.create_connection((host, port), _CONNECT_SECONDS).close()
    except OSError:
        return False
    return True
