"""One site's slots brought onto classes: which isometry, and which slot is which class.

The two depend on each other, so that a descent from one start ends where it started. Here many
isometries are tried, those that are likely beforehand; for each, slots are assigned to different
classes at the least cost; the best few are refined, isometry and assignment in turn.
"""

from functools import cache
from typing import NamedTuple

import numpy as np

from fedhull.disc.align import align_shrunk, generators
from fedhull.disc.isometry import Isometry, rotation, translation
from fedhull.learn.places import Places

# How large isometries are beforehand: a move, and a turn.
MOVE, TURN = 0.35, 0.18
# A slot counts like fewer cells than this, however many it has: sites differ by more than chance
# (as in `slots`); and along any axis centres differ by this much beyond it.
_MOST_WEIGHT, _DIFFERENT = 20.0, 0.1
# No slot costs more than this, so that one which fits nowhere does not move the others.
_MOST_COST = 30.0
# A slot of a class that nobody else has costs as much as a place drawn from all over the disc.
ALONE = 12.0
_RINGS, _TURNS = (0.25, 0.5), np.linspace(-0.5, 0.5, 11)
# The best few assignments are refined, as long as they cost no more than this above the least.
_REFINED, _STEPS, _NEAR = 4, 4, 40.0
# Isometries are looked for this closely: slots are assigned by them, and fitted again.
_ROUGHLY = 0.02


class Template(NamedTuple):
    """Classes: their places, and the weights (g,) of the slots behind them."""

    places: Places
    weights: np.ndarray


class Registration(NamedTuple):
    """An isometry, classes (n,) of slots, −1 for its own, and −2·log of their probability."""

    isometry: Isometry
    classes: np.ndarray
    cost: float


def slot_weights(counts: np.ndarray) -> np.ndarray:
    """Weights of slots with these counts."""
    return counts / (1.0 + counts / _MOST_WEIGHT)


def register(
    places: Places, weights: np.ndarray, template: Template, alone: float = ALONE
) -> list[Registration]:
    """Ways to see a site's slots as classes of the template, the likeliest first, no two of which
    assign alike. alone : what a slot of no class costs."""
    costs = []
    for f in _grid():
        table = slot_costs(places.moved(f), weights, template)
        classes, cost = assign(table, alone)
        costs.append((cost + prior_cost(f), classes, f))
    costs.sort(key=lambda entry: entry[0])
    ways: dict[bytes, Registration] = {}
    tried: set[bytes] = set()
    for cost, classes, f in costs:
        if len(tried) == _REFINED or cost > costs[0][0] + _NEAR:
            break
        if classes.tobytes() in tried:
            continue
        tried.add(classes.tobytes())
        refined = _refined(places, weights, template, alone, f, classes)
        key = refined.classes.tobytes()
        if key not in ways or refined.cost < ways[key].cost:
            ways[key] = refined
    return sorted(ways.values(), key=lambda entry: entry.cost)


def slot_costs(places: Places, weights: np.ndarray, template: Template) -> np.ndarray:
    """Misfit of slots and classes (n, g): −2 times the logarithm of the probability, up to a
    constant, of the slots' centres and of the scatter of their cells."""
    z, c = places.centres[:, None], template.places.centres
    seen = (z - c) / (1.0 - np.conj(c) * z)
    length = np.maximum(np.abs(seen), 1e-300)
    away = 2.0 * np.arctanh(np.minimum(length, 1.0 - 1e-15)) * seen / length
    steps = np.stack((away.real, away.imag), axis=-1)
    both = 1.0 / weights[:, None] + 1.0 / template.weights
    cells = template.places.scatter
    noise = cells * both[..., None, None] + _DIFFERENT**2 * np.eye(2)
    apart = np.einsum("nga,ngab,ngb->ng", steps, np.linalg.inv(noise), steps)
    apart += np.linalg.slogdet(noise)[1]
    # twice the divergence of two normal distributions; a covariance is less certain than a mean
    wide = cells + _DIFFERENT**2 * np.eye(2)
    mine = places.scatter[:, None] + _DIFFERENT**2 * np.eye(2)
    ratio = np.linalg.inv(wide) @ mine
    shape = np.trace(ratio, axis1=-2, axis2=-1) - np.linalg.slogdet(ratio)[1] - 2.0
    return np.minimum(apart + 0.5 * shape / both + 4.0, _MOST_COST)


def assign(table: np.ndarray, alone: float) -> tuple[np.ndarray, float]:
    """Different classes (n,) for the slots, or −1, at the least total cost, and the cost."""
    from scipy.optimize import linear_sum_assignment

    n, g = table.shape
    own = np.full((n, n), 1e6)
    np.fill_diagonal(own, min(alone, 1e5))
    rows, columns = linear_sum_assignment(np.hstack((table, own)))
    cost = float(np.hstack((table, own))[rows, columns].sum())
    return np.where(columns < g, columns, -1), cost


def prior_cost(f: Isometry) -> float:
    """−2 times the logarithm of the probability of an isometry beforehand."""
    move = 2.0 * np.arctanh(min(float(np.hypot.reduce(f.shift)), 1.0 - 1e-15))
    turn = np.arctan2(f.turn[1, 0], f.turn[0, 0])
    return float((move / MOVE) ** 2 + (turn / TURN) ** 2)


def freedom_cost(
    places: Places, weights: np.ndarray, template: Template, classes: np.ndarray
) -> float:
    """The cost of an isometry's freedom to fit: log|I + Λ⁻¹H| for the information H in slots and Λ
    in the prior. Without it sites would be moved that were measured alike."""
    held = classes >= 0
    known = np.diag([MOVE**-2.0, MOVE**-2.0, TURN**-2.0])
    z = np.column_stack((places.centres[held].real, places.centres[held].imag))
    lengths = 2.0 / (1.0 - (z * z).sum(axis=1))
    ways = generators(z, 1.0) * lengths[:, None]
    information = np.einsum(
        "aik,bik,i->ab", ways, ways, 1.0 / _variances(weights, template, classes)
    )
    return float(np.linalg.slogdet(known + information)[1] - np.linalg.slogdet(known)[1])


def fit_isometry(
    places: Places, weights: np.ndarray, template: Template, classes: np.ndarray, start: Isometry
) -> Isometry:
    """The isometry that brings slots onto their classes, shrunk by what they say."""
    held = classes >= 0
    if not held.any():
        return start
    mine, theirs = places.of(held), template.places.of(classes[held])
    variances = _variances(weights, template, classes)
    source, target = (np.column_stack((p.centres.real, p.centres.imag)) for p in (mine, theirs))
    return align_shrunk(
        source, target, variances, scales=(MOVE,), start=start, least_gain=_ROUGHLY
    ).isometry


def _variances(weights: np.ndarray, template: Template, classes: np.ndarray) -> np.ndarray:
    """Variances along an axis of centres of slots, of those with a class, about its centre."""
    held = classes >= 0
    both = 1.0 / weights[held] + 1.0 / template.weights[classes[held]]
    scatter = template.places.scatter[classes[held]]
    return 0.5 * np.trace(scatter, axis1=1, axis2=2) * both + _DIFFERENT**2


def _refined(
    places: Places,
    weights: np.ndarray,
    template: Template,
    alone: float,
    f: Isometry,
    classes: np.ndarray,
) -> Registration:
    best = None
    for _ in range(_STEPS):
        f = fit_isometry(places, weights, template, classes, f)
        new, cost = assign(slot_costs(places.moved(f), weights, template), alone)
        now = Registration(f, new, cost + prior_cost(f))
        if best is None or now.cost < best.cost:
            best = now
        if (new == classes).all():
            break
        classes = new
    assert best is not None
    return best


@cache
def _grid() -> list[Isometry]:
    """Isometries that are likely beforehand, close enough together that one leads to the best."""
    ways = np.arange(8) * np.pi / 4.0
    moves = [np.zeros(2)] + [
        np.tanh(ring / 2.0) * np.array([np.cos(way), np.sin(way)])
        for ring in _RINGS
        for way in ways
    ]
    return [translation(move) @ rotation(float(turn)) for turn in _TURNS for move in moves]
