"""Multinomial logistic regression as a site trains it in a round: a few steps of L-BFGS from
where the last round ended. Weights are (d + 1, c), the last row the intercepts."""

from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize
from scipy.special import log_softmax


class Local(NamedTuple):
    """The penalty on squared weights, and how many steps a site takes in a round."""

    penalty: float
    steps: int


def steps_from(weights: np.ndarray, x: np.ndarray, y: np.ndarray, local: Local) -> np.ndarray:
    """Weights after a site's steps on cells x (n, d) with classes y (n,) in 0…c−1, which need not
    be all of them."""
    penalty, steps = local
    shape, which = weights.shape, np.arange(len(y))

    def loss(flat: np.ndarray) -> tuple[float, np.ndarray]:
        now = flat.reshape(shape)
        logs = log_softmax(scores(now, x), axis=1)
        surplus = np.exp(logs)
        surplus[which, y] -= 1.0
        slope = np.vstack((x.T @ surplus, surplus.sum(axis=0))) / len(y)
        slope[:-1] += penalty * now[:-1]
        value = -logs[which, y].mean() + penalty * np.square(now[:-1]).sum() / 2.0
        return float(value), slope.ravel()

    done = minimize(loss, weights.ravel(), jac=True, method="L-BFGS-B", options={"maxiter": steps})
    found: np.ndarray = done.x.reshape(shape)
    return found


def scores(weights: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Logits (n, c)."""
    found: np.ndarray = x @ weights[:-1] + weights[-1]
    return found
