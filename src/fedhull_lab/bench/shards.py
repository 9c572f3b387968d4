"""Some of a rehearsal's sites in a process of their own, so that a large study uses every core."""

import multiprocessing
import os
from collections.abc import Mapping
from multiprocessing.connection import Connection

from fedhull.extend import MemoryEngine
from fedhull_lab.bench.timing import peak_memory_mb

Answers = tuple[dict[str, bytes], dict[str, str]]
# Fewer sites stay together, so that their memory is counted once.
_MANY = 5_000


def shard_count(sites: int) -> int:
    """Processes to spread this number of sites over, this one included."""
    can_fork = "fork" in multiprocessing.get_all_start_methods()
    return (os.cpu_count() or 1) if can_fork and sites >= _MANY else 1


class Shard:
    """An engine with its sites in a forked process, so that nothing is copied or sent."""

    def __init__(self, engine: MemoryEngine):
        context = multiprocessing.get_context("fork")
        self._here, there = context.Pipe()
        self._process = context.Process(target=_serve, args=(engine, there), daemon=True)
        self._process.start()
        there.close()

    def start_step(self, kind: str, messages: Mapping[str, bytes], timeout: float) -> None:
        """Hand over the messages of a step."""
        self._here.send((kind, dict(messages), timeout))

    def finish_step(self) -> Answers:
        """The answers to the messages of the step."""
        answers: Answers = self._here.recv()
        return answers

    def close(self) -> float:
        """End the process; its peak memory in megabytes."""
        self._here.send(None)
        peak: float | None = self._here.recv()
        self._process.join()
        return peak or 0.0


def _serve(engine: MemoryEngine, there: Connection) -> None:
    while (request := there.recv()) is not None:
        there.send(engine.step(*request))
    there.send(peak_memory_mb())
