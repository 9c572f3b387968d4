"""One federation of a trial: what sites hold is dealt out, rehearsed, named, and scored."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
import numpy as np

from fedhull.errors import TooManyBins
from fedhull.learn.grouping import share_matched
from fedhull.report.sections import TradeoffRow
from fedhull.rounds.hulls import HullSums, HullTotal
from fedhull.rounds.reading import labels_of
from fedhull.study.draft import default_of, site_name
from fedhull.study.kinds import task_of
from fedhull.study.rehearsal import Rehearsal, rehearse
from fedhull.study.study import Study

# How much narrower or wider than the study's own.
_FACTORS = (0.1, 3.0, 10.0, 30.0)


@dataclass(frozen=True, repr=False)
class Dealt:
    """Training points (n, 2), labels (n,) and sites (n,), each site's order of classes, {step: who
    vanishes}, and donors (n,), if they matter."""

    x: np.ndarray
    y: np.ndarray
    owner: np.ndarray
    orders: Sequence[np.ndarray]
    vanish: dict[str, list[str]]
    donors: np.ndarray | None = None

    def holdings(self, study: Study) -> dict[str, Any]:
        """Each site's holdings."""
        task: Any = task_of(study)
        held = {}
        for i, classes in enumerate(self.orders):
            mine = self.owner == i
            donors = None if self.donors is None else self.donors[mine]
            held[site_name(i)] = task.hold(self.x[mine], self.y[mine], classes, donors)
        return held


@dataclass(frozen=True, repr=False)
class Federation:
    """A finished federation: the session, the names of the server's classes, which only a
    simulation knows, the model that speaks them, and the share of labels in the right class."""

    session: Rehearsal
    names: dict[int, Any]
    model: Any
    grouping_correct: float

    @property
    def outcome(self) -> Any:
        """The coordinator's outcome."""
        return self.session.outcome

    @property
    def in_sum(self) -> list[Any]:
        """Holdings of the sites that are in the sum."""
        sites = self.session.sites
        return [sites[name].outcome.sent for name in self.outcome.survivors]


def federate(study: Study, dealt: Dealt, holdings: dict[str, Any]) -> Federation:
    """Run a study over what the sites hold, every message included."""
    session = rehearse(study, holdings, vanish=dealt.vanish)
    outcome = session.outcome
    if outcome.match is None:
        names: dict[int, Any] = dict(enumerate(study.classes.names))
        correct = 1.0
    else:
        groups, truth = _true_classes(session)
        names = names_of_groups(groups, truth, dealt.y)
        correct = share_matched(groups, truth)
    # before its classes have names: centres go by number
    outcome.model.aligned_to_ = outcome.model_centres
    return Federation(session, names, named(outcome.model, names), correct)


def named(model: Any, names: dict[int, Any]) -> Any:
    """The model, with these names for its classes."""
    model.classes_ = np.array([names[number] for number in model.classes_.tolist()])
    return model


def names_of_groups(groups: np.ndarray, truth: Sequence[Any], y: np.ndarray) -> dict[int, Any]:
    """{group: the class of most of its members}, each class once; the rest get new names."""
    # slow to import, and not needed where a simulation is only set up
    from scipy.optimize import linear_sum_assignment

    classes, of_class = np.unique(truth, return_inverse=True)
    table = np.zeros((groups.max() + 1, len(classes)))
    np.add.at(table, (groups, of_class), 1)
    rows, columns = linear_sum_assignment(-table)
    of_group = {r: c for r, c in zip(rows.tolist(), columns.tolist(), strict=True) if table[r, c]}
    known = classes.tolist()
    if y.dtype.kind in "iuf":
        others = (y.max().item() + n for n in range(1, len(table) + 1))
    else:
        known_names = set(y.tolist())
        numbers = range(1, len(table) + len(known_names) + 1)
        others = (f"class {n}" for n in numbers if f"class {n}" not in known_names)
    return {r: known[of_group[r]] if r in of_group else next(others) for r in range(len(table))}


def for_summary(study: Study, summary: str) -> Study:
    """The study with another summary, and a grouping that all summaries can do with."""
    learning = msgspec.structs.replace(
        study.learning, summary=summary, grouping=default_of("grouping")
    )
    return msgspec.structs.replace(study, learning=learning)


def _true_classes(session: Rehearsal) -> tuple[np.ndarray, list[Any]]:
    """The groups of labels in the sum, and the class behind each, which only a simulation knows.
    Behind what noise made look like a class there is none."""
    of_label = {
        label: name
        for site in session.sites.values()
        for label, name in zip(labels_of(site), site.holdings.classes, strict=False)
    }
    match = session.outcome.match
    assert match is not None
    real = [i for i, label in enumerate(match.labels) if label in of_label]
    return match.groups[real], [of_label[match.labels[i]] for i in real]


def sweep(federation: Federation, dealt: Dealt, score: Callable[[Any], float]) -> list[TradeoffRow]:
    """For each width of bins, what the survivors would send and how well the server would learn
    from it. The protocol is left out: the server decodes exactly what the sites send."""
    rows, study = [], federation.session.study
    for factor in _FACTORS:
        epsilon = float(f"{study.geometry.epsilon * factor:.6g}")
        geometry = msgspec.structs.replace(study.geometry, epsilon=epsilon)
        try:
            at_epsilon = msgspec.structs.replace(study, geometry=geometry)
        except TooManyBins:
            continue
        holdings = dealt.holdings(at_epsilon)
        taking_part = [holdings[name] for name in federation.outcome.survivors]
        total, classes = HullTotal({}), dict[int, Any]()
        for place, held in enumerate(taking_part):
            sent = zip(held.classes, held.prepared.hulls, held.prepared.rows, strict=True)
            for j, (name, bins, row) in enumerate(sent):
                label = study.labels_of(place)[j]
                total.hulls[label], total.rows[label], classes[label] = sorted(bins), row, name
        learned = HullSums(at_epsilon).learn_from(total)
        assert learned.match is not None
        truth = [classes[label] for label in learned.match.labels]
        rows.append(
            TradeoffRow(
                epsilon=epsilon,
                accuracy=score(
                    named(learned.model, names_of_groups(learned.match.groups, truth, dealt.y))
                ),
                points_sent=sum(held.points_sent for held in taking_part),
                points_total=sum(held.points_held for held in taking_part),
            )
        )
    return rows
