"""Times, ours and the peer's in turn and the best of several, and memory."""

import operator
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

_HOLDS = {"≥": operator.ge, "≤": operator.le}


@dataclass(frozen=True)
class Bar:
    """A target for a ratio, for instance ≥ 12."""

    sign: str
    value: float

    def holds(self, ratio: float) -> bool:
        """Return True if the ratio meets the target."""
        return bool(_HOLDS[self.sign](ratio, self.value))

    def __str__(self) -> str:
        return f"{self.sign} {self.value:g}"


@dataclass(frozen=True)
class Measurement:
    """Our time beside a peer's; `unit` says in which direction `ratio` reads."""

    what: str
    n: int
    seconds: float
    peer: str
    peer_seconds: float
    unit: str
    bar: Bar | None = None

    @property
    def ratio(self) -> float:
        """Peer over ours where the unit is "× faster", otherwise ours over the peer's."""
        ratio = self.peer_seconds / self.seconds
        return ratio if self.unit == "× faster" else 1.0 / ratio

    def to_json(self) -> dict[str, Any]:
        """Plain numbers and words."""
        return {
            "what": self.what,
            "n": self.n,
            "seconds": self.seconds,
            "peer": self.peer,
            "peer_seconds": self.peer_seconds,
            "ratio": self.ratio,
            "unit": self.unit,
            "bar": str(self.bar) if self.bar else None,
            "met": self.bar.holds(self.ratio) if self.bar else None,
        }


def best_times(*calls: Callable[[], Any], repeats: int) -> list[float]:
    """Best time of each call; calls take turns, so that a slow moment of the machine hits all."""
    best = [float("inf")] * len(calls)
    for _ in range(repeats):
        for i, call in enumerate(calls):
            begin = perf_counter()
            call()
            best[i] = min(best[i], perf_counter() - begin)
    return best


def peak_memory_mb() -> float | None:
    """Peak memory of this process, where the system reports it (not on Windows)."""
    status = Path("/proc/self/status")
    # on Linux getrusage would also count what the process was forked from
    if status.exists() and (peak_kb := re.search(r"VmHWM:\s+(\d+) kB", status.read_text())):
        return int(peak_kb[1]) / 2**10
    try:
        import resource
    except ImportError:
        return None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (2**20 if sys.platform == "darwin" else 2**10)
