"""Learning from the sum: assign the decoded hulls to classes, train on their corners."""

from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np

from fedhull.disc.hull import minimal_hull
from fedhull.errors import InvalidInput, UnknownLabelSum
from fedhull.learn.classifiers import fit_to_corners, make_classifier
from fedhull.learn.grouping import Slots, group_hulls
from fedhull.learn.sketch import slot_means
from fedhull.study.hulls.sum import HullTotal
from fedhull.study.study import Study


@dataclass(frozen=True, repr=False)
class Learned:
    """The classifier, and to which class each label, hull after hull, was assigned."""

    model: Any
    labels: list[int]
    hulls: list[np.ndarray]
    groups: np.ndarray
    seconds: dict[str, float]

    def __repr__(self) -> str:
        return f"Learned({type(self.model).__name__} from {len(self.hulls)} hulls)"

    @property
    def class_of_label(self) -> dict[int, int]:
        """{label: class}, what sites need in order to name the classes."""
        return dict(zip(self.labels, self.groups.tolist(), strict=True))

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
    """Assign the decoded hulls to classes, unless names are agreed and the labels say it, and train
    the study's classifier on their corners.

    The hulls are taken in an order that does not depend on the labels, which are drawn from the
    system's randomness: the same hulls always give the same model.
    """
    if not total.hulls:
        raise InvalidInput(
            f"there is nothing to learn from: no class has {study.disclosure.min_cells} cells at a "
            f"site, and smaller ones are withheld; use more data, fewer sites or a smaller "
            f"min_cells"
        )
    labels = sorted(total.hulls, key=lambda label: (total.hulls[label], label))
    hulls = [study.quantizer.decode(np.array(total.hulls[label])) for label in labels]
    places = [study.place_of(label) for label in labels]
    owners = [list(dict.fromkeys(places)).index(place) for place in places]
    curvature, learning = study.geometry.curvature, study.learning
    begin = perf_counter()
    groups = (
        np.array([study.labels_of(study.place_of(label)).index(label) for label in labels])
        if study.agreed
        else group_hulls(
            hulls,
            owners,
            study.n_classes,
            learning.grouping,
            curvature,
            slots=_slots(total, labels),
        )
    )
    if len(np.unique(groups)) < 2:
        raise InvalidInput(
            "the hulls of all sites are of one class, and a classifier needs two; classes with too "
            "few cells were withheld"
        )
    grouped = perf_counter()
    model = make_classifier(learning.method, curvature, learning.strength)
    sizes = [len(hull) for hull in hulls]
    fit_to_corners(model, np.concatenate(hulls), np.repeat(groups, sizes), np.repeat(owners, sizes))
    seconds = {"grouping": grouped - begin, "learning": perf_counter() - grouped}
    return Learned(model, labels, hulls, groups, seconds)


def _slots(total: HullTotal, labels: list[int]) -> Slots | None:
    """What sites say of the cells behind the hulls of these labels, if they do."""
    if not total.sketches:
        return None
    told = np.array([total.sketches[label] for label in labels])
    return Slots(told[:, 0], slot_means(told[:, 1:], told[:, 0]))
