"""Federated averaging of a logistic regression: Flower's strategy and client app in one process,
every message through Flower's serialisation. A process for each message, as Flower has it, would
measure how fast processes start."""

import logging
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import count
from time import perf_counter
from typing import Any

import numpy as np

from fedhull.errors import MissingExtra
from fedhull_lab.bench.peers.cells import Deal
from fedhull_lab.bench.peers.logistic import Local, scores, steps_from
from fedhull_lab.bench.peers.measured import Measured, Method, Options, share_right

# The best for this peer on splits that are not reported: where there are few cells for many
# axes, sites that take more steps fit their own noise; in three coordinates there is none to fit.
ON_AXES = Local(penalty=1e-3, steps=1)
IN_THE_DISC = Local(penalty=1e-6, steps=20)
_RUN = 1


def fed_avg(rounds: int) -> Callable[[Deal, Options], Measured]:
    """FedAvg over a number of rounds; all sites take part in each."""

    def run(deal: Deal, options: Options) -> Measured:
        trial, x = deal.trial, deal.trial.linear
        names, y = np.unique(trial.content.y, return_inverse=True)
        local = IN_THE_DISC if trial.cells is None else ON_AXES
        begin = perf_counter()
        held = [(x[rows], y[rows]) for rows in deal.sites]
        weights, sent = average(held, len(names), rounds, local)
        found = names[scores(weights, x[trial.test]).argmax(axis=1)]
        seconds = perf_counter() - begin
        return Measured(share_right(found, deal), trial.test, rounds, rounds, sent, seconds)

    return run


def average(
    held: list[tuple[np.ndarray, np.ndarray]], classes: int, rounds: int, local: Local
) -> tuple[np.ndarray, int]:
    """The weights after all rounds over sites that hold (x, y), and the bytes of the site that sent
    most."""
    flower = _flower()
    app = flower.ClientApp()

    @app.train()  # type: ignore[untyped-decorator]
    def train(message: Any, context: Any) -> Any:
        mine, own = held[int(context.node_config["site"])]
        (weights,) = message.content["arrays"].to_numpy_ndarrays()
        trained = steps_from(weights, mine, own, local)
        content = {
            "arrays": flower.ArrayRecord([trained]),
            "metrics": flower.MetricRecord({"num-examples": len(own)}),
        }
        return flower.Message(flower.RecordDict(content), reply_to=message)

    grid = _grid(flower, app, len(held))
    first = flower.ArrayRecord([np.zeros((held[0][0].shape[1] + 1, classes))])
    with _quiet():
        strategy = flower.FedAvg(fraction_evaluate=0.0, min_available_nodes=len(held))
        result = strategy.start(grid, first, num_rounds=rounds)
    (weights,) = result.arrays.to_numpy_ndarrays()
    return weights, max(grid.bytes_up.values())


def _grid(flower: Any, app: Any, sites: int) -> Any:
    """Flower's grid over sites in this process."""

    class InProcess(flower.Grid):  # type: ignore[misc]
        """Hands each message to the app at once and returns the reply; no strategy asks a grid for
        more."""

        def __init__(self) -> None:
            self.bytes_up = dict.fromkeys(range(1, sites + 1), 0)
            self._contexts = {
                node: flower.Context(_RUN, node, {"site": node - 1}, flower.RecordDict(), {})
                for node in self.bytes_up
            }
            self._numbers = count(1)
            # what Flower sets in the process of a ServerApp
            identity = flower.TaskIdentity
            identity.run_id, identity.node_id, identity.task_id = _RUN, 1, 1

        def send_and_receive(
            self, messages: Iterable[Any], *, timeout: float | None = None
        ) -> list[Any]:
            return [self._answer(message) for message in messages]

        def _answer(self, message: Any) -> Any:
            message.metadata._message_id = f"message-{next(self._numbers)}"
            node = message.metadata.dst_node_id
            arrived = flower.message_from_proto(flower.message_to_proto(message))
            reply = flower.message_to_proto(app(arrived, self._contexts[node]))
            self.bytes_up[node] += reply.ByteSize()
            return flower.message_from_proto(reply)

        def get_node_ids(self) -> list[int]:
            return list(self.bytes_up)

        def set_run(self, run: Any) -> None:
            raise NotImplementedError

        @property
        def run(self) -> Any:
            raise NotImplementedError

        def create_message(self, *args: Any, **kwargs: Any) -> Any:
            raise NotImplementedError

        def push_messages(self, messages: Iterable[Any]) -> list[str]:
            raise NotImplementedError

        def pull_messages(self, message_ids: Iterable[str]) -> list[Any]:
            raise NotImplementedError

    return InProcess()


@contextmanager
def _quiet() -> Iterator[None]:
    """Silence Flower, which reports every round on standard error, where the progress bar is."""
    logger = logging.getLogger("flwr")
    before = logger.level
    logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        logger.setLevel(before)


def _flower() -> Any:
    """The names of Flower that are used here."""
    try:
        from flwr.app import ArrayRecord, Context, Message, MetricRecord, RecordDict
        from flwr.clientapp import ClientApp
        from flwr.common.serde import message_from_proto, message_to_proto
        from flwr.serverapp import Grid
        from flwr.serverapp.strategy import FedAvg
        from flwr.supercore.task_identity import TaskIdentity
    except ImportError:
        raise MissingExtra("this row needs Flower: pip install 'fedhull[flower]'") from None
    from types import SimpleNamespace

    return SimpleNamespace(
        ArrayRecord=ArrayRecord, Context=Context, Message=Message, MetricRecord=MetricRecord,
        RecordDict=RecordDict, ClientApp=ClientApp, Grid=Grid, FedAvg=FedAvg,
        TaskIdentity=TaskIdentity, message_from_proto=message_from_proto,
        message_to_proto=message_to_proto,
    )  # fmt: skip


def fed_avg_method(rounds: int) -> Method:
    """The row of FedAvg over this number of rounds."""
    return Method(
        f"Flower, FedAvg, {rounds} rounds", "the site's weights, in clear, every round", False,
        "flwr", "pip install flwr", fed_avg(rounds),
    )  # fmt: skip
