"""Messages of a study as Flower messages."""

from collections.abc import Callable, Iterable, Mapping
from time import monotonic, sleep

from flwr.app import ConfigRecord, Message, RecordDict
from flwr.serverapp import Grid

from fedhull.errors import BelowThreshold
from fedhull.kits.results import INTERNAL_ERROR
from fedhull.protocol.agreement import Agreement
from fedhull.protocol.drive import Answers

RECORD, MESSAGE, STEP, REPLY, ERROR, NAME = "fedhull", "message", "step", "reply", "error", "name"
HELLO, ANSWER = "hello", "answer"
_POLL_SECONDS = 0.2
_HELLO_SECONDS = 60.0


class FlowerEngine:
    """One Flower message for each client and step; `nodes` says which node is which site."""

    def __init__(self, grid: Grid, nodes: Mapping[str, int]):
        self._grid = grid
        self._nodes = nodes

    def step(self, kind: str, messages: Mapping[str, bytes], timeout: float) -> Answers:
        """Push the messages, and pull until all have answered or the time is up."""
        there = {name: raw for name, raw in messages.items() if name in self._nodes}
        answers = _ask(
            self._grid,
            ANSWER,
            {self._nodes[name]: {STEP: kind, MESSAGE: raw} for name, raw in there.items()},
            timeout,
        )
        replies: dict[str, bytes] = {}
        failures = dict.fromkeys(messages, "vanished")
        for name in there:
            answer = answers.get(self._nodes[name])
            if answer is None:
                continue
            del failures[name]
            reply, error = answer.get(REPLY), answer.get(ERROR)
            if isinstance(error, str):
                failures[name] = error if error.isidentifier() else INTERNAL_ERROR
            elif isinstance(reply, bytes) and reply:
                replies[name] = reply
        return replies, failures


def find_sites(
    grid: Grid, study: Agreement, wait: float, report: Callable[[list[str]], None]
) -> dict[str, int]:
    """Which node is which site, as the nodes say themselves; what they say later is signed.

    Waits `wait` seconds at most for the whole roster, then goes on with enough of it. A node that
    has not answered in time is asked again: a busy machine is slow to start its app.
    """
    found: dict[str, int] = {}
    answered: set[int] = set()
    deadline = monotonic() + wait
    while len(found) < len(study.clients):
        waiting = set(grid.get_node_ids()) - answered
        answers = _ask(grid, HELLO, {node: {} for node in waiting}, _HELLO_SECONDS)
        answered |= answers.keys()
        for node, answer in answers.items():
            name = answer.get(NAME)
            if isinstance(name, str) and name in study.clients:
                found[name] = node
        if answers:
            report(sorted(found))
        if monotonic() > deadline:
            if len(found) >= study.threshold:
                break
            raise BelowThreshold(
                f"after {wait:g} seconds only {len(found)} of {len(study.clients)} sites are "
                f"connected, but the study needs {study.threshold}"
            )
        sleep(_POLL_SECONDS)
    return found


def _ask(
    grid: Grid, action: str, questions: Mapping[int, dict[str, str | bytes]], timeout: float
) -> dict[int, ConfigRecord]:
    """{node: answer}. Replies are told apart by the message they answer: one that the SuperLink
    makes for a node that is gone does not carry that node's number."""
    messages = [
        Message(
            content=RecordDict({RECORD: ConfigRecord(dict(question))}),
            dst_node_id=node,
            message_type=f"query.{action}",
            ttl=timeout,
        )
        for node, question in questions.items()
    ]
    waiting = dict(zip(grid.push_messages(messages), questions, strict=True))
    answers: dict[int, ConfigRecord] = {}
    deadline = monotonic() + timeout
    while waiting and monotonic() < deadline:
        for reply in _pulled(grid, waiting):
            node = waiting.pop(reply.metadata.reply_to_message_id, None)
            if node is not None and reply.has_content():
                answers[node] = reply.content.config_records.get(RECORD, ConfigRecord())
        if waiting:
            sleep(_POLL_SECONDS)
    return answers


def _pulled(grid: Grid, waiting: Iterable[str]) -> list[Message]:
    return list(grid.pull_messages(list(waiting)))
