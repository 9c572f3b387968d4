"""The one interface between protocol and transport, and the loop that runs a session over it."""

from collections.abc import Callable, Mapping
from typing import Protocol

from fedhull.errors import OutOfTurn
from fedhull.protocol.server import Aggregate, ServerSession, Step


class Engine(Protocol):
    """Delivers messages to clients and collects their replies."""

    def step(
        self, kind: str, messages: Mapping[str, bytes], timeout: float
    ) -> tuple[dict[str, bytes], dict[str, str]]:
        """Send each client its message and wait for the replies, {client: reply}, at most `timeout`
        seconds. Clients without a reply come back as {client: short reason}."""


def aggregate(
    server: ServerSession,
    engine: Engine,
    timeout: float = 600.0,
    report: Callable[[Step, dict[str, str]], None] = lambda step, failures: None,
) -> Aggregate:
    """Run a session to the aggregate; `report` is told after each step who failed, and how."""
    outgoing = server.start()
    while outgoing:
        step = server.step
        replies, failures = engine.step(step.value, outgoing, timeout)
        report(step, failures)
        outgoing = server.advance(replies)
    if server.aggregate is None:
        raise OutOfTurn("the session ended without a sum")
    return server.aggregate
