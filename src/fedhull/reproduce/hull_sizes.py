"""How many corners a hull of N random points has (Sec. 5.3, App. D–E, Theorem 2).

The paper proves, for N points uniform over the disc: O(N^{1/3}) corners; and, if all points are
quantized first with ε = N^{−c}: O(N^c) for c < 1/2, O(N^{1−c}) up to 2/3, O(N^{1/3}) beyond.
The theorem speaks of large N: for c < 1/2 the count nears its ceiling, the number of sectors N_Θ,
only where every bin of the outermost ring is hit, N·ε² ≫ 450 at R = .95 (c = .3: N ≫ 4e6), and
until then it grows faster than the ceiling.

A study sends the ε-minimal hull of Def. 4, which quantizes only the corners; its size is measured
beside the theorem's.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from fedhull.data.generated import as_generator, sample_uniform
from fedhull.disc.hull import hull_complexity, minimal_hull
from fedhull.disc.quantize import Quantizer

RADIUS = 0.95
FULL_SIZES = [1_000, 3_162, 10_000, 31_623, 100_000, 316_228, 1_000_000, 3_162_278, 10_000_000]
QUICK_SIZES = [1_000, 3_162, 10_000, 31_623, 100_000]
RATES = [0.3, 0.45, 0.55, 0.65, 0.8]
# the theorem speaks of large N: exponents are fitted from here on
FIT_FROM = 10_000


@dataclass
class Complexity:
    """Mean sizes over the trials, an entry per N; `quantized` and `epsilon_hull` a list per c."""

    sizes: list[int]
    trials: list[int]
    hull: list[float] = field(default_factory=list)
    hull_std: list[float] = field(default_factory=list)
    quantized: dict[float, list[float]] = field(default_factory=dict)
    epsilon_hull: dict[float, list[float]] = field(default_factory=dict)

    @property
    def hull_exponent(self) -> float:
        """The fitted exponent of N in the hull's size."""
        return fitted_exponent(self.sizes, self.hull)

    @property
    def hull_constant(self) -> float:
        """The mean of size / N^{1/3} over the N that are fitted."""
        large = np.array(self.sizes) >= FIT_FROM
        return float(np.mean((np.array(self.hull) / np.cbrt(self.sizes))[large]))

    def to_json(self) -> dict[str, Any]:
        """Plain numbers, with the theorem's exponents beside the fitted ones."""
        return {
            "radius": RADIUS,
            "sizes": self.sizes,
            "trials": self.trials,
            "hull": self.hull,
            "hull_std": self.hull_std,
            "hull_exponent": {"theorem": 1 / 3, "fitted": self.hull_exponent},
            "hull_constant": self.hull_constant,
            "rates": [
                {
                    "c": c,
                    "quantized": self.quantized[c],
                    "epsilon_hull": self.epsilon_hull[c],
                    "sectors": [Quantizer(n**-c, RADIUS).n_angles for n in self.sizes],
                    "exponent": {
                        "theorem": theorem_exponent(c),
                        "quantized": fitted_exponent(self.sizes, self.quantized[c]),
                        "epsilon_hull": fitted_exponent(self.sizes, self.epsilon_hull[c]),
                    },
                }
                for c in self.quantized
            ],
        }


def theorem_exponent(c: float) -> float:
    """Theorem 2's exponent of N for ε = N^{−c}."""
    if c < 0.5:
        return c
    return 1.0 - c if c <= 2.0 / 3.0 else 1.0 / 3.0


def fitted_exponent(sizes: list[int], counts: list[float]) -> float:
    """Slope of log(count) over log(N), for N ≥ FIT_FROM."""
    large = np.array(sizes) >= FIT_FROM
    slope, _ = np.polyfit(np.log(np.array(sizes)[large]), np.log(np.array(counts)[large]), 1)
    return float(slope)


def measure_complexity(
    sizes: list[int], seed: int, advance: Callable[[int], None] = lambda _: None
) -> Complexity:
    """Measure all sizes; `advance` is told the number of points after each trial."""
    trials = [trials_for(n) for n in sizes]
    result = Complexity(sizes, trials)
    result.quantized = {c: [] for c in RATES}
    result.epsilon_hull = {c: [] for c in RATES}
    rng = as_generator(seed)
    for n, repeats in zip(sizes, trials, strict=True):
        counts = np.empty((repeats, 1 + 2 * len(RATES)))
        for trial in range(repeats):
            counts[trial] = _one_trial(n, rng)
            advance(n)
        means = counts.mean(axis=0)
        result.hull.append(float(means[0]))
        result.hull_std.append(float(counts[:, 0].std(ddof=1)))
        for i, c in enumerate(RATES):
            result.quantized[c].append(float(means[1 + 2 * i]))
            result.epsilon_hull[c].append(float(means[2 + 2 * i]))
    return result


def trials_for(n: int) -> int:
    """Many trials where they are cheap, three where they are not."""
    return int(np.clip(1_000_000 // n, 3, 50))


def _one_trial(n: int, rng: np.random.Generator) -> list[int]:
    points = sample_uniform(n, RADIUS, seed=rng)
    corners = points[minimal_hull(points)]
    counts = [len(corners)]
    for c in RATES:
        quantizer = Quantizer(n**-c, RADIUS)
        counts.append(len(minimal_hull(quantizer.decode(quantizer.encode(points)))))
        counts.append(hull_complexity(corners, quantizer))
    return counts
