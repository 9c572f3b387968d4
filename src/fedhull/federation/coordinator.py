"""The coordinator's side of a study: sum, group, learn, publish, ask how well it does."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any

import numpy as np

from fedhull.errors import InvalidInput, OutOfTurn
from fedhull.federation.engine import Engine
from fedhull.learn.classifiers import make_classifier
from fedhull.learn.grouping import group_hulls
from fedhull.learn.model import model_to_json
from fedhull.protocol.server import ServerSession
from fedhull.protocol.study import Study
from fedhull.protocol.summation import Aggregate

PUBLISH = "publish"


@dataclass(frozen=True)
class Progress:
    """What is told after each step: how many of those asked have answered, and what of the others
    is known."""

    step: str
    asked: int
    answered: int
    failures: dict[str, str]
    seconds: float


Report = Callable[[Progress], None]


@dataclass(frozen=True)
class Learned:
    """The classifier, and to which class each label, hull after hull, was assigned."""

    model: Any
    labels: list[int]
    hulls: list[np.ndarray]
    groups: np.ndarray
    seconds: dict[str, float]

    @property
    def class_of_label(self) -> dict[int, int]:
        """{label: class}, what sites need in order to name the classes."""
        return dict(zip(self.labels, self.groups.tolist(), strict=True))


@dataclass
class Outcome:
    """What the coordinator has at the end."""

    study: Study
    aggregate: Aggregate
    learned: Learned
    correct: int | None
    tested: int | None
    evaluators: list[str]
    failures: dict[str, str]
    bytes_up: dict[str, int]
    bytes_down: dict[str, int]
    seconds: dict[str, float] = field(default_factory=dict)

    @property
    def model(self) -> Any:
        """The classifier; its classes are numbers, which every site names in its own words."""
        return self.learned.model

    def to_json(self) -> dict[str, Any]:
        """Plain numbers and words."""
        study, tested = self.study, self.tested
        accuracy = None if not tested or self.correct is None else 100.0 * self.correct / tested
        return {
            "study": study.name,
            "study_hash": study.hash.hex(),
            "clients": sorted(study.clients),
            "survivors": self.aggregate.survivors,
            "failures": self.failures,
            "accuracy": accuracy,
            "correct": self.correct,
            "tested": tested,
            "evaluators": self.evaluators,
            "hulls": len(self.aggregate.hulls),
            "points_received": sum(map(len, self.aggregate.hulls.values())),
            "classes": study.n_classes,
            "bytes_up": self.bytes_up,
            "bytes_down": self.bytes_down,
            "bins": study.quantizer.n_bins,
            "field_bits": study.coding.field.bits,
            "label_code": study.coding.name,
            "seconds": self.seconds,
        }


def run_study(
    server: ServerSession,
    engine: Engine,
    timeout: float = 600.0,
    report: Report = lambda progress: None,
) -> Outcome:
    """A whole study over an engine. A site that does not answer a step in `timeout` seconds takes
    no further part; too few of them end the study with BelowThreshold."""
    study = server.study
    if not isinstance(study, Study):
        raise InvalidInput("this study has no hulls to learn from")
    counted = Counted(engine, report)
    total = aggregate(server, counted, timeout)
    learned = learn(study, total)
    published = json.dumps(model_to_json(learned.model, learned.class_of_label)).encode()
    replies, _ = counted.step(PUBLISH, server.publish(published), timeout)
    counts = server.tally(replies)
    return Outcome(
        study=study,
        aggregate=total,
        learned=learned,
        correct=counts[0] if counts else None,
        tested=counts[1] if counts else None,
        evaluators=server.evaluators,
        failures=counted.failures
        | {name: type(problem).__name__ for name, problem in server.refused.items()},
        bytes_up=counted.bytes_up,
        bytes_down=counted.bytes_down,
        seconds=counted.seconds | learned.seconds,
    )


def aggregate(server: ServerSession, engine: Engine, timeout: float = 600.0) -> Aggregate:
    """Run a session to the sum over the sites, which is all that the server learns."""
    outgoing = server.start()
    while outgoing:
        replies, _ = engine.step(server.step.value, outgoing, timeout)
        outgoing = server.advance(replies)
    if not isinstance(server.aggregate, Aggregate):
        raise OutOfTurn("the session ended without a sum of hulls")
    return server.aggregate


def learn(study: Study, total: Aggregate) -> Learned:
    """Assign the decoded hulls to classes and train the study's classifier on their corners.

    The hulls are taken in an order that does not depend on the labels, which are drawn from the
    system's randomness: the same hulls always give the same model.
    """
    labels = sorted(total.hulls, key=lambda label: (total.hulls[label], label))
    hulls = [study.quantizer.decode(np.array(total.hulls[label])) for label in labels]
    places = [label // study.labels.classes for label in labels]
    owners = [list(dict.fromkeys(places)).index(place) for place in places]
    begin = perf_counter()
    groups = group_hulls(
        hulls, owners, study.n_classes, study.learning.grouping, study.geometry.curvature
    )
    grouped = perf_counter()
    model = make_classifier(
        study.learning.method, study.geometry.curvature, study.learning.strength
    )
    model.fit(np.concatenate(hulls), np.repeat(groups, [len(h) for h in hulls]))
    seconds = {"grouping": grouped - begin, "learning": perf_counter() - grouped}
    return Learned(model, labels, hulls, groups, seconds)


class Counted:
    """An engine that counts what passes through it; seconds are summed over steps of one name."""

    def __init__(self, engine: Engine, report: Report):
        self._engine = engine
        self._report = report
        self.bytes_up: dict[str, int] = {}
        self.bytes_down: dict[str, int] = {}
        self.failures: dict[str, str] = {}
        self.seconds: dict[str, float] = {}

    def step(
        self, kind: str, messages: Mapping[str, bytes], timeout: float
    ) -> tuple[dict[str, bytes], dict[str, str]]:
        """Pass on, count, report."""
        begin = perf_counter()
        replies, failures = self._engine.step(kind, messages, timeout)
        seconds = perf_counter() - begin
        self.seconds[kind] = self.seconds.get(kind, 0.0) + seconds
        for count, moved in ((self.bytes_down, messages), (self.bytes_up, replies)):
            for name, message in moved.items():
                count[name] = count.get(name, 0) + len(message)
        self.failures |= failures
        self._report(Progress(kind, len(messages), len(replies), failures, seconds))
        return replies, failures
