"""One trial of a simulated study: split, deal out, guard, hull, protocol, group, learn, score."""

import json
from collections import Counter
from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any

import numpy as np
from sklearn.model_selection import train_test_split

from fedhull.disc.epsilon_hull import epsilon_hull
from fedhull.disc.hull import minimal_hull
from fedhull.engines.rehearsal import Rehearsal, rehearse
from fedhull.errors import InvalidInput
from fedhull.learn.grouping import group_hulls, share_matched
from fedhull.learn.guard import Guard
from fedhull.learn.model import model_to_json
from fedhull.protocol.study import Geometry
from fedhull.simulation.settings import Settings

Report = Callable[[str], None]


@dataclass
class Site:
    """A client's side: its classes in its own order, the bins of their hulls, what it held."""

    name: str
    classes: list[Any]
    hulls: list[list[int]]
    points_held: int
    points_guarded: int


@dataclass
class Trial:
    """What came of one trial."""

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
    session: Rehearsal
    sites: list[Site]
    seconds: dict[str, float] = field(default_factory=dict)


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
        sites = _make_sites(x[train], y[train], owner, settings, geometry, rng)
    with stage("protocol"):
        n_dropped, step = settings.dropped
        gone = rng.choice([s.name for s in sites], n_dropped, replace=False).tolist()
        session = rehearse(
            {site.name: site.hulls for site in sites},
            geometry,
            settings.label_code,
            {step: gone},
            name="simulation",
        )
    result = session.aggregate
    # in an order that does not depend on the labels, which are drawn from the system's randomness
    order = sorted(result.hulls, key=lambda label: (result.hulls[label], label))
    hulls = [geometry.quantizer.decode(np.array(result.hulls[label])) for label in order]
    truth = _true_classes(session, sites, order)
    with stage("grouping"):
        groups = group_hulls(
            hulls,
            [label // session.study.labels.classes for label in order],
            len(np.unique(y[train])),
            settings.grouping,  # type: ignore[arg-type]
            settings.curvature,
        )
    points = np.concatenate(hulls)
    group_of_point = np.repeat(groups, [len(h) for h in hulls])
    names = _names_of_groups(groups, truth)
    accuracy = {}
    with stage("learning"):
        model = _fit(settings, points, group_of_point)
        class_of_label = dict(zip(order, groups.tolist(), strict=True))
        session.publish(json.dumps(model_to_json(model, class_of_label)).encode())
        # from here on the model speaks the words that most clients use
        model.classes_ = names[model.classes_]
        accuracy["FL"] = _score(model, x[test], y[test])
    if settings.baselines:
        with stage("baselines"):
            labels = names[group_of_point]
            accuracy |= _baselines(x, y, train, test, points, labels, settings)
    return Trial(
        accuracy,
        points_sent=sum(len(h) for h in hulls),
        points_total=sum(s.points_held for s in sites if s.name in result.survivors),
        points_guarded=sum(s.points_guarded for s in sites if s.name in result.survivors),
        max_hull=max(map(len, hulls)),
        bytes_up=session.bytes_up,
        grouping_correct=share_matched(groups, truth),
        decoded_exactly=session.decoded_exactly({s.name: s.hulls for s in sites}),
        survivors=result.survivors,
        model=model,
        session=session,
        sites=sites,
        seconds=seconds,
    )


def _make_sites(
    x: np.ndarray,
    y: np.ndarray,
    owner: np.ndarray,
    settings: Settings,
    geometry: Geometry,
    rng: np.random.Generator,
) -> list[Site]:
    guard = Guard.parse(settings.guard)
    sites = []
    for i in range(settings.clients):
        mine = owner == i
        if not mine.any():
            raise InvalidInput(
                f"client {i + 1} of {settings.clients} has no points; use fewer clients or a more "
                f"even partition"
            )
        held, classes_held = x[mine], y[mine]
        kept = guard.keep(held, classes_held, settings.curvature)
        classes = np.unique(classes_held)
        if settings.switch_labels:
            # every client numbers its classes in an order of its own
            classes = rng.permutation(classes)
        hulls = [
            epsilon_hull(held[kept & (classes_held == c)], geometry.quantizer).tolist()
            for c in classes
        ]
        sites.append(
            Site(f"site-{i + 1:04d}", classes.tolist(), hulls, len(held), int((~kept).sum()))
        )
    return sites


def _true_classes(session: Rehearsal, sites: list[Site], order: list[int]) -> list[Any]:
    """The class behind each of the server's hulls, which only a simulation knows."""
    of_label = {
        label: site.classes[i]
        for site in sites
        if site.name in session.aggregate.survivors
        for i, label in enumerate(session.clients[site.name].label_of_class)
    }
    return [of_label[label] for label in order]


def _names_of_groups(groups: np.ndarray, truth: list[Any]) -> np.ndarray:
    """The name of each group: what most of the clients in it call the class."""
    members = [Counter[Any]() for _ in range(groups.max() + 1)]
    for group, name in zip(groups.tolist(), truth, strict=True):
        members[group][name] += 1
    return np.array([counts.most_common(1)[0][0] for counts in members])


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


def _fit(settings: Settings, x: np.ndarray, y: np.ndarray, method: str | None = None) -> Any:
    return settings.classifier(method).fit(x, y)


def _score(model: Any, x: np.ndarray, y: np.ndarray) -> float:
    return float(np.mean(model.predict(x) == y) * 100.0)
