"""A lock on a file, which the system gives back when its process ends, however it ends."""

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import monotonic, sleep

_POLL_SECONDS = 0.02


@contextmanager
def locked(path: Path, wait: float = 0.0) -> Iterator[bool]:
    """Whether this process has the lock, while the block runs; it waits `wait` seconds for it."""
    deadline = monotonic() + wait
    with path.open("w") as file:
        while not (mine := _take(file)) and monotonic() < deadline:
            sleep(_POLL_SECONDS)
        yield mine


def _take(file: object) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)  # type: ignore[arg-type]
    except OSError:
        return False
    return True
