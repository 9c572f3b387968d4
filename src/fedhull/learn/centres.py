"""The centres of classes: count and Σ of hyperboloid coordinates, which add up over sites.

On the hyperboloid an isometry is a matrix. So sums of coordinates move with the cells, and the sum
over all sites, brought back to the sheet, is the centroid of all their cells. Its excess length
over the count tells how far the cells scatter, since seen from the centroid only Σ cosh ρ is left
of it.

Sums leave in fixed point, each coordinate of each cell rounded to a multiple of 2⁻²¹ before it is
added, so that they add up exactly in any order. A cell farther from the origin than 8 (in units of
1/√k; 0.9993 of the ball's radius) counts as if it were at 8, in its direction, where it would
otherwise outweigh hundreds in the middle. Then a coordinate is at most cosh 8 < 2¹¹, in fixed point
less than 2³², and the sum over fewer than 2²⁸ cells lies strictly between −2⁶⁰ and 2⁶⁰: its sign
survives in a field of 2⁶¹ − 1 elements. Rounding moves the centre of a single cell by less than
0.001 at 8, and by less than 10⁻⁶ in the middle.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from fedhull.disc.models import hyperboloid_to_poincare, poincare_to_hyperboloid
from fedhull.disc.points import as_ball_points, as_point_rows, check_curvature
from fedhull.errors import InvalidInput

MOST_CELLS = (1 << 28) - 1
FARTHEST = 8.0
_BITS = 21
# Cells are processed in chunks, so that memory does not grow with their number.
_AT_ONCE = 1 << 16


@dataclass(frozen=True)
class Centres:
    """counts (J,) of cells, and sums (J, d+1) of √k·X over them in units of 2⁻²¹. All int64."""

    counts: np.ndarray
    sums: np.ndarray

    @classmethod
    def none(cls, n_classes: int, dimension: int) -> "Centres":
        """Those of no cells."""
        return cls(
            np.zeros(n_classes, dtype=np.int64),
            np.zeros((n_classes, dimension + 1), dtype=np.int64),
        )

    def __add__(self, other: "Centres") -> "Centres":
        return Centres(self.counts + other.counts, self.sums + other.sums)

    def packed(self) -> np.ndarray:
        """All numbers as one array: for each class the count, then its sums."""
        return np.column_stack((self.counts, self.sums)).ravel()

    @classmethod
    def unpacked(cls, values: np.ndarray, n_classes: int) -> "Centres":
        """The inverse of `packed`."""
        if values.ndim != 1 or len(values) % n_classes or len(values) < 3 * n_classes:
            raise InvalidInput(
                f"centres of {n_classes} classes are d + 2 numbers each, got shape {values.shape}"
            )
        table = values.astype(np.int64).reshape(n_classes, -1)
        return cls(table[:, 0].copy(), table[:, 1:].copy())

    def only(self, classes: ArrayLike) -> "Centres":
        """Those of some classes, in this order; of a class −1, nothing."""
        which = np.asarray(classes, dtype=np.int64)
        known = which >= 0
        return Centres(self.counts[which] * known, self.sums[which] * known[:, None])

    def check(self) -> None:
        """Raise InvalidInput unless some cells have these centres, as far as sums can tell."""
        if self.sums.ndim != 2 or self.counts.shape != self.sums.shape[:1]:
            raise InvalidInput(
                f"counts and sums must have shapes (J,) and (J, d+1), got {self.counts.shape} and "
                f"{self.sums.shape}"
            )
        if (self.counts < 0).any() or sum(self.counts.tolist()) > MOST_CELLS:
            raise InvalidInput(f"counts must be ≥ 0 and add up to at most {MOST_CELLS}")
        time, length = self._means()
        # half a unit for each coordinate that was rounded
        slack = (1.0 + self.sums.shape[1]) * 2.0**-_BITS
        inside = (time >= np.hypot(1.0, length) - slack) & (time <= np.cosh(FARTHEST) + slack)
        empty = (self.counts == 0) & (self.sums == 0).all(axis=1)
        if not (empty | ((self.counts > 0) & inside)).all():
            bad = int(np.argmin(empty | ((self.counts > 0) & inside)))
            raise InvalidInput(
                f"sums must be of points of the hyperboloid, but those of class {bad} are not"
            )

    def points(self, curvature: float = 1.0) -> np.ndarray:
        """The centroids (J, d) in the ball; the origin for a class without cells."""
        means = np.ldexp(self.sums.astype(np.float64), -_BITS) / np.maximum(self.counts, 1)[:, None]
        means[self.counts == 0, 0] = 1.0
        space = means[:, 1:] / self._norms()[:, None]
        sheet = np.column_stack((np.hypot(1.0, np.hypot.reduce(space, axis=1)), space))
        return hyperboloid_to_poincare(sheet / np.sqrt(check_curvature(curvature)), curvature)

    def scatter(self) -> np.ndarray:
        """About how far cells scatter about the centroid along any axis, squared, times k: (J,).

        From the centroid the mean of cosh ρ is known, N. Near it (N² − 1)/N² is the mean of ρ²; far
        from it cells count no more than the centroid heeds them.
        """
        norms = self._norms()
        return np.maximum(1.0 - norms**-2.0, 0.0) / (self.sums.shape[1] - 1)

    def _means(self) -> tuple[np.ndarray, np.ndarray]:
        sums = np.ldexp(self.sums.astype(np.float64), -_BITS)
        means = sums / np.maximum(self.counts, 1)[:, None]
        return means[:, 0], np.hypot.reduce(means[:, 1:], axis=1)

    def _norms(self) -> np.ndarray:
        """The means of cosh ρ, seen from the centroids: (J,)."""
        time, length = self._means()
        # a mean of points of the sheet lies on it or above, but for rounding
        return np.sqrt(np.maximum((time - length) * (time + length), 1.0))


def class_centres(
    points: ArrayLike, classes: ArrayLike, n_classes: int, curvature: float = 1.0
) -> Centres:
    """The contribution of cells (n, d) of classes (n,) in 0..J−1: whole numbers that add up.

    >>> cells, classes = np.array([[0.8, 0.0], [0.0, 0.0], [0.3, 0.1]]), np.array([0, 0, 1])
    >>> whole = class_centres(cells, classes, 2)
    >>> whole.points().round(3)
    array([[0.5, 0. ],
           [0.3, 0.1]])
    >>> parts = class_centres(cells[:1], classes[:1], 2) + class_centres(cells[1:], classes[1:], 2)
    >>> (parts.packed() == whole.packed()).all()
    np.True_
    """
    k = check_curvature(curvature)
    rows = np.asarray(points, dtype=np.float64)
    x = as_point_rows(rows) if rows.size else rows.reshape(0, rows.shape[-1])
    y = np.asarray(classes)
    if y.shape != (len(x),) or (len(y) and not 0 <= y.min() <= y.max() < n_classes):
        raise InvalidInput(f"classes must be {len(x)} numbers from 0 to {n_classes - 1}")
    if len(x) > MOST_CELLS:
        raise InvalidInput(f"centres hold at most {MOST_CELLS} cells, got {len(x)}")
    total = Centres.none(n_classes, x.shape[1])
    for begin in range(0, len(x), _AT_ONCE):
        part = slice(begin, begin + _AT_ONCE)
        sheet = poincare_to_hyperboloid(clipped(x[part], k), k) * np.sqrt(k)
        np.add.at(total.sums, y[part], np.rint(np.ldexp(sheet, _BITS)).astype(np.int64))
        np.add.at(total.counts, y[part], 1)
    return total


def clipped(points: np.ndarray, curvature: float = 1.0) -> np.ndarray:
    """Points (n, d), those farther from the origin than 8/√k brought back to that distance."""
    x, _ = as_ball_points(points, curvature)
    radius = np.sqrt(curvature) * np.hypot.reduce(x, axis=1)
    return x * np.minimum(1.0, np.tanh(FARTHEST / 2.0) / np.maximum(radius, 1e-300))[:, None]
