"""Numbered bins over the disc: the ε-quantizer (Sec. 5.2, eq. 6–9) and the equal-area one (App. C).

Both cut the disc of radius R into rings around the origin and each ring into the same number of
sectors. Bins are numbered 1..B from the innermost ring, counter-clockwise from angle 0. A bin owns
its inner and its clockwise edge; the outermost ring also owns the circle of radius R.
"""

import math
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import ArrayLike

from fedhull.disc.points import as_vectors, check_count, check_curvature, check_positive
from fedhull.disc.rim import rim_gap
from fedhull.errors import InvalidInput, OutsideRadius, TooManyBins

_MOST_BINS = 2**62
# Finer sectors than this, and the centre of a bin could round into its neighbour.
_MOST_SECTORS = 2**48
# R(cos φ, sin φ) may round to a norm a few units above R; it counts as R.
_RADIUS_SLACK = 1.0 + 2.0**-50


class PolarBins:
    """Rings × sectors over the disc of Euclidean radius R; what the two quantizers share.

    Rings are equal steps of `_extent`, the measure of the whole disc: its hyperbolic radius, or,
    with `_by_area`, its area.
    """

    _by_area: bool
    _extent: float

    def __init__(self, n_angles: int, n_rings: int, radius: float, curvature: float):
        self.n_angles = n_angles
        self.n_rings = n_rings
        self.radius = radius
        self.curvature = curvature
        self.n_bins = n_angles * n_rings

    def encode(self, points: ArrayLike, row_numbers: np.ndarray | None = None) -> np.ndarray:
        """The bin (int64, 1..B) of each point, shape (..., 2) → (...).

        An error calls row i by `row_numbers[i]`, for callers who pass a selection."""
        array = as_vectors(points, "points")
        if array.shape[-1] != 2:
            raise InvalidInput(
                f"points must lie in the disc, shape (..., 2), got shape {array.shape}"
            )
        rows = np.ascontiguousarray(array.reshape(-1, 2))
        bins = np.empty(len(rows), dtype=np.int64)
        outside = _encode(
            rows,
            self.curvature,
            self.radius * _RADIUS_SLACK,
            self.n_rings / self._extent,
            self.n_rings,
            self.n_angles,
            self._by_area,
            bins,
        )
        if outside >= 0:
            row = outside if row_numbers is None else int(row_numbers[outside])
            raise OutsideRadius(
                f"points must lie within radius R = {self.radius!r}, but row {row} has norm "
                f"{math.hypot(*rows[outside])!r}; drop the point or agree on a larger radius"
            )
        return bins.reshape(array.shape[:-1])

    def decode(self, bins: ArrayLike) -> np.ndarray:
        """The centres of bins (eq. 8–9), shape (...) → (..., 2)."""
        numbers = self._check_bins(bins)
        centres = np.empty((*numbers.shape, 2))
        _decode(
            numbers.ravel(),
            self.curvature,
            self._extent / self.n_rings,
            self.n_angles,
            self._by_area,
            centres.reshape(-1, 2),
        )
        return centres

    def ring_and_sector(self, bins: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
        """(n₂, n₁) of the paper: ring 1..n_rings from the inside, sector 1..n_angles from 0."""
        rings, sectors = np.divmod(self._check_bins(bins) - 1, self.n_angles)
        return rings + 1, sectors + 1

    def _check_bins(self, bins: ArrayLike) -> np.ndarray:
        try:
            numbers = np.asarray(bins)
        except ValueError:
            raise InvalidInput("bins must be an array of whole numbers") from None
        if numbers.size and not np.issubdtype(numbers.dtype, np.integer):
            raise InvalidInput(
                f"bins must be whole numbers between 1 and {self.n_bins}, got {numbers.flat[0]!r}"
            )
        if numbers.size and (numbers.min() < 1 or numbers.max() > self.n_bins):
            wrong = numbers[(numbers < 1) | (numbers > self.n_bins)]
            raise InvalidInput(f"bins must be between 1 and {self.n_bins}, got {wrong[0]}")
        return numbers.astype(np.int64)


class Quantizer(PolarBins):
    """The ε-quantizer (Def. 2): two points of one bin are at most ε apart.

    Every bin is at most ε/2 wide along its outer arc and ε/2 deep (eq. 6–9):
    2·Cir(R_H)/ε sectors and 2·R_H/ε rings, rounded up.

    >>> quantizer = Quantizer(epsilon=0.1, radius=0.95)
    >>> quantizer.n_bins
    181226
    >>> quantizer.decode(quantizer.encode([0.3, 0.4])).round(3)
    array([0.303, 0.405])
    """

    _by_area = False

    def __init__(self, epsilon: float, radius: float, curvature: float = 1.0):
        self.epsilon = check_positive(epsilon, "epsilon", "0.01")
        curvature = check_curvature(curvature)
        radius = check_radius(radius, curvature)
        self._extent = hyperbolic_radius(radius, curvature)
        smallest = _smallest_epsilon(radius, curvature)
        if self.epsilon < smallest:
            raise TooManyBins(
                f"epsilon = {self.epsilon:g} with radius {radius!r} and curvature {curvature:g} "
                f"needs too many bins; at most 2^62 bins and 2^48 sectors can be numbered: use "
                f"epsilon ≥ {smallest:.2g} or a smaller radius"
            )
        n_angles = math.ceil(2.0 * circumference(radius, curvature) / self.epsilon)
        n_rings = math.ceil(2.0 * self._extent / self.epsilon)
        super().__init__(n_angles, n_rings, radius, curvature)

    def __repr__(self) -> str:
        return f"Quantizer({self.epsilon!r}, {self.radius!r}, curvature={self.curvature!r})"


class EqualAreaQuantizer(PolarBins):
    """Bins of equal hyperbolic area (App. C), `n_rings` rings of `n_angles` sectors.

    >>> EqualAreaQuantizer(n_angles=4, n_rings=2, radius=0.9).encode([[0.0, 0.0], [-0.9, 0.0]])
    array([1, 7])
    """

    _by_area = True

    def __init__(self, n_angles: int, n_rings: int, radius: float, curvature: float = 1.0):
        n_angles = check_count(n_angles, "n_angles")
        n_rings = check_count(n_rings, "n_rings")
        curvature = check_curvature(curvature)
        radius = check_radius(radius, curvature)
        # floats at radius R differ in area by about 2u/(1−kR²): rings must be wider than that
        most_rings = max(1, int(_MOST_SECTORS * _gap(radius, curvature)))
        if n_angles * n_rings > _MOST_BINS or n_angles > _MOST_SECTORS or n_rings > most_rings:
            raise TooManyBins(
                f"n_angles = {n_angles} and n_rings = {n_rings} make too many bins; at most 2^62 "
                f"bins, 2^48 angles and, with radius {radius!r}, {most_rings} rings can be numbered"
            )
        super().__init__(n_angles, n_rings, radius, curvature)
        # the area over 4πs²: sinh²(R_H/2s) = kR²/(1−kR²)
        self._extent = curvature * self.radius**2 / _gap(self.radius, curvature)

    def __repr__(self) -> str:
        return (
            f"EqualAreaQuantizer({self.n_angles}, {self.n_rings}, {self.radius!r}, "
            f"curvature={self.curvature!r})"
        )


def check_radius(radius: Any, curvature: float) -> float:
    """R with 0 < R < 1/√k, as a float."""
    value = check_positive(radius, "radius", "0.95")
    if not _gap(value, curvature) > 0.0:
        raise InvalidInput(
            f"radius must be below the disc's own, 1/√k = {curvature**-0.5:.6g}, got {radius!r}; "
            f"choose one that covers all participants' points"
        )
    return value


def hyperbolic_radius(radius: float, curvature: float) -> float:
    """R_H of eq. 6: the hyperbolic radius of the circle of Euclidean radius R."""
    root = math.sqrt(curvature)
    return 2.0 / root * math.asinh(root * radius / math.sqrt(_gap(radius, curvature)))


def circumference(radius: float, curvature: float) -> float:
    """Cir(R_H) of eq. 7, for Euclidean radius R: 2πs·sinh(R_H/s) = 4πR/(1−kR²)."""
    return 4.0 * math.pi * radius / _gap(radius, curvature)


def _gap(radius: float, curvature: float) -> float:
    return float(rim_gap(np.array([radius]), curvature))


def _smallest_epsilon(radius: float, curvature: float) -> float:
    around, across = circumference(radius, curvature), hyperbolic_radius(radius, curvature)
    limit = max(2.0 * math.sqrt(around * across / _MOST_BINS), 2.0 * around / _MOST_SECTORS)
    # two digits, rounded up, with room for the rounding up of both counts
    digit = 10.0 ** (math.floor(math.log10(limit)) - 1)
    return math.ceil(1.01 * limit / digit) * digit


@njit(cache=True, error_model="numpy")
def _encode(
    points: np.ndarray,
    curvature: float,
    limit: float,
    rings_per_measure: float,
    n_rings: int,
    n_angles: int,
    by_area: bool,
    bins: np.ndarray,
) -> int:  # pragma: no cover - compiled
    """Fill in the bins; the first row whose norm is not within the limit, or −1."""
    root = np.sqrt(curvature)
    full_turn = 2.0 * np.pi
    sectors_per_radian = n_angles / full_turn
    for i in range(len(points)):
        x, y = points[i, 0], points[i, 1]
        norm = np.hypot(x, y)
        # the slack of the limit must not reach beyond the disc itself
        if not (norm <= limit and root * norm < 1.0):
            return i
        if by_area:
            share = curvature * norm * norm
            depth = share / (1.0 - share) * rings_per_measure
        else:
            depth = 2.0 / root * np.arctanh(root * norm) * rings_per_measure
        # a point at R comes out at n_rings, give or take a rounding
        ring = int(depth) if depth < n_rings else n_rings - 1
        angle = np.arctan2(y, x)
        if angle < 0.0:
            angle += full_turn
        # just below 2π is the last sector, even where it rounds to 2π
        sector = min(int(angle * sectors_per_radian), n_angles - 1)
        bins[i] = ring * n_angles + sector + 1
    return -1


@njit(cache=True, error_model="numpy")
def _decode(
    bins: np.ndarray,
    curvature: float,
    measure_per_ring: float,
    n_angles: int,
    by_area: bool,
    centres: np.ndarray,
) -> None:  # pragma: no cover - compiled
    root = np.sqrt(curvature)
    radians_per_sector = 2.0 * np.pi / n_angles
    for i in range(len(bins)):
        ring = (bins[i] - 1) // n_angles
        sector = bins[i] - 1 - ring * n_angles
        measure = (ring + 0.5) * measure_per_ring
        if by_area:
            norm = np.sqrt(measure / (1.0 + measure)) / root
        else:
            norm = np.tanh(root * measure / 2.0) / root
        angle = (sector + 0.5) * radians_per_sector
        centres[i, 0] = norm * np.cos(angle)
        centres[i, 1] = norm * np.sin(angle)
