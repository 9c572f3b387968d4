"""The cost of a session to one site, measured in a rehearsal of many."""

from collections.abc import Iterable, Mapping
from time import perf_counter
from typing import Any

from fedhull.extend import MemoryEngine, forget_shared, vector_size, witnesses_of
from fedhull_lab.bench.shards import Answers, Shard, shard_count
from fedhull_lab.bench.timing import peak_memory_mb

ORDINARY, WITNESS = "ordinary", "witness"
_FIRST_STEP = "advertise"


class Watched:
    """A site whose seconds are counted. It draws the graph and checks signatures by itself, even
    where another site of the process has done so already."""

    def __init__(self, site: Any):
        self.site = site
        self.name: str = site.name
        self.seconds = 0.0
        self.bytes_up = 0
        # the vectors, which the study is about, left out
        self.protocol_bytes = 0

    def receive(self, raw: bytes) -> bytes | None:
        """Answer a message as the site does."""
        forget_shared(self.site.study, raw)
        begin = perf_counter()
        reply: bytes | None = self.site.receive(raw)
        self.seconds += perf_counter() - begin
        if reply is not None:
            self.bytes_up += len(reply)
            self.protocol_bytes += len(reply) - vector_size(self.site.study, raw, reply)
        return reply


class WatchingEngine(MemoryEngine):
    """A memory engine that watches, in each session, one witness and one other site, if there is
    one; `watched` lists them. Many sites are spread over all cores, but for watched ones."""

    def __init__(self, clients: Iterable[Any], vanish: Mapping[str, Iterable[str]] | None = None):
        sites = list(clients)
        n = shard_count(len(sites))
        super().__init__(sites[::n], vanish)
        self._shards = [Shard(MemoryEngine(sites[i::n], vanish)) for i in range(1, n)]
        self._shard_of = {site.name: i % n for i, site in enumerate(sites)}
        self.watched: list[tuple[str, Watched]] = []
        # when there were sites, and the seconds since in which sites were at work
        self._begin = perf_counter()
        self.steps_seconds = 0.0

    def step(self, kind: str, messages: Mapping[str, bytes], timeout: float = 0.0) -> Answers:
        """Deliver the messages, to all processes at once."""
        if kind == _FIRST_STEP:
            self._choose(next(iter(messages.values())))
        begin = perf_counter()
        theirs: list[dict[str, bytes]] = [{} for _ in range(len(self._shards) + 1)]
        for name, message in messages.items():
            theirs[self._shard_of[name]][name] = message
        for shard, some in zip(self._shards, theirs[1:], strict=True):
            shard.start_step(kind, some, timeout)
        replies, failures = super().step(kind, theirs[0], timeout)
        for shard in self._shards:
            more_replies, more_failures = shard.finish_step()
            replies |= more_replies
            failures |= more_failures
        self.steps_seconds += perf_counter() - begin
        return replies, failures

    def close(self) -> tuple[float, float | None]:
        """End the processes; the seconds in which no site was at work, and the peak megabytes of
        all processes together."""
        server_seconds = perf_counter() - self._begin - self.steps_seconds
        shards, own = sum(shard.close() for shard in self._shards), peak_memory_mb()
        return server_seconds, None if own is None else own + shards

    def _choose(self, invitation: bytes) -> None:
        for _, watched in self.watched:
            self.clients[watched.name] = watched.site
        study: Any = next(iter(self.clients.values())).study  # type: ignore[attr-defined]
        witnesses = witnesses_of(study, invitation)
        for role in (ORDINARY, WITNESS):
            name = next((n for n in self.clients if (n in witnesses) == (role == WITNESS)), None)
            if name is not None:
                watched = Watched(self.clients[name])
                self.clients[name] = watched
                self.watched.append((role, watched))

    def of(self, role: str) -> list[Watched]:
        """The sites watched in a role, one for each session."""
        return [watched for each, watched in self.watched if each == role]
