"""Which labels of different places are of one class, as the coordinator sees it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import msgspec
import numpy as np

from fedhull.errors import InvalidInput
from fedhull.learn.grouping import DOUBTFUL_BELOW, Matched, Slots, match_hulls
from fedhull.learn.moved_slots import match_moved_slots
from fedhull.study.classes.pseudonym import Entry
from fedhull.study.classes.told import Understood, understand, understand_in_noise
from fedhull.study.noise import CLEAR, noise_of
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
        """How certain each match is, rounded down to whole percents."""
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
    """Whether a person should look at a match that is so certain."""
    return percent is not None and percent < 100.0 * DOUBTFUL_BELOW


def match(
    study: Study,
    labels: Sequence[int],
    sketches: Mapping[int, Sequence[int]],
    hulls: Sequence[np.ndarray] | None = None,
    placed: bool = False,
) -> Match:
    """Sort labels into classes, by what sites say of their cells and, if the study's grouping goes
    by them, by their hulls. Where names are agreed, the labels say it themselves. If cells are
    `placed`, the sites may have been measured differently."""
    if not labels and study.privacy is not None:
        raise InvalidInput(
            f"there is nothing to learn from: with epsilon = {study.privacy.epsilon:g} no class of "
            f"a site stands out from the noise; use more data, fewer sites or a larger epsilon"
        )
    if not labels:
        raise InvalidInput(
            f"there is nothing to learn from: no class has {study.disclosure.min_cells} cells at a "
            f"site, and smaller ones are withheld; use more data, fewer sites or a smaller "
            f"min_cells"
        )
    told = None
    if sketches:
        rows, noise = [sketches[label] for label in labels], noise_of(study)
        told = (
            understand(rows, placed, study.learning.seed)
            if noise is None
            else understand_in_noise(rows, noise.slot_deviations)
        )
    found = _matched(study, labels, told, hulls)
    if len(np.unique(found.groups)) < 2:
        raise InvalidInput(
            "the classes of all sites are one and the same, and a classifier needs two; classes "
            "with too few cells were withheld"
        )
    said = [sketches[label][0] for label in labels] if sketches else [0] * len(labels)
    counts = np.array(said, dtype=np.int64)
    return Match(list(labels), found.groups, counts, found.certainty)


def clear_labels(study: Study, told: Mapping[int, Sequence[int]]) -> list[int]:
    """The labels of which something is said, or that stand out from the noise, in an order that
    does not depend on labels, which are drawn from the system's randomness."""
    noise = noise_of(study)
    least = 0.0 if noise is None else CLEAR * noise.slot_deviations[0]
    clear = [label for label, numbers in told.items() if numbers[0] >= least]
    return sorted(clear, key=lambda label: (told[label], label))


def owners_of(study: Study, labels: Sequence[int]) -> list[int]:
    """The places of labels, numbered from 0 in order of appearance."""
    numbers: dict[int, int] = {}
    return [numbers.setdefault(study.place_of(label), len(numbers)) for label in labels]


def _matched(
    study: Study,
    labels: Sequence[int],
    told: Understood | None,
    hulls: Sequence[np.ndarray] | None,
) -> Matched:
    if study.agreed:
        return Matched(
            np.array([study.labels_of(study.place_of(label)).index(label) for label in labels])
        )
    if told is not None and told.places is not None:
        return match_moved_slots(
            told.places,
            told.counts,
            owners_of(study, labels),
            study.n_classes,
            study.geometry.curvature,
            told.means,
        )
    return match_hulls(
        hulls,
        owners_of(study, labels),
        study.n_classes,
        study.learning.grouping,
        study.geometry.curvature,
        slots=None if told is None else Slots(told.counts, told.means),
    )
