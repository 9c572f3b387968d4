"""Labels of different places that are of one class, as the coordinator sees it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import msgspec
import numpy as np

from fedhull.errors import InvalidInput
from fedhull.learn.grouping import DOUBTFUL_BELOW, Matched, Slots, match_hulls
from fedhull.learn.moved_slots import match_moved_slots
from fedhull.rounds.pseudonym import Entry
from fedhull.rounds.slots import DecodedSlots, SlotSums
from fedhull.study.study import Study


class MatchedClass(msgspec.Struct, frozen=True):
    """A class over all sites: how many of them have it, their cells together, how certain the least
    certain of the matches is, in percent, and how many of them are doubtful. A class of one site
    has nothing that it was matched with."""

    number: int
    sites: int
    cells: int
    least: int | None
    doubtful: int


@dataclass(frozen=True, repr=False)
class Match:
    """The class of each label, 0, 1, …, and how certain that is; groups, counts : (n,).

    `certainty` (n,) is None if nobody had to find out, because names are agreed, or if the study's
    grouping does not say.
    """

    labels: list[int]
    groups: np.ndarray
    counts: np.ndarray
    certainty: np.ndarray | None = None

    def __repr__(self) -> str:
        return f"Match({len(self.labels)} labels, {len(self.numbers)} classes)"

    @property
    def numbers(self) -> list[int]:
        """The classes that labels were found for, ascending."""
        return np.unique(self.groups).tolist()

    @property
    def percent(self) -> list[int | None]:
        """Certainty of each match, rounded down to whole percents."""
        if self.certainty is None:
            return [None] * len(self.labels)
        return np.floor(100.0 * self.certainty).astype(int).tolist()

    @property
    def class_of_label(self) -> dict[int, int]:
        """{label: class}."""
        return dict(zip(self.labels, self.groups.tolist(), strict=True))

    @property
    def entries(self) -> dict[int, Entry]:
        """{label: what became of it}, which is what its owner is told."""
        sites = np.bincount(self.groups)
        return {
            label: Entry(group, percent, int(sites[group]))
            for label, group, percent in zip(
                self.labels, self.groups.tolist(), self.percent, strict=True
            )
        }

    def classes(self) -> list[MatchedClass]:
        """Class by class, what a coordinator should look at."""
        rows, percent = [], self.percent
        for number in self.numbers:
            members = np.flatnonzero(self.groups == number)
            sure = [p for i in members if (p := percent[i]) is not None]
            rows.append(
                MatchedClass(
                    number=number,
                    sites=len(members),
                    cells=int(self.counts[members].sum()),
                    least=min(sure, default=None),
                    doubtful=sum(map(is_doubtful, sure)),
                )
            )
        return rows


def is_doubtful(percent: int | None) -> bool:
    """True if a person should look at a match of this certainty."""
    return percent is not None and percent < 100.0 * DOUBTFUL_BELOW


def match(
    study: Study,
    slots: SlotSums,
    rows: Mapping[int, Sequence[int]],
    labels: Sequence[int],
    hulls: Sequence[np.ndarray] | None = None,
) -> Match:
    """Sort labels into classes, by what sites say of their cells and, if the study's grouping goes
    by them, by their hulls. Where names are agreed, the labels say it themselves."""
    if not labels:
        raise InvalidInput(slots.nothing)
    said = [rows[label] for label in labels] if rows else []
    decoded = slots.interpret(said) if said else None
    matched = _matched(study, labels, decoded, hulls)
    if len(np.unique(matched.groups)) < 2:
        raise InvalidInput(
            "the classes of all sites are one and the same, and a classifier needs two; classes "
            "with too few cells were withheld"
        )
    counts = np.array([row[0] for row in said] or [0] * len(labels), dtype=np.int64)
    return Match(list(labels), matched.groups, counts, matched.certainty)


def owners_of(study: Study, labels: Sequence[int]) -> list[int]:
    """The places of labels, numbered from 0 in order of appearance."""
    numbers: dict[int, int] = {}
    return [numbers.setdefault(study.place_of(label), len(numbers)) for label in labels]


def _matched(
    study: Study,
    labels: Sequence[int],
    slots: DecodedSlots | None,
    hulls: Sequence[np.ndarray] | None,
) -> Matched:
    positions = [study.labels_of(study.place_of(label)).index(label) for label in labels]
    if (numbers := study.classes.numbers_of_labels(positions)) is not None:
        return Matched(np.array(numbers))
    if slots is not None and slots.places is not None:
        return match_moved_slots(
            slots.places,
            slots.counts,
            owners_of(study, labels),
            study.n_classes,
            study.geometry.curvature,
            slots.means,
        )
    return match_hulls(
        hulls,
        owners_of(study, labels),
        study.n_classes,
        study.learning.grouping,
        study.geometry.curvature,
        slots=None if slots is None else Slots(slots.counts, slots.means),
    )
