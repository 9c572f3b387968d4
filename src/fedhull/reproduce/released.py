"""What the coordinator of a small study opens and publishes, made of the pure parts of a study: no
keys, no messages. Hundreds of studies can be had in this way; a test holds it equal to a rehearsal.

Three sites with agreed names, so that nothing has to be matched; nobody aligns itself, nothing is
held out, and there is no ballot: every cell of the study is trained on.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from fedhull.disc.maps import pairwise_distance
from fedhull.errors import InvalidInput
from fedhull.learn.horocycles import SCALES, draw_horocycles, horocycle_features
from fedhull.learn.moments import BITS, Moments, moments_of_points
from fedhull.study.draft import draft_study, site_name, with_names
from fedhull.study.hulls.holdings import make_hulls
from fedhull.study.hulls.learning import learn
from fedhull.study.hulls.sum import HullTotal
from fedhull.study.moments.coordinator import MomentCoordinator
from fedhull.study.moments.holdings import extent_of
from fedhull.study.moments.sum import MomentTotal
from fedhull.study.noise import noise_of
from fedhull.study.study import Study

SITES = 3
EPSILON = 0.01
_PLAIN: dict[str, Any] = {"ballot": False, "holdout": 0.0, "align": 0}
# What is compared, by what it is called in tables.
KINDS: dict[str, dict[str, Any]] = {
    "hulls, as in the paper": {"guard": "none", "min_cells": 1},
    "hulls of groups (default)": {},
    "moments": {"summary": "moments"},
    "moments, ε = 4": {"summary": "moments", "dp_epsilon": 4.0},
    "moments, ε = 1": {"summary": "moments", "dp_epsilon": 1.0},
}


@dataclass(frozen=True)
class Opened:
    """What the coordinator reads, and the model that it publishes; None if nothing came of it.
    `corners` are, for each of the classes, those of all sites' hulls; `moments` are totals."""

    model: Any
    corners: list[np.ndarray] | None = None
    total: MomentTotal | None = None


def study_for(kind: str, names: Sequence[str], radius: float) -> Study:
    """The study of this kind over classes of these names."""
    settings = _PLAIN | KINDS[kind]
    study = draft_study(SITES, len(names), epsilon=EPSILON, radius=radius, **settings)
    return with_names(study, list(names))


def opened(
    study: Study, x: np.ndarray, number: np.ndarray, owner: np.ndarray, keys: Sequence[bytes]
) -> Opened:
    """What comes of a study over cells x (n, 2) of classes `number` (n,) at the sites `owner` (n,),
    which draw their noise, if there is any, from these keys."""
    if study.has_bins:
        return _of_hulls(study, x, number, owner)
    return _of_moments(study, x, number, keys)


def _of_hulls(study: Study, x: np.ndarray, number: np.ndarray, owner: np.ndarray) -> Opened:
    names = np.array(study.agreed)
    hulls, sketches = {}, {}
    for place in range(SITES):
        mine = owner == place
        held = make_hulls(study, x[mine], names[number[mine]])
        labels = study.labels_of(place)
        for name, hull, sketch in zip(held.classes, held.hulls, held.sketches, strict=True):
            label = labels[study.agreed.index(name)]
            hulls[label], sketches[label] = sorted(hull), sketch
    learned = learn(study, HullTotal(hulls, _names(), sketches=sketches))
    points, groups = learned.corners
    return Opened(learned.model, [points[groups == j] for j in range(len(names))])


def _of_moments(study: Study, x: np.ndarray, number: np.ndarray, keys: Sequence[bytes]) -> Opened:
    noise, n_classes = noise_of(study), len(study.agreed)
    extent = extent_of(study, np.bincount(number, minlength=n_classes).tolist(), n_classes)
    known = np.array(extent.of_class)[number] > 0
    moments = moments_of_points(
        x[known],
        number[known],
        n_classes,
        draw_horocycles(study.learning.features, 2, SCALES, study.learning.seed),
        study.geometry.curvature,
        None if noise is None else noise.longest_features,
    ).cut(extent)
    if noise is not None:
        for key in keys:
            moments += Moments.unpacked(noise.totals(n_classes, key), extent)
    total = MomentTotal(moments, extent, _names())
    try:
        model = MomentCoordinator(study).learn(total).model
    except InvalidInput:
        # all classes but one are lost in noise
        model = None
    return Opened(model, total=total)


def _names() -> list[str]:
    return [site_name(i) for i in range(SITES)]


def noise_keys(*numbers: int) -> list[bytes]:
    """Keys for the sites of a study that has these numbers."""
    return [
        hashlib.blake2b(repr((*numbers, site)).encode(), digest_size=32).digest()
        for site in range(SITES)
    ]


def features_of(study: Study, x: np.ndarray) -> np.ndarray:
    """The features (n, D) by which cells (n, 2) are in the totals, rounded as sites round them."""
    noise = noise_of(study)
    drawn = draw_horocycles(study.learning.features, 2, SCALES, study.learning.seed)
    features = horocycle_features(x, drawn, study.geometry.curvature)
    if noise is not None:
        lengths = np.sqrt(np.square(features).sum(axis=1))
        features *= np.minimum(1.0, noise.longest_features / np.maximum(lengths, 1e-300))[:, None]
    return np.ldexp(np.rint(np.ldexp(features, BITS)), -BITS)


def confidence(made: Opened, x: np.ndarray, number: np.ndarray) -> np.ndarray:
    """log(p/(1 − p)) of the probability p that a published model gives to each cell's own class;
    of a class that it does not know, that of a probability of 10⁻⁶."""
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
