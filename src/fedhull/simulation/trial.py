"""One trial of a simulated study: split, deal out, rehearse, score."""

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any

import msgspec
import numpy as np

from fedhull.disc.hull import minimal_hull
from fedhull.errors import InvalidInput
from fedhull.learn.classifiers import make_classifier
from fedhull.learn.grouping import share_matched
from fedhull.report.content import Testing, Tradeoff
from fedhull.report.testing import count_tests
from fedhull.simulation.experiment import Experiment
from fedhull.simulation.tradeoff import sweep
from fedhull.study.draft import site_name
from fedhull.study.hulls.holdings import HullHoldings, make_hulls
from fedhull.study.rehearsal import Rehearsal, rehearse
from fedhull.study.study import Study


@dataclass(repr=False)
class Trial:
    """What came of one trial; `test` are the rows that were kept for testing."""

    accuracy: dict[str, float]
    points_sent: int
    points_total: int
    points_guarded: int
    smallest_group: int
    cells_exposed: int
    classes_withheld: int
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

    def __repr__(self) -> str:
        return f"Trial(accuracy {self.accuracy['FL']:.1f} %, {len(self.survivors)} sites)"

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
    study: Study,
    experiment: Experiment,
    number: int,
    report: Callable[[int, str], None],
) -> Trial:
    """Trial `number` of a study. `owner_of` deals training rows out to sites, given their indices
    and a seed; `report` hears of each stage."""
    seconds: dict[str, float] = {}

    @contextmanager
    def stage(name: str) -> Iterator[None]:
        report(number, name)
        begin = perf_counter()
        yield
        seconds[name] = perf_counter() - begin

    # scikit-learn takes longer to import than all the rest
    from sklearn.model_selection import train_test_split

    train, test = train_test_split(
        np.arange(len(y)),
        test_size=experiment.test_size,
        random_state=experiment.split_seed_of(number),
    )
    rng = np.random.default_rng([experiment.seed, number])
    with stage("hulls"):
        owner = owner_of(train, experiment.seed + number)
        orders = _class_orders(y[train], owner, len(study.clients), experiment.switch_labels, rng)
        study = _for_classes(study, max(map(len, orders)), len(np.unique(y[train])))
        holdings = _deal_out(x[train], y[train], owner, orders, study)
    with stage("protocol"):
        n_dropped, step = experiment.dropped
        gone = rng.choice(list(holdings), n_dropped, replace=False).tolist()
        session = rehearse(study, holdings, vanish={step: gone})
    learned = session.outcome.learned
    seconds["protocol"] -= sum(learned.seconds.values())
    seconds |= learned.seconds
    report(number, "scoring")
    truth = _true_classes(session)
    # from here on the model speaks the words that most sites use
    names = _names_of_groups(learned.groups, truth)
    model = _named(learned.model, learned.groups, truth)
    accuracy = {"FL": _score(model, x[test], y[test])}
    if wanted := experiment.scored:
        with stage("baselines"):
            points, groups = learned.corners
            accuracy |= _baselines(x, y, train, test, points, names[groups], study, wanted)
            if "alone" in wanted:
                accuracy["alone"] = _alone(x, y, train, test, owner, study)
    survivors = session.outcome.total.survivors
    in_sum = [holdings[name] for name in survivors]
    trial = Trial(
        accuracy,
        points_sent=sum(map(len, learned.hulls)),
        points_total=sum(held.points_held for held in in_sum),
        points_guarded=sum(held.points_guarded for held in in_sum),
        smallest_group=min(group for held in in_sum if (group := held.smallest_group)),
        cells_exposed=sum(held.cells_exposed for held in in_sum),
        classes_withheld=sum(len(held.withheld) for held in in_sum),
        max_hull=max(map(len, learned.hulls)),
        bytes_up=session.outcome.record.bytes_up,
        grouping_correct=share_matched(learned.groups, truth),
        decoded_exactly=decoded_exactly(session),
        survivors=survivors,
        model=model,
        test=test,
        session=session,
        testing=count_tests(model, x[test], y[test], np.unique(y)),
        seconds=seconds,
    )
    if experiment.tradeoff and number == 0:
        with stage("trade-off"):
            others = sweep(
                session.study,
                survivors,
                lambda other: _deal_out(x[train], y[train], owner, orders, other),
                lambda found, classes: _score(
                    _named(found.model, found.groups, classes), x[test], y[test]
                ),
            )
            trial.tradeoff = sorted(
                [trial.leakage_at(study.geometry.epsilon), *others], key=lambda row: row.epsilon
            )
    return trial


def decoded_exactly(session: Rehearsal) -> bool:
    """Whether the server's hulls are the survivors' hulls, each under the label it was sent."""
    sent = {
        label: sorted(bins)
        for site in map(session.sites.__getitem__, session.outcome.total.survivors)
        for label, bins in zip(site.label_of_class, site.holdings.hulls, strict=True)
    }
    return bool(session.outcome.total.hulls == sent)


def _class_orders(
    y: np.ndarray, owner: np.ndarray, sites: int, switch: float, rng: np.random.Generator
) -> list[np.ndarray]:
    """In which order each site numbers its classes; the share `switch` of them in one of its
    own."""
    orders = []
    for i in range(sites):
        mine = owner == i
        if not mine.any():
            raise InvalidInput(
                f"site {i + 1} of {sites} has no points; use fewer sites or a more even partition"
            )
        classes = np.unique(y[mine])
        orders.append(rng.permutation(classes) if i < round(switch * sites) else classes)
    return orders


def _for_classes(study: Study, at_a_site: int, over_all: int) -> Study:
    """The study for as many classes as the training points have, unless their names are agreed."""
    if study.agreed:
        return study
    return msgspec.structs.replace(
        study,
        labels=msgspec.structs.replace(study.labels, classes=at_a_site),
        learning=msgspec.structs.replace(study.learning, classes=over_all),
    )


def _deal_out(
    x: np.ndarray, y: np.ndarray, owner: np.ndarray, orders: list[np.ndarray], study: Study
) -> dict[str, HullHoldings]:
    """What each site holds."""
    return {
        site_name(i): make_hulls(study, x[owner == i], y[owner == i], classes)
        for i, classes in enumerate(orders)
    }


def _true_classes(session: Rehearsal) -> list[Any]:
    """The class behind each of the server's hulls, which only a simulation knows."""
    of_label = {
        label: name
        for site in session.sites.values()
        for label, name in zip(site.label_of_class, site.holdings.classes, strict=False)
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
    study: Study,
    wanted: tuple[str, ...],
) -> dict[str, float]:
    """The same method on pooled data, and the paper's (Sec. 6.1, App. I), where wanted."""
    whole = x[train], y[train]
    corners = np.concatenate(
        [
            members[minimal_hull(x[train[members]], study.geometry.curvature)]
            for members in (np.flatnonzero(y[train] == c) for c in np.unique(y[train]))
        ]
    )
    hulls = x[train[corners]], y[train[corners]]
    runs = {
        "C": (study.learning.method, *whole),
        "CP": ("poincare-svm", *whole),
        "CE": ("euclidean-svm", *whole),
        "FLP": ("poincare-svm", points, labels),
        "FLE": ("euclidean-svm", points, labels),
        "CH-CP": ("poincare-svm", *hulls),
        "CH-CE": ("euclidean-svm", *hulls),
    }
    scores = {
        name: _score(_fit(study, xs, ys, method), x[test], y[test])
        for name, (method, xs, ys) in runs.items()
        if name in wanted
    }
    if "majority" in wanted:
        most_common = Counter(y[train].tolist()).most_common(1)[0][0]
        scores["majority"] = float(np.mean(y[test] == most_common) * 100.0)
    return scores


def _alone(
    x: np.ndarray,
    y: np.ndarray,
    train: np.ndarray,
    test: np.ndarray,
    owner: np.ndarray,
    study: Study,
) -> float:
    """How well the sites would do on the common test points, each with its own points and the same
    method, on average: what a federation has to beat."""
    scores = []
    for i in range(len(study.clients)):
        mine = train[owner == i]
        if len(np.unique(y[mine])) == 1:
            scores.append(float(np.mean(y[test] == y[mine[0]]) * 100.0))
        else:
            own = _fit(study, x[mine], y[mine], study.learning.method)
            scores.append(_score(own, x[test], y[test]))
    return float(np.mean(scores))


def _fit(study: Study, x: np.ndarray, y: np.ndarray, method: Any) -> Any:
    return make_classifier(method, study.geometry.curvature, study.learning.strength).fit(x, y)


def _score(model: Any, x: np.ndarray, y: np.ndarray) -> float:
    return float(np.mean(model.predict(x) == y) * 100.0)
