"""Where a study stands, as far as one participant can tell from its own files."""

from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from fedhull.engines.following import PROGRESS, describe, new_lines, runs_of
from fedhull.errors import InvalidInput
from fedhull.kits.audit import read_audit
from fedhull.kits.consent import RECEIPT
from fedhull.kits.kit import AUDIT, Kit
from fedhull.kits.results import STATUS, read_status
from fedhull.progress import Progress


@dataclass(frozen=True)
class Turn:
    """A step in plain words, and who has not answered, as far as that is known."""

    step: str
    missing: list[str] = field(default_factory=list)


def open_run(kit: Kit) -> Path | None:
    """The newest run that has had no last word."""
    runs = [run for run in runs_of(kit) if run.is_dir() and not (run / STATUS).exists()]
    return max(runs, key=lambda run: run.stat().st_mtime_ns, default=None)


def turn_in(kit: Kit, run: Path) -> Turn | None:
    """What a run's own files say: the coordinator's notes of its steps, and the audit log."""
    messages = read_audit(run / AUDIT)
    if not messages:
        return None
    last = messages[-1]
    if kit.name is not None:
        sent = last.direction == "sent"
        return Turn(f"{last.step}: {'answered' if sent else 'asked'}")
    done = _last_step(run / PROGRESS)
    lost = [] if done is None else sorted(done.failures)
    # replies are noted together, when a step is complete
    if last.direction == "sent":
        return Turn(f"{last.step}: the sites are asked", lost)
    words = f"{last.step}: the replies are there" if done is None else describe(vars(done))
    return Turn(words, lost)


def next_step(kit: Kit, turn: Turn | None, has_publisher: bool) -> str:
    """Who has to act next, and with which command, where a session is one process at each
    participant; `has_publisher` says whether its server can hand out results later."""
    start = f"'fedhull server {kit.folder}'"
    if kit.name is not None:
        start = f"'fedhull client {kit.folder} --data FILE'"
    if kit.busy:
        if kit.name is None and turn is not None and turn.missing:
            return f"{', '.join(turn.missing)}: 'fedhull client KIT --data FILE'"
        return "nobody: the process here goes on by itself"
    runs = sorted(
        (run for run in runs_of(kit) if run.is_dir()), key=lambda run: run.stat().st_mtime_ns
    )
    if not runs:
        return f"you: {start}"
    last = runs[-1]
    if (last / STATUS).is_file() and read_status(last)[0] is None:
        return "nobody: the study is complete"
    if (last / RECEIPT).is_file():
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
