"""What a session costs one site, measured in a rehearsal of many."""

from collections.abc import Iterable, Mapping
from time import perf_counter
from typing import Any

from fedhull.bench.shards import Shard, shard_count
from fedhull.bench.timing import peak_memory_mb
from fedhull.protocol import degree, graph
from fedhull.protocol import messages as m
from fedhull.protocol.drive import Answers, MemoryEngine
from fedhull.protocol.keys import verify
from fedhull.protocol.server import Step

ORDINARY, WITNESS = "ordinary", "witness"
_OF_THE_GRAPH = (graph._sparse, degree.circle, degree.jury, degree.few)


class Watched:
    """A site whose seconds are counted. What other sites of the process have worked out already,
    the graph and whose signatures are right, it works out by itself."""

    def __init__(self, site: Any):
        self.site = site
        self.name: str = site.name
        self.seconds = 0.0
        self.bytes_up = 0
        # without the vectors, which are what the study is about
        self.protocol_bytes = 0

    def receive(self, raw: bytes) -> bytes | None:
        """As the site does."""
        message = m.decode_to_client(raw, self.site.study)
        verify.cache_clear()
        if isinstance(message, m.KeyList):
            for known in _OF_THE_GRAPH:
                known.cache_clear()
        begin = perf_counter()
        reply: bytes | None = self.site.receive(raw)
        self.seconds += perf_counter() - begin
        if reply is not None:
            _, said = m.decode_signed(reply, self.site.study, message.session, len(reply))
            self.bytes_up += len(reply)
            self.protocol_bytes += len(reply) - len(_vector(said))
        return reply


class WatchingEngine(MemoryEngine):
    """A memory engine that watches one witness and one site that is none, if there is one, in each
    session; `watched` are all of them. Many sites are spread over all cores, those that are watched
    stay in this process."""

    def __init__(self, clients: Iterable[Any], vanish: Mapping[str, Iterable[str]] | None = None):
        sites = list(clients)
        n = shard_count(len(sites))
        super().__init__(sites[::n], vanish)
        self._shards = [Shard(MemoryEngine(sites[i::n], vanish)) for i in range(1, n)]
        self._shard_of = {site.name: i % n for i, site in enumerate(sites)}
        self.watched: list[tuple[str, Watched]] = []
        # seconds since there are sites, and those of them in which sites are at work
        self._begin = perf_counter()
        self.steps_seconds = 0.0

    def step(self, kind: str, messages: Mapping[str, bytes], timeout: float = 0.0) -> Answers:
        """As without watching."""
        if kind == Step.ADVERTISE:
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
        """End the processes. For how many seconds no site was at work since there are sites, and
        the most megabytes that all processes have held."""
        server_seconds = perf_counter() - self._begin - self.steps_seconds
        shards, own = sum(shard.close() for shard in self._shards), peak_memory_mb()
        return server_seconds, None if own is None else own + shards

    def _choose(self, invitation: bytes) -> None:
        for _, watched in self.watched:
            self.clients[watched.name] = watched.site
        study: Any = next(iter(self.clients.values())).study  # type: ignore[attr-defined]
        session = m.decode_to_client(invitation, study).session
        witnesses = graph.graph_of(study, session, ordered=False).witnesses
        for role in (ORDINARY, WITNESS):
            name = next((n for n in self.clients if (n in witnesses) == (role == WITNESS)), None)
            if name is not None:
                watched = Watched(self.clients[name])
                self.clients[name] = watched
                self.watched.append((role, watched))

    def of(self, role: str) -> list[Watched]:
        """Those who were watched in a role, one for each session."""
        return [watched for each, watched in self.watched if each == role]


def _vector(said: m.FromClient) -> bytes:
    if isinstance(said, m.Upload):
        return said.vector
    return said.numbers if isinstance(said, m.Answer) else b""
