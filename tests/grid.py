"""A Flower grid in this process: the real ClientApp, every message through Flower's serialisation,
every answer with a context that went through it too, as between processes."""

from itertools import count

from flwr.app import Context, RecordDict
from flwr.common.serde import (
    context_from_proto,
    context_to_proto,
    message_from_proto,
    message_to_proto,
)
from flwr.serverapp import Grid
from flwr.supercore.task_identity import TaskIdentity

from fedhull.engines.flower.apps import client as app

RUN = 7


class InProcessGrid(Grid):
    def __init__(self, kits):
        self._contexts = {
            node: Context(RUN, node, {"kit": str(kit)}, RecordDict(), {})
            for node, kit in enumerate(kits, 1)
        }
        self._numbers = count(1)
        # what Flower sets in the process of a ServerApp
        TaskIdentity.run_id, TaskIdentity.node_id, TaskIdentity.task_id = RUN, 1, 1
        self._replies = {}

    def set_run(self, run):
        raise NotImplementedError

    @property
    def run(self):
        raise NotImplementedError

    def create_message(self, *args, **kwargs):
        raise NotImplementedError

    def send_and_receive(self, messages, *, timeout=None):
        raise NotImplementedError

    def get_node_ids(self):
        return list(self._contexts)

    def push_messages(self, messages):
        return [self._deliver(message) for message in messages]

    def _deliver(self, message):
        number = f"message-{next(self._numbers)}"
        message.metadata._message_id = number
        node = message.metadata.dst_node_id
        if node in self._contexts:
            context = context_from_proto(context_to_proto(self._contexts[node]))
            reply = app(message_from_proto(message_to_proto(message)), context)
            self._contexts[node] = context
            self._replies[number] = message_from_proto(message_to_proto(reply))
        return number

    def pull_messages(self, message_ids):
        return [self._replies.pop(m) for m in message_ids if m in self._replies]
