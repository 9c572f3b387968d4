"""One trial of a simulated study: split, deal out, rehearse, score."""

from collections import Counter
from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any

import numpy as np
from sklearn.model_selection import train_test_split

from fedhull.disc.hull import minimal_hull
from fedhull.engines.rehearsal import Rehearsal, rehearse
from fedhull.errors import InvalidInput
from fedhull.federation.holdings import Holdings, make_hulls
from fedhull.learn.classifiers import make_classifier
from fedhull.learn.grouping import share_matched
from fedhull.protocol.study import Geometry, Learning
from fedhull.report.content import Testing, Tradeoff
from fedhull.report.testing import count_tests
from fedhull.simulation.settings import Settings
from fedhull.simulation.tradeoff import sweep

Report = Callable[[str], None]


@dataclass
class Trial:
    """What came of one trial; `test` are the rows that were kept for testing."""

    accuracy: dict[str, float]
    points_sent: int
    points_total: int
    points_guarded: int
    max_hull: int
    bytes_up: dict[str, int]
    grouping_correct: float
    decoded_exactly: bool
    survivors: list[str]
    model: Any
    test: np.ndarray
    session: Rehearsal
    testing: Testing
    tradeoff: list[Tradeoff] = field(default_factory=list)
    seconds: dict[str, float] = field(default_factory=dict)

    def leakage_at(self, epsilon: float) -> Tradeoff:
        """What left and what it was good for, with the study's own bins."""
        return Tradeoff(
            epsilon=epsilon,
            accuracy=self.accuracy["FL"],
            points_sent=self.points_sent,
            points_total=self.points_total,
        )


def run_trial(
    x: np.ndarray,
    y: np.ndarray,
    owner_of: Callable[[np.ndarray, int], np.ndarray],
    settings: Settings,
    geometry: Geometry,
    number: int,
    report: Report = lambda stage: None,
) -> Trial:
    """Trial `number`. `owner_of` deals training rows out to clients, given their indices and a
    seed."""
    seconds: dict[str, float] = {}

    @contextmanager
    def stage(name: str):  # type: ignore[no-untyped-def]
        report(name)
        begin = perf_counter()
        yield
        seconds[name] = perf_counter() - begin

    split_seed = settings.seed + number if settings.split_seed is None else settings.split_seed
    train, test = train_test_split(
        np.arange(len(y)), test_size=settings.test_size, random_state=split_seed
    )
    rng = np.random.default_rng([settings.seed, number])
    with stage("hulls"):
        owner = owner_of(train, settings.seed + number)
        orders = _class_orders(y[train], owner, settings, rng)
        holdings = _deal_out(x[train], y[train], owner, orders, settings, geometry)
    with stage("protocol"):
        n_dropped, step = settings.dropped
        gone = rng.choice(list(holdings), n_dropped, replace=False).tolist()
        session = rehearse(
            holdings,
            geometry,
            Learning(
                classes=len(np.unique(y[train])),
                method=settings.method,  # type: ignore[arg-type]
                grouping=settings.grouping,  # type: ignore[arg-type]
                strength=settings.strength,
            ),
            settings.label_code,
            {step: gone},
            name="simulation",
        )
    learned = session.outcome.learned
    seconds["protocol"] -= sum(learned.seconds.values())
    seconds |= learned.seconds
    report("scoring")
    truth = _true_classes(session)
    # from here on the model speaks the words that most sites use
    names = _names_of_groups(learned.groups, truth)
    model = _named(learned.model, learned.groups, truth)
    accuracy = {"FL": _score(model, x[test], y[test])}
    if settings.baselines:
        with stage("baselines"):
            points = np.concatenate(learned.hulls)
            labels = names[np.repeat(learned.groups, [len(h) for h in learned.hulls])]
            accuracy |= _baselines(x, y, train, test, points, labels, settings)
    survivors = session.outcome.aggregate.survivors
    trial = Trial(
        accuracy,
        points_sent=sum(map(len, learned.hulls)),
        points_total=sum(holdings[name].points_held for name in survivors),
        points_guarded=sum(holdings[name].points_guarded for name in survivors),
        max_hull=max(map(len, learned.hulls)),
        bytes_up=session.outcome.bytes_up,
        grouping_correct=share_matched(learned.groups, truth),
        decoded_exactly=session.decoded_exactly,
        survivors=survivors,
        model=model,
        test=test,
        session=session,
        testing=count_tests(model, x[test], y[test], np.unique(y)),
        seconds=seconds,
    )
    if settings.tradeoff and number == 0:
        with stage("trade-off"):
            others = sweep(
                session.study,
                survivors,
                lambda other: _deal_out(x[train], y[train], owner, orders, settings, other),
                lambda found, classes: _score(
                    _named(found.model, found.groups, classes), x[test], y[test]
                ),
            )
            trial.tradeoff = sorted(
                [trial.leakage_at(geometry.epsilon), *others], key=lambda row: row.epsilon
            )
    return trial


def _class_orders(
    y: np.ndarray, owner: np.ndarray, settings: Settings, rng: np.random.Generator
) -> list[np.ndarray]:
    """In which order each site numbers its classes."""
    orders = []
    for i in range(settings.clients):
        mine = owner == i
        if not mine.any():
            raise InvalidInput(
                f"client {i + 1} of {settings.clients} has no points; use fewer clients or a more "
                f"even partition"
            )
        classes = np.unique(y[mine])
        if i < round(settings.switch_labels * settings.clients):
            # such a site numbers its classes in an order of its own
            classes = rng.permutation(classes)
        orders.append(classes)
    return orders


def _deal_out(
    x: np.ndarray,
    y: np.ndarray,
    owner: np.ndarray,
    orders: list[np.ndarray],
    settings: Settings,
    geometry: Geometry,
) -> dict[str, Holdings]:
    """What each site holds."""
    return {
        f"site-{i + 1:04d}": make_hulls(
            x[owner == i], y[owner == i], geometry, settings.guard, classes
        )
        for i, classes in enumerate(orders)
    }


def _true_classes(session: Rehearsal) -> list[Any]:
    """The class behind each of the server's hulls, which only a simulation knows."""
    of_label = {
        label: name
        for site in session.sites.values()
        for label, name in zip(site.session.label_of_class, site.holdings.classes, strict=False)
    }
    return [of_label[label] for label in session.outcome.learned.labels]


def _names_of_groups(groups: np.ndarray, truth: list[Any]) -> np.ndarray:
    """The name of each group: what most of the clients in it call the class."""
    members = [Counter[Any]() for _ in range(groups.max() + 1)]
    for group, name in zip(groups.tolist(), truth, strict=True):
        members[group][name] += 1
    return np.array([counts.most_common(1)[0][0] for counts in members])


def _named(model: Any, groups: np.ndarray, classes: list[Any]) -> Any:
    """The model, with the names of its groups for classes."""
    model.classes_ = _names_of_groups(groups, classes)[model.classes_]
    return model


def _baselines(
    x: np.ndarray,
    y: np.ndarray,
    train: np.ndarray,
    test: np.ndarray,
    points: np.ndarray,
    labels: np.ndarray,
    settings: Settings,
) -> dict[str, float]:
    """The same method on pooled data, and the paper's (Sec. 6.1, App. I)."""
    whole = x[train], y[train]
    corners = np.concatenate(
        [
            members[minimal_hull(x[train[members]], settings.curvature)]
            for members in (np.flatnonzero(y[train] == c) for c in np.unique(y[train]))
        ]
    )
    hulls = x[train[corners]], y[train[corners]]
    runs = {
        "C": (settings.method, *whole),
        "CP": ("poincare-svm", *whole),
        "CE": ("euclidean-svm", *whole),
        "FLP": ("poincare-svm", points, labels),
        "FLE": ("euclidean-svm", points, labels),
        "CH-CP": ("poincare-svm", *hulls),
        "CH-CE": ("euclidean-svm", *hulls),
    }
    scores = {
        name: _score(_fit(settings, xs, ys, method), x[test], y[test])
        for name, (method, xs, ys) in runs.items()
    }
    most_common = Counter(y[train].tolist()).most_common(1)[0][0]
    return scores | {"majority": float(np.mean(y[test] == most_common) * 100.0)}


def _fit(settings: Settings, x: np.ndarray, y: np.ndarray, method: str) -> Any:
    return make_classifier(method, settings.curvature, settings.strength).fit(x, y)


def _score(model: Any, x: np.ndarray, y: np.ndarray) -> float:
    return float(np.mean(model.predict(x) == y) * 100.0)
