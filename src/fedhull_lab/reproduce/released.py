"""Small studies as their coordinator sees them: what it reads and what it publishes.

Three sites with agreed names, so that nothing has to be matched; nobody aligns itself, nothing is
held out, and there is no ballot: every cell of the study is trained on.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
import numpy as np

from fedhull import HorocycleFeatures, Study, pairwise_distance, run_study, task_of
from fedhull.errors import InvalidInput
from fedhull.extend import (
    BITS,
    Identity,
    MemoryEngine,
    draft_study,
    noise_of,
    with_names,
)

SITES = 3
EPSILON = 0.01
_PLAIN: dict[str, Any] = {"ballot": False, "holdout": 0.0, "align": 0}
# The kinds that are compared, by their names in tables.
KINDS: dict[str, dict[str, Any]] = {
    "hulls, as in the paper": {"guard": "none", "min_cells": 1},
    "hulls of groups (default)": {},
    "moments": {"summary": "moments"},
    "moments, ε = 4": {"summary": "moments", "dp_epsilon": 4.0},
    "moments, ε = 1": {"summary": "moments", "dp_epsilon": 1.0},
}


@dataclass(frozen=True)
class Total:
    """The totals that a coordinator of moments reads, in natural units.

    gram (D, D) : Σφφᵀ. sums (J, D) : Σφ of each class. counts (J,) : cells of each class.
    of_class : features up to which the sums of a class are known, 0 where it is unknown.
    """

    gram: np.ndarray
    sums: np.ndarray
    counts: np.ndarray
    of_class: tuple[int, ...]

    @classmethod
    def of(cls, task: Any, kept: bytes) -> "Total":
        """The totals in a sum that the coordinator of a study has kept."""
        found = task.coordinator().reopen(kept).total
        moments = found.moments
        return cls(
            np.ldexp(moments.gram.astype(np.float64), -2 * BITS),
            np.ldexp(moments.sums.astype(np.float64), -BITS),
            moments.counts,
            found.extent.of_class,
        )

    def within(self, other: "Total") -> "Total":
        """These totals as far as the other ones are known; zeros where these are not."""
        d = len(other.gram)
        k = min(d, len(self.gram))
        gram, sums = np.zeros((d, d)), np.zeros((len(self.sums), d))
        gram[:k, :k], sums[:, :k] = self.gram[:k, :k], self.sums[:, :k]
        sums *= np.arange(d) < np.array(other.of_class)[:, None]
        return Total(gram, sums, self.counts, other.of_class)


@dataclass(frozen=True)
class Opened:
    """The data that the coordinator reads, and the model that it publishes, None if there is none.
    `corners` are those of all sites' hulls of each class."""

    model: Any
    corners: list[np.ndarray] | None = None
    total: Total | None = None


def study_for(kind: str, names: Sequence[str], radius: float) -> Study:
    """The study of this kind over classes of these names."""
    settings = _PLAIN | KINDS[kind]
    study = draft_study(SITES, len(names), epsilon=EPSILON, radius=radius, **settings)
    return with_names(study, list(names))


def opened(study: Study, x: np.ndarray, number: np.ndarray, owner: np.ndarray) -> Opened:
    """Run a study over cells x (n, 2) of classes `number` (n,) at the sites `owner` (n,)."""
    names = np.array(study.classes.names)
    identities = {site: Identity.generate() for site in study.clients}
    study = msgspec.structs.replace(
        study, clients={site: identity.public for site, identity in identities.items()}
    )
    task: Any = task_of(study)
    sites = [
        task.site(site, identity, task.prepare(x[owner == i], names[number[owner == i]]))
        for i, (site, identity) in enumerate(identities.items())
    ]
    kept: dict[str, bytes] = {}
    try:
        outcome = run_study(task.coordinator(), MemoryEngine(sites), keep=kept.__setitem__)
    except InvalidInput:
        # all classes but one are lost in noise; the coordinator has read the totals
        return Opened(None, total=Total.of(task, kept["sum.bin"]))
    if not study.has_bins:
        return Opened(outcome.model, total=Total.of(task, kept["sum.bin"]))
    points, groups = outcome.learned.more.corners
    return Opened(outcome.model, [points[groups == j] for j in range(len(names))])


def features_of(study: Study, x: np.ndarray) -> np.ndarray:
    """The features (n, D) by which cells (n, 2) are in the totals, rounded as sites round them."""
    learning, noise = study.learning, noise_of(study)
    waves = HorocycleFeatures(
        learning.features, curvature=study.geometry.curvature, seed=learning.seed
    )
    features = waves.fit_transform(x)
    if noise is not None:
        lengths = np.sqrt(np.square(features).sum(axis=1))
        features *= np.minimum(1.0, noise.longest_features / np.maximum(lengths, 1e-300))[:, None]
    return np.ldexp(np.rint(np.ldexp(features, BITS)), -BITS)


def confidence(made: Opened, x: np.ndarray, number: np.ndarray) -> np.ndarray:
    """log(p/(1 − p)) of the probability p that a published model gives to each cell's own class,
    10⁻⁶ for a class that it does not know."""
    least = 1e-6
    p = np.full(len(x), least)
    if made.model is not None:
        classes = made.model.classes_.astype(int)
        known = np.isin(number, classes)
        columns = np.searchsorted(classes, number[known])
        said = made.model.predict_proba(x[known])[np.arange(known.sum()), columns]
        p[known] = np.clip(said, least, 1.0 - least)
    return np.log(p) - np.log1p(-p)


def nearest_corner(made: Opened, x: np.ndarray, number: np.ndarray) -> np.ndarray:
    """The logarithm of the hyperbolic distance from each cell to the nearest corner of its class;
    of a class without hulls, that of a long way."""
    assert made.corners is not None
    found = np.full(len(x), 10.0)
    for j, corners in enumerate(made.corners):
        mine = number == j
        if mine.any() and len(corners):
            found[mine] = pairwise_distance(x[mine], corners).min(axis=1)
    return np.log(np.maximum(found, EPSILON / 10.0))
