"""The complexity study counts what Theorem 2 and Definition 5 speak of."""

import pytest

from fedhull_lab.reproduce.hull_sizes import fitted_exponent, measure_complexity, theorem_exponent


def test_theorem_2_exponents():
    assert [theorem_exponent(c) for c in (0.3, 0.45)] == [0.3, 0.45]
    assert [theorem_exponent(c) for c in (0.55, 0.65)] == pytest.approx([0.45, 0.35])
    assert theorem_exponent(0.8) == pytest.approx(1 / 3)


def test_fit_recovers_a_power_law():
    sizes = [1000, 10_000, 100_000, 1_000_000]
    assert fitted_exponent(sizes, [5 * n**0.37 for n in sizes]) == pytest.approx(0.37)


def test_fine_bins_change_nothing_and_corners_bound_what_is_sent():
    told = []
    result = measure_complexity([1000, 10_000], seed=0, advance=told.append)
    assert sum(told) == 1000 * result.trials[0] + 10_000 * result.trials[1]
    for i in range(2):
        assert result.quantized[0.8][i] == pytest.approx(result.hull[i], rel=0.02)
        assert all(sent[i] <= result.hull[i] for sent in result.epsilon_hull.values())


def test_same_seed_same_numbers():
    a, b = (measure_complexity([1000, 2000], seed=3) for _ in range(2))
    assert (a.hull, a.quantized, a.epsilon_hull) == (b.hull, b.quantized, b.epsilon_hull)
