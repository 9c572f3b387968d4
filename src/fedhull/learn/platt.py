"""Platt scaling and one-vs-rest, as in the paper's App. H; Platt's letters a, b are kept."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit, log_expit


def platt(scores: np.ndarray, positive: np.ndarray, shift: bool = True) -> tuple[float, float]:
    """a, b such that 1/(1 + exp(a·score + b)) is the probability of the positive class.

    The targets are smoothed as Platt (1999) proposes, so that perfect scores do not give a = −∞.
    Without `shift`, b stays 0 and a score of 0 means one half.
    """
    n_positive = int(positive.sum())
    n_negative = len(positive) - n_positive
    target = np.where(positive, (n_positive + 1) / (n_positive + 2), 1 / (n_negative + 2))

    def loss(ab: np.ndarray) -> tuple[float, np.ndarray]:
        z = ab[0] * scores + ab[1]
        slope = target - expit(-z)
        value = -(target * log_expit(-z) + (1.0 - target) * log_expit(z)).sum()
        return float(value), np.array([(slope * scores).sum(), shift * slope.sum()])

    start = np.array([0.0, shift * np.log((n_negative + 1) / (n_positive + 1))])
    a, b = minimize(loss, start, jac=True, method="BFGS", options={"gtol": 1e-6}).x
    return float(a), float(b)


@dataclass(frozen=True)
class PlattScaled:
    """A binary scorer with its Platt coefficients."""

    score: Any
    a: float
    b: float

    @classmethod
    def fit(
        cls, score: Any, points: np.ndarray, positive: np.ndarray, shift: bool
    ) -> "PlattScaled":
        """Scale a scorer on its training points."""
        return cls(score, *platt(score(points), positive, shift))

    def log_odds(self, points: np.ndarray) -> np.ndarray:
        """Of the positive class, shape (n,)."""
        return -(self.a * self.score(points) + self.b)
