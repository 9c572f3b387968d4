"""What can be solved for: the cells behind a slot's sketch, and behind totals of moments.

The attacker is the coordinator, who knows the count, the features, and how cells of such a class
usually lie, and fits cells to the numbers it has. Distances are hyperbolic, between cells matched
one to one, and compared with those of as many cells drawn afresh: what a guess is worth."""

from itertools import combinations

import numpy as np
import pytest
from scipy.optimize import least_squares, linear_sum_assignment

import fedhull
from fedhull.learn.horocycles import draw_horocycles, horocycle_features
from fedhull.learn.moments import BITS, Extent, Moments
from fedhull.learn.sketch import class_sketch, from_fixed, sketch_waves, slot_sketch

WAVES = sketch_waves(2, 0)


def draw(rng, n):
    """Cells of a class, as wide as those of real ones."""
    return fedhull.exp_map(np.array([0.5, 0.2]), 0.15 * rng.standard_normal((n, 2)))


def features_and_slopes(x, waves):
    """φ (n, D) and its derivatives (n, D, 2) by steps of unit hyperbolic length."""
    gap = 1.0 - (x * x).sum(axis=1)
    away = x[:, None] - waves.directions
    square = (away**2).sum(axis=2)
    angle = waves.frequencies * np.log(gap[:, None] / square) + waves.phases
    slope = -2.0 * x[:, None] / gap[:, None, None] - 2.0 * away / square[..., None]
    slope *= gap[:, None, None] / 2.0
    return np.cos(angle), -np.sin(angle)[..., None] * waves.frequencies[:, None] * slope


def sketch(x):
    found, slopes = features_and_slopes(x, WAVES)
    return found.sum(axis=0), slopes.transpose(1, 0, 2).reshape(8, -1)


def totals(x, waves):
    """Σφ and the upper triangle of Σφφᵀ, and their derivatives."""
    found, slopes = features_and_slopes(x, waves)
    i, j = np.triu_indices(len(waves.phases))
    products = slopes[:, i] * found[:, j, None] + found[:, i, None] * slopes[:, j]
    numbers = np.concatenate((found.sum(axis=0), (found.T @ found)[i, j]))
    all_slopes = np.concatenate((slopes, products), axis=1).transpose(1, 0, 2)
    return numbers, all_slopes.reshape(len(numbers), -1)


def solve(numbers_of, target, start):
    """(cells, misfit): Gauss–Newton with a trust region, in normal coordinates about the start."""

    def move(steps):
        return fedhull.exp_map(
            start, steps.reshape(-1, 2) * (1 - (start**2).sum(axis=1))[:, None] / 2
        )

    def slopes(steps):
        # by differences along the coordinates, through the exact derivative at the moved cells
        x, h = move(steps), 1e-6
        moved = numbers_of(x)[1].reshape(len(target), -1, 2)
        frames = []
        for axis in range(2):
            bump = np.zeros((len(start), 2))
            bump[:, axis] = h
            frames.append((move(steps + bump.ravel()) - x) / h)
        unit = (1.0 - (x * x).sum(axis=1))[:, None, None] / 2.0
        return np.einsum("mna,nab->mnb", moved, np.stack(frames, axis=2) / unit).reshape(
            len(target), -1
        )

    result = least_squares(
        lambda steps: numbers_of(move(steps))[0] - target,
        np.zeros(start.size), jac=slopes, xtol=1e-15, ftol=1e-15, gtol=1e-15, max_nfev=200,
    )  # fmt: skip
    return move(result.x), np.abs(result.fun).max()


def apart(a, b):
    """Distances between cells of a and b, matched one to one."""
    table = fedhull.distance(a[:, None], b)
    return table[linear_sum_assignment(table)]


def guess(rng, truth):
    return np.median([apart(draw(rng, len(truth)), truth).mean() for _ in range(30)])


def fits(rng, truth, target, known=None, tries=12, off=2.0**-20):
    """Cells that a solver finds from many starts and that fit the sketch; `known` are given."""
    base = np.zeros(8) if known is None else sketch(known)[0]
    found = [solve(sketch, target - base, draw(rng, len(truth))) for _ in range(tries)]
    return [cells for cells, misfit in found if misfit <= off]


@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_an_unrounded_sketch_of_up_to_four_cells_gives_them_away(n):
    rng = np.random.default_rng(n)
    truth = draw(rng, n)
    found = fits(rng, truth, from_fixed(class_sketch(truth)))
    assert min(apart(cells, truth).max() for cells in found) < 0.01 * guess(rng, truth)


@pytest.mark.parametrize("n", [5, 8])
def test_from_five_cells_on_a_sketch_fits_many_sets_of_cells(n):
    rng = np.random.default_rng(n)
    truth = draw(rng, n)
    found = fits(rng, truth, from_fixed(class_sketch(truth)))
    assert len(found) >= 5
    by = guess(rng, truth)
    # no two alike, and none the cells themselves: but they lie closer than a guess
    assert min(apart(a, b).max() for a, b in combinations(found, 2)) > 1e-4 * by
    off = np.median([apart(cells, truth).mean() for cells in found])
    assert 0.05 * by < off < by


def test_whoever_knows_all_cells_but_four_finds_these_unless_the_sketch_is_rounded():
    rng = np.random.default_rng(1)
    truth, known = draw(rng, 4), draw(rng, 16)
    everything = np.concatenate((truth, known))
    found = fits(rng, truth, from_fixed(class_sketch(everything)), known)
    by = guess(rng, truth)
    assert min(apart(cells, truth).max() for cells in found) < 0.01 * by
    rounded = from_fixed(slot_sketch(everything))
    nearest = [solve(sketch, rounded - sketch(known)[0], draw(rng, 4))[0] for _ in range(12)]
    assert min(apart(cells, truth).max() for cells in nearest) > 0.1 * by


def test_whoever_knows_all_cells_but_one_learns_roughly_where_it_lies():
    # this is not differential privacy
    rng = np.random.default_rng(2)
    truth, known = draw(rng, 1), draw(rng, 19)
    rounded = from_fixed(slot_sketch(np.concatenate((truth, known)))) - sketch(known)[0]
    found = min((solve(sketch, rounded, draw(rng, 1)) for _ in range(8)), key=lambda pair: pair[1])
    assert 0.01 < apart(found[0], truth).max() < guess(rng, truth)


def subsets_of_five(each, target):
    """All sets of five candidates with these features (N, 8) whose sum is the target, to 24 bits:
    a pair and one more on one side, a pair on the other."""
    i, j = np.triu_indices(len(each), 1)
    pairs = each[i] + each[j]
    order = np.argsort(pairs[:, 0])
    first = pairs[order, 0]
    found = set()
    for one in range(len(each)):
        missing = target - each[one] - pairs
        begin = np.searchsorted(first, missing[:, 0] - 2.0**-22)
        end = np.searchsorted(first, missing[:, 0] + 2.0**-22)
        for row in np.flatnonzero(end > begin):
            for other in order[begin[row] : end[row]]:
                members = {one, *map(int, (i[row], j[row], i[other], j[other]))}
                if len(members) == 5 and (np.abs(missing[row] - pairs[other]) < 2.0**-21).all():
                    found.add(tuple(sorted(members)))
    return found


def test_unrounded_a_sketch_would_tell_which_five_of_the_candidates_a_class_holds():
    rng = np.random.default_rng(0)
    candidates = draw(rng, 100)
    held = tuple(sorted(rng.choice(100, 5, replace=False).tolist()))
    exact = from_fixed(class_sketch(candidates[list(held)]))
    assert subsets_of_five(horocycle_features(candidates, WAVES, 1.0), exact) == {held}


@pytest.mark.parametrize("seed", range(3))
def test_rounded_a_sketch_fits_very_many_sets_of_five_out_of_300_candidates(seed):
    rng = np.random.default_rng(seed)
    candidates = draw(rng, 300)
    each = horocycle_features(candidates, WAVES, 1.0)
    held = rng.choice(300, 5, replace=False)
    sent = from_fixed(slot_sketch(candidates[held]))
    sets = rng.integers(0, 300, (1_000_000, 5))
    sums = sum(each[sets[:, k]] for k in range(5))
    fitting = sets[(np.abs(sums - sent) <= 0.25).all(axis=1)]
    # one in 20,000 of the 2·10¹⁰ sets there are: a million
    assert len(fitting) >= 50
    # and none of the candidates is in most of them
    assert np.bincount(fitting.ravel()).max() < 0.5 * len(fitting)


def pinned(rng, n_features, n):
    """The share of n cells that exact totals determine to within 0.01, given a start nearby: the
    least variance under the rounding of features, with cells known beforehand to within ½."""
    x, waves = draw(rng, n), draw_horocycles(n_features, 2, (1.0, 3.0), 0)
    slopes = totals(x, waves)[1]
    information = slopes.T @ slopes / (n * 4.0 ** -(BITS + 1)) + 4.0 * np.eye(2 * n)
    variances = np.diag(np.linalg.inv(information)).reshape(n, 2).sum(axis=1)
    return float((np.sqrt(variances) < 0.01).mean())


def solved_totals(truth, n_features, starts):
    """By how much the best of the solutions from these starts misses its worst cell."""
    waves = draw_horocycles(n_features, 2, (1.0, 3.0), 0)
    classes = np.zeros(len(truth), dtype=int)
    moments = Moments.of(horocycle_features(truth, waves, 1.0), classes, 1)
    upper = moments.gram[np.triu_indices(n_features)] / 4.0**BITS
    target = np.concatenate((moments.sums[0] / 2.0**BITS, upper))
    found = [solve(lambda x: totals(x, waves), target, start) for start in starts]
    return apart(min(found, key=lambda pair: pair[1])[0], truth).max()


@pytest.mark.parametrize("n_features", [16, 32])
def test_totals_of_a_handful_of_cells_are_solved_from_random_starts(n_features):
    # not always: with 32 features, the cells of seed 3 were not found from 20 starts
    rng = np.random.default_rng(10)
    truth = draw(rng, 5)
    assert solved_totals(truth, n_features, [draw(rng, 5) for _ in range(20)]) < 1e-3


def test_totals_of_a_dozen_cells_are_solved_from_a_start_nearby():
    rng = np.random.default_rng(3)
    truth = draw(rng, 12)
    near = [fedhull.exp_map(truth, 0.02 * rng.standard_normal((12, 2))) for _ in range(3)]
    assert solved_totals(truth, 32, near) < 1e-3 < min(apart(x, truth).min() for x in near)


@pytest.mark.parametrize("n", [20, 50, 100, 200, 400, 800])
def test_within_the_extent_that_so_many_cells_allow_totals_determine_few_of_them(n):
    rng = np.random.default_rng(n)
    n_features = Extent.of([n], most=128, dimension=2).features
    assert pinned(rng, n_features, n) <= 0.1


@pytest.mark.parametrize("n_features", [16, 32, 64])
def test_totals_of_many_more_cells_than_features_determine_few_of_them(n_features):
    rng = np.random.default_rng(4)
    assert pinned(rng, n_features, n_features // 4) > 0.9
    assert pinned(rng, n_features, 8 * n_features) < 0.1
