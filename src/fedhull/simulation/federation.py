"""One federation of a trial: what sites hold is dealt out, rehearsed, named, and scored."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
import numpy as np

from fedhull.learn.grouping import share_matched
from fedhull.study.draft import default_of, site_name
from fedhull.study.kinds import task_of
from fedhull.study.rehearsal import Rehearsal, rehearse
from fedhull.study.study import Study


@dataclass(frozen=True, repr=False)
class Dealt:
    """Training points (n, 2) with labels (n,), which site has them (n,), in which order each site
    numbers its classes, who vanishes at which step, and which donors the points are of (n,), if
    that matters."""

    x: np.ndarray
    y: np.ndarray
    owner: np.ndarray
    orders: Sequence[np.ndarray]
    vanish: dict[str, list[str]]
    donors: np.ndarray | None = None

    def holdings(self, study: Study) -> dict[str, Any]:
        """What each site takes into a study."""
        task: Any = task_of(study)
        held = {}
        for i, classes in enumerate(self.orders):
            mine = self.owner == i
            donors = None if self.donors is None else self.donors[mine]
            held[site_name(i)] = task.hold(self.x[mine], self.y[mine], classes, donors)
        return held


@dataclass(frozen=True, repr=False)
class Federation:
    """What came of it: the session, the names of the server's classes, which only a simulation
    knows, the model that speaks them, and the share of labels in the right class."""

    session: Rehearsal
    names: dict[int, Any]
    model: Any
    grouping_correct: float

    @property
    def outcome(self) -> Any:
        """What the coordinator has."""
        return self.session.outcome

    @property
    def in_sum(self) -> list[Any]:
        """What the sites that are in the sum took into it."""
        sites = self.session.sites
        return [sites[name].sent for name in self.outcome.survivors]


def federate(study: Study, dealt: Dealt, holdings: dict[str, Any]) -> Federation:
    """Run a study over what the sites hold, every message included."""
    session = rehearse(study, holdings, vanish=dealt.vanish)
    outcome = session.outcome
    if outcome.match is None:
        names: dict[int, Any] = dict(enumerate(study.agreed))
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
    """{group: the class that most of its members are of}, each class for one group at most; what is
    left over has a name that no class in y has."""
    # slow to import, and not needed where a simulation is only set up
    from scipy.optimize import linear_sum_assignment

    classes, of_class = np.unique(truth, return_inverse=True)
    table = np.zeros((groups.max() + 1, len(classes)))
    np.add.at(table, (groups, of_class), 1)
    rows, columns = linear_sum_assignment(-table)
    found = {r: c for r, c in zip(rows.tolist(), columns.tolist(), strict=True) if table[r, c]}
    known = classes.tolist()
    if y.dtype.kind in "iuf":
        others = (y.max().item() + n for n in range(1, len(table) + 1))
    else:
        taken = set(y.tolist())
        numbers = range(1, len(table) + len(taken) + 1)
        others = (f"class {n}" for n in numbers if f"class {n}" not in taken)
    return {r: known[found[r]] if r in found else next(others) for r in range(len(table))}


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
        for label, name in zip(site.label_of_class, site.holdings.classes, strict=False)
    }
    match = session.outcome.match
    real = [i for i, label in enumerate(match.labels) if label in of_label]
    return match.groups[real], [of_label[match.labels[i]] for i in real]
