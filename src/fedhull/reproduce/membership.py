"""Membership inference: was this cell among those that a study was trained on?

The attacker knows the study's settings, the cell with its class, and a pool of cells of which the
study holds a random half: with these he makes studies of his own, shadows, with the cell and
without it (Carlini et al., "Membership inference attacks from first principles", 2022). He does not
know how the cells are dealt out to sites, nor the sites' noise. He looks at

- the published model: how sure it is of the cell's class;
- what the coordinator reads: for hulls the distance to the nearest corner of the class, for moments
  the inner product of the totals, less their mean over shadows, with what the cell adds to them,
  every number weighed by the inverse of its variance over shadows;
- for moments, the same totals solved for all cells of the pool at once (`solved`).
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from fedhull.learn.moments import BITS, Extent, Moments
from fedhull.reproduce.released import (
    SITES,
    Opened,
    confidence,
    features_of,
    nearest_corner,
    noise_keys,
    opened,
    study_for,
)
from fedhull.study.moments.sum import MomentTotal
from fedhull.study.noise import noise_of
from fedhull.study.study import Study

MODEL, READ, SOLVED = "model", "read", "solved"
FALSE_ALARMS = 0.01
_RESAMPLED = 400
# Sums are exact; with so little noise in them they can still be solved for in floats.
_ROUNDING = 1e-6


@dataclass(frozen=True)
class Sizes:
    """How many cells are targets, how many shadows there are, and how many studies are attacked."""

    targets: int = 200
    shadows: int = 48
    attacked: int = 8


class Pool(NamedTuple):
    """All cells x (n, 2) that may be in a study, and the number of the class (n,) of each."""

    x: np.ndarray
    number: np.ndarray
    names: list[str]

    @classmethod
    def of(cls, x: np.ndarray, y: np.ndarray) -> "Pool":
        """Cells with labels y (n,)."""
        names, number = np.unique(y.astype(str), return_inverse=True)
        return cls(x, number, names.tolist())

    @property
    def radius(self) -> float:
        """What holds all cells."""
        return float(np.hypot.reduce(self.x, axis=1).max() * (1.0 + 1e-9))


class Drawn(NamedTuple):
    """Studies of one kind: what came of each, and which cells (s, n) are in it."""

    made: list[Opened]
    inside: np.ndarray


def attack(kind: str, pool: Pool, sizes: Sizes, seed: int) -> dict[str, dict[str, Any]]:
    """How well each look at studies of a kind tells who is in them."""
    study = study_for(kind, pool.names, pool.radius)
    targets = np.random.default_rng(seed).permutation(len(pool.x))[: sizes.targets]
    shadows = draw(study, pool, sizes.shadows, seed, 1)
    attacked = draw(study, pool, sizes.attacked, seed, 2)
    x, number = pool.x[targets], pool.number[targets]
    truth = attacked.inside[:, targets]

    def compared(look: Callable[[Opened], np.ndarray]) -> np.ndarray:
        return likelihood_ratios(
            np.array([look(made) for made in shadows.made]),
            shadows.inside[:, targets],
            np.array([look(made) for made in attacked.made]),
        )

    scores = {MODEL: compared(lambda made: confidence(made, x, number))}
    if study.has_bins:
        scores[READ] = compared(lambda made: nearest_corner(made, x, number))
    else:
        totals = [made.total for made in attacked.made if made.total is not None]
        seen = [made.total.moments for made in shadows.made if made.total is not None]
        features = features_of(study, pool.x)
        inside = shadows.inside[:, targets]
        scores[READ] = np.array(
            [weighed(total, seen, inside, features[targets], number) for total in totals]
        )
        found = solved(study, totals, features, pool.number)
        scores[SOLVED] = found[:, targets]
    return {look: summary(found, truth, seed) for look, found in scores.items()}


def draw(study: Study, pool: Pool, n_studies: int, seed: int, purpose: int) -> Drawn:
    """So many studies, each over a random half of the pool, dealt out equally to the sites."""
    rng = np.random.default_rng([seed, purpose])
    made, inside = [], np.zeros((n_studies, len(pool.x)), dtype=bool)
    for i in range(n_studies):
        rows = rng.permutation(len(pool.x))[: len(pool.x) // 2]
        inside[i, rows] = True
        owner = np.arange(len(rows)) % SITES
        keys = noise_keys(seed, purpose, i)
        made.append(opened(study, pool.x[rows], pool.number[rows], owner, keys))
    return Drawn(made, inside)


def likelihood_ratios(shadow: np.ndarray, inside: np.ndarray, seen: np.ndarray) -> np.ndarray:
    """Logarithms of likelihood ratios (a, t), with the cell against without it, of statistics seen
    (a, t): normal distributions are fitted to those of shadows (s, t), cell by cell, for shadows
    that it is `inside` (s, t) and for the others."""
    logs = []
    for group in (inside, ~inside):
        n = np.maximum(group.sum(axis=0), 1)
        mean = np.where(group, shadow, 0.0).sum(axis=0) / n
        variance = np.where(group, np.square(shadow - mean), 0.0).sum(axis=0) / n
        # of a few shadows a variance may come out far too small
        variance = np.maximum(variance, 0.01 * shadow.var(axis=0) + 1e-12)
        logs.append(-0.5 * (np.square(seen - mean) / variance + np.log(variance)))
    return logs[0] - logs[1]


def weighed(
    total: MomentTotal,
    shadows: list[Moments],
    inside: np.ndarray,
    features: np.ndarray,
    number: np.ndarray,
) -> np.ndarray:
    """Likelihood ratios (t,) of the inner product of totals with what each target adds to them;
    of the shadows' totals only so much is used as is known of these."""
    cut = [_padded(moments, total.extent) for moments in shadows]
    grams, sums = (np.array([_natural(m)[k] for m in cut]) for k in (0, 1))
    gram, of_classes = _natural(total.moments)
    d = total.extent.features
    phi = features[:, :d]

    def product(of_gram: np.ndarray, of_sums: np.ndarray) -> np.ndarray:
        weighed_gram = np.triu((of_gram - grams.mean(axis=0)) / (grams.var(axis=0) + 1e-12))
        weighed_sums = (of_sums - sums.mean(axis=0)) / (sums.var(axis=0) + 1e-12)
        by_products = np.einsum("td,td->t", phi @ weighed_gram, phi)
        return by_products + np.einsum("td,td->t", weighed_sums[number], phi)

    shadow = np.array([product(*pair) for pair in zip(grams, sums, strict=True)])
    seen = product(gram, of_classes)
    return likelihood_ratios(shadow, inside, seen[None])[0]


def solved(
    study: Study, totals: list[MomentTotal], features: np.ndarray, number: np.ndarray
) -> np.ndarray:
    """How likely each cell (a, n) of the pool is in each of the studies, by least squares: totals
    are Σ mᵢvᵢ plus noise, vᵢ being what cell i adds and mᵢ 0 or 1, taken to have variance ¼.

    With v in units of the noise, m − ½ has the mean P·V(total − ½Σvᵢ) and the covariance
    P = (VVᵀ + 4)⁻¹; the mean over the variance is the logarithm of a likelihood ratio. VVᵀ follows
    from the features: ⟨φφᵀ, ψψᵀ⟩ over a triangle is ((φ·ψ)² + Σφ²ψ²)/2.
    """
    from scipy.linalg import cho_factor, cho_solve
    from scipy.linalg.lapack import dpotri

    noise = noise_of(study)
    deviations = (_ROUNDING,) * 3 if noise is None else noise.total_deviations(SITES)
    of_gram, of_sums, of_counts = (1.0 / np.square(deviation) for deviation in deviations)
    same = number[:, None] == number
    found, known = [], None
    for total in totals:
        extent = total.extent
        phi = features[:, : extent.features]
        of_class = np.array(extent.of_class)
        within = phi * (np.arange(extent.features) < of_class[number][:, None])
        there = (of_class[number] > 0).astype(np.float64)
        if known is None or known[0] != extent:
            squares = np.square(phi)
            products = of_gram * (np.square(phi @ phi.T) + squares @ squares.T) / 2.0
            products *= there[:, None] * there
            products += same * (of_sums * (within @ within.T) + of_counts * np.outer(there, there))
            # what floats cannot tell from nothing must not come out below it
            products[np.diag_indices_from(products)] += 4.0 + 1e-15 * np.trace(products)
            factor = cho_factor(products)
            known = extent, factor, np.diag(dpotri(factor[0], factor[1])[0]).copy()
        gram, sums = _natural(total.moments)
        counts = total.moments.counts.astype(np.float64)
        half = 0.5 * there
        rest = gram - (phi * half[:, None]).T @ phi
        member = (number == np.arange(len(sums))[:, None]) * half
        rest_sums = sums - member @ within
        rest_counts = counts - np.bincount(number, half, minlength=len(counts))
        seen = of_gram * np.einsum("nd,nd->n", phi @ np.triu(rest), phi) * there
        seen += of_sums * np.einsum("nd,nd->n", rest_sums[number], within)
        seen += of_counts * rest_counts[number] * there
        found.append(cho_solve(known[1], seen) / known[2])
    return np.array(found)


def _padded(moments: Moments, extent: Extent) -> Moments:
    """Moments cut to an extent; with zeros, where less is known of them than that."""
    d, have = extent.features, len(moments.gram)
    if have < d:
        wide = Moments.none(d, len(moments.counts))
        wide.gram[:have, :have], wide.sums[:, :have] = moments.gram, moments.sums
        moments = Moments(wide.gram, wide.sums, moments.counts)
    return moments.cut(extent)


def _natural(moments: Moments) -> tuple[np.ndarray, np.ndarray]:
    """Σφφᵀ and Σφ of each class as floats."""
    gram = np.ldexp(moments.gram.astype(np.float64), -2 * BITS)
    return gram, np.ldexp(moments.sums.astype(np.float64), -BITS)


def summary(scores: np.ndarray, truth: np.ndarray, seed: int) -> dict[str, Any]:
    """Of scores (a, t) of cells that are in the studies if `truth` (a, t) says so: 2·AUC − 1 and
    the rate of true alarms at one false one in a hundred, in percent, with 95 % intervals over
    targets."""
    rng = np.random.default_rng([seed, 3])
    found = [_rates(scores, truth)]
    for _ in range(_RESAMPLED):
        some = rng.integers(scores.shape[1], size=scores.shape[1])
        found.append(_rates(scores[:, some], truth[:, some]))
    low, high = 100.0 * np.quantile(found[1:], [0.025, 0.975], axis=0)
    names = ("advantage", "true_alarms")
    return {
        name: {"value": 100.0 * float(found[0][k]), "low": float(low[k]), "high": float(high[k])}
        for k, name in enumerate(names)
    }


def _rates(scores: np.ndarray, truth: np.ndarray) -> tuple[float, float]:
    from scipy.stats import rankdata

    inside, outside = scores[truth], scores[~truth]
    ranks = rankdata(np.concatenate((inside, outside)))[: len(inside)]
    area = (ranks.mean() - (len(inside) + 1) / 2.0) / len(outside)
    threshold = np.quantile(outside, 1.0 - FALSE_ALARMS, method="higher")
    return float(2.0 * area - 1.0), float((inside > threshold).mean())
