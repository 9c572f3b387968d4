"""How much noise a promise takes: (ε, δ)-differential privacy by way of zero-concentrated privacy.

Gaussian noise of variance σ² on whole numbers that one cell, or one donor, changes by at most Δ in
Euclidean length costs ρ = Δ²/2σ², discrete as continuous. Costs of releases about the same cells
add up; of releases about disjoint sets of cells only the largest counts (Bun and Steinke, 2016;
Canonne, Kamath and Steinke, 2020). What ρ promises in terms of ε and δ is their Corollary 13:

    δ = min over α > 1 of exp((α − 1)(αρ − ε)) · (1 − 1/α)^α / (α − 1).

Sums of discrete Gaussians, one of each site, are not exactly one. The odds that they distort are
within exp(±10·n·exp(−π²σ²)) of it (Kairouz, Liu and Steinke, 2021): with σ ≥ 8, as is always the
case here, that is 1 to hundreds of digits.
"""

import math
from functools import lru_cache

LEAST_VARIANCE = 64
_LEAST_COST, _MOST_COST = 1e-12, 1e6


def delta_of(cost: float, epsilon: float) -> float:
    """The smallest δ with which ρ = cost promises ε."""

    def exponent(log_above: float) -> float:
        above = math.exp(log_above)  # α − 1
        alpha = 1.0 + above
        return (
            above * (alpha * cost - epsilon)
            + alpha * (math.log(above) - math.log(alpha))
            - math.log(above)
        )

    from scipy.optimize import minimize_scalar  # slow to import, and few studies need it

    # the best α is near (ε + ρ)/2ρ
    middle = math.log(max((epsilon + cost) / (2.0 * cost) - 1.0, 1e-6))
    found = minimize_scalar(exponent, bounds=(middle - 6.0, middle + 6.0), method="bounded")
    return min(1.0, math.exp(min(float(found.fun), 0.0)))


# Every number of a study's noise depends on these two, which take thousands of steps each: they are
# found once for each promise.
@lru_cache
def cost_of(epsilon: float, delta: float) -> float:
    """The largest ρ that promises (ε, δ).

    >>> round(cost_of(1.0, 1e-5), 4)
    0.0306
    """

    def excess(log_cost: float) -> float:
        return math.log(max(delta_of(math.exp(log_cost), epsilon), 1e-300)) - math.log(delta)

    from scipy.optimize import brentq

    low, high = math.log(_LEAST_COST), math.log(_MOST_COST)
    return math.exp(brentq(excess, low, high, xtol=1e-12)) * (1.0 - 1e-9)


@lru_cache
def epsilon_of(cost: float, delta: float) -> float:
    """The smallest ε that ρ = cost promises with this δ."""
    if cost <= 0.0:
        return 0.0

    def excess(epsilon: float) -> float:
        return math.log(max(delta_of(cost, epsilon), 1e-300)) - math.log(delta)

    from scipy.optimize import brentq

    most = cost + 2.0 * math.sqrt(-cost * math.log(delta)) + 1.0
    return 0.0 if excess(0.0) <= 0.0 else float(brentq(excess, 0.0, most))


def variance_for(square: int, cost: float, shared_by: int = 1) -> int:
    """The variance σ² of each of so many equal parts of the noise, so that together they cost no
    more than ρ = cost if a cell changes the numbers by at most Δ, Δ² = square.

    >>> variance_for(square=4, cost=0.001)
    2000
    """
    return max(LEAST_VARIANCE, math.ceil(square / (2.0 * cost * shared_by)))
