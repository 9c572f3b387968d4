"""An engine without transport: all participants in one process, for rehearsals and tests."""

from collections.abc import Iterable, Mapping
from typing import Protocol

from fedhull.errors import FedhullError
from fedhull.protocol.server import Step


class Receiver(Protocol):
    """A site, or a bare client session."""

    @property
    def name(self) -> str:
        """As on the roster."""

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
