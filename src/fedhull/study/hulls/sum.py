"""Sums of hulls, from which the server reads all hulls and not whose they are."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from fedhull.codes.field import Field
from fedhull.errors import InvalidInput, UnknownLabelSum
from fedhull.protocol.keys import Randomness, digest
from fedhull.study.study import Study, announced_corners


@dataclass(frozen=True)
class HullTotal:
    """What the server learns: the hulls of all survivors, by their labels."""

    hulls: dict[int, list[int]]
    survivors: list[str]
    n_sums: int

    def __repr__(self) -> str:
        return f"HullTotal({len(self.hulls)} hulls of {len(self.survivors)} sites)"


@dataclass(frozen=True)
class HullSummation:
    """Sums from which hulls are read, by the study's coding."""

    study: Study
    number: int = 1

    @property
    def context(self) -> bytes:
        """How hulls are coded: sites whose software does it in another way never get to upload."""
        coding = self.study.coding
        return digest(b"hulls", coding.name.encode(), str(coding.field.q).encode())

    @property
    def field(self) -> Field:
        """The field of the label code."""
        return self.study.coding.field

    @property
    def lengths(self) -> tuple[int, int]:
        """From the spare sums alone to those for the most corners."""
        return self.study.sums_for(0), self.study.most_sums

    def accepts(self, announced: int) -> bool:
        """Up to as many corners as the study allows."""
        return announced <= announced_corners(self.study.protocol.most_bins)

    def length(self, announced: Sequence[int]) -> int:
        """As many sums as determine, and check, all the corners together."""
        return self.study.sums_for(sum(announced))

    def open(self, total: np.ndarray, survivors: list[str], participants: int) -> HullTotal:
        """The hulls in the sum."""
        study = self.study
        most, spare = study.corners_for(len(total)), study.protocol.spare_sums
        hulls = study.coding.decode(self.field.to_ints(total), most, spare)
        self._check_labels(hulls, len(survivors), participants)
        return HullTotal(hulls, survivors, len(total))

    def _check_labels(
        self, hulls: Mapping[int, list[int]], survivors: int, participants: int
    ) -> None:
        """Every survivor has used labels of one place in the order, and nobody of any other."""
        places = set(map(self.study.place_of, hulls))
        if len(places) != survivors or max(places) >= participants:
            raise UnknownLabelSum(
                f"the labels in the sum belong to {len(places)} sites, but {survivors} "
                f"uploaded; some site used labels that are not its own"
            )


class HullContribution:
    """The hulls of a client: for each of its classes in its own order, the bins."""

    def __init__(self, study: Study, hulls: Sequence[Sequence[int]]):
        self.summation = HullSummation(study)
        self._study = study
        self._hulls = _checked_hulls(study, hulls)

    @property
    def announced(self) -> int:
        """How many corners the client's hulls have, rounded up."""
        return announced_corners(sum(map(len, self._hulls)))

    def labels(self, place: int, randomness: Randomness) -> list[int]:
        """A label for each class: the client's place in the agreed order, in a random order within
        (App. B), so that the order of the client's own classes tells nothing."""
        labels = self._study.labels_of(place)
        lots = {label: randomness.token(f"lot {label}") for label in labels}
        return sorted(labels, key=lots.__getitem__)[: len(self._hulls)]

    def vector(self, labels: list[int], length: int) -> np.ndarray:
        """The sums of the hulls."""
        study, coding = self._study, self._study.coding
        hulls = dict(zip(labels, self._hulls, strict=True))
        most, spare = study.corners_for(length), study.protocol.spare_sums
        return coding.field.vector(coding.encode(hulls, most, spare))


def _checked_hulls(study: Study, hulls: Sequence[Sequence[int]]) -> list[list[int]]:
    if not 1 <= len(hulls) <= study.labels.classes:
        raise InvalidInput(
            f"a site must have 1 to {study.labels.classes} classes in this study, got {len(hulls)}"
        )
    checked = [[int(j) for j in bins] for bins in hulls]
    for number, bins in enumerate(checked, 1):
        if not bins or len(set(bins)) != len(bins):
            raise InvalidInput(f"hull {number} must hold different bins, at least one")
        if min(bins) < 1 or max(bins) > study.quantizer.n_bins:
            raise InvalidInput(
                f"hull {number} must hold bins between 1 and {study.quantizer.n_bins}"
            )
    n_corners = sum(map(len, checked))
    if n_corners > study.protocol.most_bins:
        raise InvalidInput(
            f"the hulls have {n_corners} corners, but the study allows {study.protocol.most_bins}; "
            f"use a larger epsilon or agree on a larger most_bins"
        )
    return checked
