"""The one loop that drives a session, over whatever moves its messages."""

from collections.abc import Mapping
from time import perf_counter
from typing import Any, Protocol

from fedhull.progress import Progress, Report, ignore
from fedhull.protocol.server import ServerSession, Step

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
    """Run a session up to the sum over the sites, which is all that the server learns, opened as
    the session's summation opens it."""
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
