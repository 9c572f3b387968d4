"""Learning from the sum: assign the decoded hulls to classes, train on their corners."""

from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np

from fedhull.disc.hull import minimal_hull
from fedhull.errors import UnknownLabelSum
from fedhull.learn.model import fit_to_corners, make_classifier
from fedhull.study.classes.matching import Match, match, owners_of
from fedhull.study.hulls.sum import HullTotal
from fedhull.study.study import Study


@dataclass(frozen=True, repr=False)
class Learned:
    """The classifier, and to which class the label of each of the hulls was assigned."""

    model: Any
    match: Match
    hulls: list[np.ndarray]
    seconds: dict[str, float]

    def __repr__(self) -> str:
        return f"Learned({type(self.model).__name__} from {len(self.hulls)} hulls)"

    @property
    def groups(self) -> np.ndarray:
        """The class of each hull, (n,)."""
        return self.match.groups

    @property
    def labels(self) -> list[int]:
        """The label of each hull."""
        return self.match.labels

    @property
    def corners(self) -> tuple[np.ndarray, np.ndarray]:
        """The corners of all hulls, and the class that each was taken for."""
        sizes = [len(hull) for hull in self.hulls]
        return np.concatenate(self.hulls), np.repeat(self.groups, sizes)


def check_hulls(study: Study, total: HullTotal) -> None:
    """Every bin of a hull must be one of its corners: sites send nothing else."""
    for bins in total.hulls.values():
        centres = study.quantizer.decode(np.array(bins))
        if len(minimal_hull(centres, study.geometry.curvature)) < len(bins):
            raise UnknownLabelSum(
                "a hull in the sum has bins that are not its corners: some site has not sent the "
                "hulls of its classes"
            )


def learn(study: Study, total: HullTotal) -> Learned:
    """Assign the decoded hulls to classes and train the study's classifier on their corners.

    The hulls are taken in an order that does not depend on the labels, which are drawn from the
    system's randomness: the same hulls always give the same model.
    """
    labels = sorted(total.hulls, key=lambda label: (total.hulls[label], label))
    hulls = [study.quantizer.decode(np.array(total.hulls[label])) for label in labels]
    begin = perf_counter()
    matched = match(study, labels, total.sketches, hulls)
    grouped = perf_counter()
    model = make_classifier(
        study.learning.method, study.geometry.curvature, study.learning.strength
    )
    sizes = [len(hull) for hull in hulls]
    fit_to_corners(
        model,
        np.concatenate(hulls),
        np.repeat(matched.groups, sizes),
        np.repeat(owners_of(study, labels), sizes),
    )
    seconds = {"grouping": grouped - begin, "learning": perf_counter() - grouped}
    return Learned(model, matched, hulls, seconds)
