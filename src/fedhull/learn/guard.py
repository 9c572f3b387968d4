"""Guarded hulls: what a client leaves out before it makes a hull, for privacy and for accuracy.

A hull is made of outliers. *Edit* drops the points that the client's own classifier gets wrong,
*trim* the outermost few of each class. Fewer identifiable points leave, and the hulls of different
classes overlap less.
"""

from dataclasses import dataclass

import numpy as np

from fedhull.disc.centroid import centroid
from fedhull.disc.hull import minimal_hull
from fedhull.disc.maps import distance
from fedhull.errors import InvalidInput
from fedhull.learn.lorentz import LorentzClassifier

_LOCAL_STRENGTH = 1e3


@dataclass(frozen=True)
class Guard:
    """What to leave out: ``edit`` and/or the share ``trim`` of each class.

    >>> Guard.parse("edit+trim:0.02")
    Guard(edit=True, trim=0.02)
    """

    edit: bool = False
    trim: float = 0.0

    @classmethod
    def parse(cls, text: str) -> "Guard":
        """From ``none``, ``edit``, ``trim:F`` or ``edit+trim:F``."""
        edit, trim = False, 0.0
        try:
            for part in text.split("+") if text != "none" else []:
                kind, _, share = part.partition(":")
                if kind == "edit" and not share:
                    edit = True
                elif kind == "trim" and 0.0 <= float(share) < 1.0:
                    trim = float(share)
                else:
                    raise ValueError
        except ValueError:
            raise InvalidInput(
                f"guard must be 'none', 'edit', 'trim:F' or 'edit+trim:F' with 0 ≤ F < 1, "
                f"got {text!r}; try 'edit+trim:0.02'"
            ) from None
        return cls(edit, trim)

    def keep(self, x: np.ndarray, y: np.ndarray, curvature: float = 1.0) -> np.ndarray:
        """Which points go into the hulls, shape (n,), bool. No class is emptied."""
        kept = np.ones(len(x), dtype=bool)
        if self.edit and len(np.unique(y)) > 1:
            kept = _edited(x, y, curvature)
        for label in np.unique(y):
            of_class = np.flatnonzero(kept & (y == label))
            n_trimmed = int(self.trim * len(of_class))
            kept[of_class[outermost(x[of_class], n_trimmed, curvature)]] = False
        return kept


def outermost(points: np.ndarray, n: int, curvature: float) -> np.ndarray:
    """Indices of the n outermost points: hull after hull is peeled off; of a hull that is only
    partly needed, the corners farthest from the middle."""
    left, found = np.arange(len(points)), np.empty(0, dtype=np.int64)
    while len(found) < n:
        layer = minimal_hull(points[left], curvature)
        if len(found) + len(layer) > n:
            away = distance(points[left[layer]], centroid(points, curvature=curvature), curvature)
            layer = layer[np.argsort(-away, kind="stable")][: n - len(found)]
        found = np.concatenate((found, left[layer]))
        left = np.delete(left, layer)
    return found


def _edited(x: np.ndarray, y: np.ndarray, curvature: float) -> np.ndarray:
    local = LorentzClassifier(_LOCAL_STRENGTH, curvature=curvature, calibrate=False)
    kept = local.fit(x, y).predict(x) == y
    for label in np.unique(y):
        if not kept[y == label].any():
            kept[y == label] = True
    return kept
