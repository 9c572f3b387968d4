"""The ε-minimal hull and its size, the leakage figure of every study (Def. 4–5)."""

import numpy as np
from numpy.typing import ArrayLike

from fedhull.disc.hull import minimal_hull
from fedhull.disc.points import as_point_rows
from fedhull.disc.quantize import PolarBins
from fedhull.errors import InvalidInput


def epsilon_hull(points: ArrayLike, quantizer: PolarBins) -> np.ndarray:
    """Bins of the ε-minimal hull: hull, quantize, hull again (Def. 4), counter-clockwise.

    >>> from fedhull import Quantizer
    >>> quantizer = Quantizer(epsilon=2.0, radius=0.95)
    >>> epsilon_hull([[0.1, 0.0], [0.7, 0.1], [0.71, 0.11], [0.0, 0.6]], quantizer)
    array([127, 154,   1, 126])
    """
    if not isinstance(quantizer, PolarBins):
        raise InvalidInput(f"quantizer must be a Quantizer, got {quantizer!r}")
    rows = as_point_rows(points)
    corners = minimal_hull(rows, quantizer.curvature)
    bins = np.unique(quantizer.encode(rows[corners], row_numbers=corners))
    return bins[minimal_hull(quantizer.decode(bins), quantizer.curvature)]


def hull_complexity(points: ArrayLike, quantizer: PolarBins) -> int:
    """The ε-convex hull complexity (Def. 5): how many bins an observer of the hull learns."""
    return len(epsilon_hull(points, quantizer))
