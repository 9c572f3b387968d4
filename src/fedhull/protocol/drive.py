"""The one loop that drives a session, an engine in memory, and the bytes of a session."""

from collections.abc import Iterable, Mapping
from time import perf_counter
from typing import Any, Protocol

from fedhull.errors import FedhullError
from fedhull.progress import Progress, Report, ignore
from fedhull.protocol import messages as m
from fedhull.protocol.agreement import Agreement
from fedhull.protocol.dealing import COUNT_BYTES, sealed_bytes
from fedhull.protocol.graph import graph_of
from fedhull.protocol.keys import Identity
from fedhull.protocol.server import ServerSession, Step
from fedhull.protocol.shares import SHARE_BYTES
from fedhull.protocol.summation import Layout

PROPOSE, PUBLISH = "propose", "publish"
# The steps that every session has, in order, under the names by which engines and logs know them.
STEPS = [step.value for step in Step if step is not Step.DONE] + [PUBLISH]

Answers = tuple[dict[str, bytes], dict[str, str]]


class Engine(Protocol):
    """Delivers messages to sites and collects their replies."""

    def step(self, kind: str, messages: Mapping[str, bytes], timeout: float) -> Answers:
        """Send each site its message and wait for the replies, {site: reply}, at most `timeout`
        seconds. Sites without a reply come back as {site: short reason}: the name of an error of
        ours, or "vanished". A site's own words never come back."""


def drive(session: ServerSession, engine: Engine, timeout: float = 600.0) -> Any:
    """Run a session to its end: the sum over the sites, as the session's summation opens it."""
    outgoing = session.start()
    while outgoing:
        replies, _ = engine.step(session.step.value, outgoing, timeout)
        outgoing = session.advance(replies)
    return session.aggregate


class Metered:
    """An engine that counts what passes through it; seconds are summed over steps of one name."""

    def __init__(self, engine: Engine, report: Report = ignore):
        self._engine = engine
        self.report = report
        self.bytes_up: dict[str, int] = {}
        self.bytes_down: dict[str, int] = {}
        self.failures: dict[str, str] = {}
        self.seconds: dict[str, float] = {}

    def step(self, kind: str, messages: Mapping[str, bytes], timeout: float) -> Answers:
        """Pass on, count, report."""
        begin = perf_counter()
        replies, failures = self._engine.step(kind, messages, timeout)
        seconds = perf_counter() - begin
        self.seconds[kind] = self.seconds.get(kind, 0.0) + seconds
        for count, moved in ((self.bytes_down, messages), (self.bytes_up, replies)):
            for name, message in moved.items():
                count[name] = count.get(name, 0) + len(message)
        self.failures |= failures
        self.report(Progress(kind, len(replies), len(messages), failures, seconds))
        return replies, failures


class Receiver(Protocol):
    """A site, or a bare client session."""

    @property
    def name(self) -> str:
        """The name on the roster."""

    def receive(self, raw: bytes) -> bytes | None:
        """Answer a message."""


class MemoryEngine:
    """Hands messages to sites directly.

    `vanish` names, for each step, the clients that disappear just before they send its message;
    "2/upload" is a step of the second sum.
    """

    def __init__(
        self, clients: Iterable[Receiver], vanish: Mapping[str, Iterable[str]] | None = None
    ):
        self.clients = {client.name: client for client in clients}
        self._vanish = {step: set(names) for step, names in (vanish or {}).items()}
        self._gone: set[str] = set()
        self._sum = 0

    def step(
        self, kind: str, messages: Mapping[str, bytes], timeout: float = 0.0
    ) -> tuple[dict[str, bytes], dict[str, str]]:
        """Deliver the messages in turn; nothing here takes time, so nothing times out."""
        self._sum += kind == Step.ADVERTISE
        named = kind if self._sum <= 1 else f"{self._sum}/{kind}"
        self._gone |= self._vanish.get(named, set())
        replies: dict[str, bytes] = {}
        failures: dict[str, str] = {}
        for name, message in messages.items():
            if name in self._gone or name not in self.clients:
                failures[name] = "vanished"
                continue
            try:
                reply = self.clients[name].receive(message)
            except FedhullError as problem:
                # a client's words stay with the client: the server learns the kind of error only
                failures[name] = type(problem).__name__
                continue
            if reply is not None:
                replies[name] = reply
        return replies, failures


def bytes_up(
    study: Agreement,
    client: str,
    upload: Layout,
    *answers: Layout,
    numbers: int = 1,
    ordered: bool = False,
) -> int:
    """Bytes of all messages of a client in a session, envelopes included, if everybody stays: the
    real messages, filled with zeros, are encoded and measured. `numbers` are announced.

    In a sparse graph the client is no witness and holds the shares of as many others as hold its
    own, which is so on average.
    """
    graph = graph_of(study, bytes(16), ordered)
    if study.is_sparse:
        client = next(name for name in (client, *study.seats) if name not in graph.witnesses)
    header: dict[str, Any] = {"study": bytes(32), "session": bytes(16)}
    peers = [name for name in graph.receivers(client) if name != client]
    sizes = sealed_bytes(graph, client, peers, numbers)
    sealed = {peer: bytes(size) for peer, size in sizes.items()}
    announced = numbers * COUNT_BYTES if client in graph.witnesses else 0
    sent: list[m.FromClient] = [
        m.Advertise(**header, channel_key=bytes(32), mask_key=bytes(32), seed_commitment=bytes(32)),
        m.Share(**header, sealed=sealed),
        m.Announce(**header, view=bytes(32), shares=bytes(announced)),
        m.Upload(**header, view=bytes(32), vector=bytes(upload.packed_size)),
        m.Confirm(**header, view=bytes(32), survivors=bytes(32)),
        m.Unmask(
            **header,
            seed_shares=dict.fromkeys(graph.holders[client], bytes(SHARE_BYTES)),
            key_shares={},
        ),
        *(m.Answer(**header, numbers=bytes(answer.packed_size)) for answer in answers),
    ]
    nobody = Identity.generate()
    return sum(len(m.encode_signed(message, client, nobody)) for message in sent)
