"""Messages as Flower messages."""

from collections.abc import Callable, Mapping
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
    """One Flower message for each site and step, sent to the site's node in `nodes`."""

    def __init__(self, grid: Grid, nodes: Mapping[str, int]):
        self._grid = grid
        self._nodes = nodes

    def step(self, kind: str, messages: Mapping[str, bytes], timeout: float) -> Answers:
        """Push the messages; pull until all have answered or the time is up."""
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
    """Ask the nodes which site they are; later messages are signed.

    Wait for the whole roster, `wait` seconds at most, then go on with enough of it. A node that has
    not answered is asked again: a busy machine starts its app slowly.
    """
    nodes: dict[str, int] = {}
    answered: set[int] = set()
    deadline = monotonic() + wait
    while len(nodes) < len(study.clients):
        waiting = set(grid.get_node_ids()) - answered
        answers = _ask(grid, HELLO, {node: {} for node in waiting}, _HELLO_SECONDS)
        answered |= answers.keys()
        for node, answer in answers.items():
            name = answer.get(NAME)
            if isinstance(name, str) and name in study.clients:
                nodes[name] = node
        if answers:
            report(sorted(nodes))
        if monotonic() > deadline:
            if len(nodes) >= study.threshold:
                break
            raise BelowThreshold(
                f"after {wait:g} seconds only {len(nodes)} of {len(study.clients)} sites are "
                f"connected, but the study needs {study.threshold}"
            )
        sleep(_POLL_SECONDS)
    return nodes


def _ask(
    grid: Grid, action: str, questions: Mapping[int, dict[str, str | bytes]], timeout: float
) -> dict[int, ConfigRecord]:
    """{node: answer}. A reply is known by the message that it answers: one that the SuperLink makes
    for a lost node does not carry that node's number."""
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
        for reply in list(grid.pull_messages(list(waiting))):
            node = waiting.pop(reply.metadata.reply_to_message_id, None)
            if node is not None and reply.has_content():
                answers[node] = reply.content.config_records.get(RECORD, ConfigRecord())
        if waiting:
            sleep(_POLL_SECONDS)
    return answers
