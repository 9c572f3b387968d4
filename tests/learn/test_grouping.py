"""Grouping hulls into global classes, with missing classes and switched labels."""

import numpy as np
import pytest
from hypothesis import given, settings
from strategies import seeds

import fedhull
from fedhull.data.partition import partition
from fedhull.errors import InvalidInput
from fedhull.learn.grouping import group_hulls, mean_distances
from fedhull.simulation.trial import _share_matched


def random_study(seed, spread=0.5):
    """Hulls, owners and true classes of a study with missing classes and unequal shares."""
    rng = np.random.default_rng(seed)
    n_classes, n_clients = rng.integers(2, 9), rng.integers(3, 21)
    y = rng.integers(0, n_classes, 400 * n_classes)
    angle = 2 * np.pi * (np.arange(n_classes) + rng.uniform(-0.2, 0.2, n_classes)) / n_classes
    centres = np.tanh(rng.uniform(0.75, 1.5, n_classes))[:, None] * np.column_stack(
        (np.cos(angle), np.sin(angle))
    )
    gap = 1 - (centres[y] ** 2).sum(axis=1, keepdims=True)
    x = fedhull.exp_map(centres[y], spread * rng.standard_normal((len(y), 2)) * gap / 2)
    owner = partition(y, int(n_clients), "dirichlet:0.5", seed)
    hulls, owners, truth = [], [], []
    for client in range(n_clients):
        present = [c for c in range(n_classes) if ((owner == client) & (y == c)).any()]
        missing = rng.permutation(present)[: rng.integers(0, n_classes // 3 + 1)]
        for c in rng.permutation([c for c in present if c not in missing]):
            points = x[(owner == client) & (y == c)]
            hulls.append(points[fedhull.minimal_hull(points)])
            owners.append(client)
            truth.append(int(c))
    return hulls, owners, truth


@given(seeds)
@settings(max_examples=40)
def test_matching_never_puts_two_hulls_of_a_client_together(seed):
    hulls, owners, truth = random_study(seed, spread=1.5)
    groups = group_hulls(hulls, owners, len(set(truth)))
    pairs = list(zip(owners, groups.tolist(), strict=True))
    assert len(set(pairs)) == len(pairs)


def test_matching_finds_separable_classes():
    shares = []
    for seed in range(40):
        hulls, owners, truth = random_study(seed)
        shares.append(_share_matched(group_hulls(hulls, owners, len(set(truth))), truth))
    assert np.mean(shares) >= 0.98


def test_matching_is_at_least_as_good_as_spectral():
    scores = {"matching": [], "spectral": []}
    for seed in range(15):
        hulls, owners, truth = random_study(seed, spread=0.8)
        for method, found in scores.items():
            groups = group_hulls(hulls, owners, len(set(truth)), method)
            found.append(_share_matched(groups, truth))
    assert np.mean(scores["matching"]) >= np.mean(scores["spectral"])


def test_all_methods_agree_on_two_plain_classes():
    a, b = np.array([[0.8, 0.0], [0.7, 0.1]]), np.array([[-0.8, 0.0], [-0.7, 0.1]])
    for method in ("matching", "spectral", "kernighan-lin"):
        groups = group_hulls([a, b, b, a, a, b], [0, 0, 1, 1, 2, 2], 2, method)
        assert groups.tolist() == [0, 1, 1, 0, 0, 1]


def test_grouping_is_deterministic():
    hulls, owners, truth = random_study(3, spread=1.5)
    runs = [group_hulls(hulls, owners, len(set(truth))).tolist() for _ in range(2)]
    assert runs[0] == runs[1]


def test_mean_distances_are_those_of_equation_10():
    hulls, _, _ = random_study(0)
    table = mean_distances(hulls[:5])
    for i in range(5):
        for j in range(5):
            expected = fedhull.pairwise_distance(hulls[i], hulls[j]).mean()
            assert table[i, j] == pytest.approx(expected)


def test_a_thousand_clients_are_grouped():
    rng = np.random.default_rng(0)
    angle = 2 * np.pi * np.arange(10) / 10
    centres = 0.8 * np.column_stack((np.cos(angle), np.sin(angle)))
    hulls = [c + 0.02 * rng.standard_normal((4, 2)) for _ in range(1000) for c in centres]
    groups = group_hulls(hulls, np.repeat(np.arange(1000), 10), 10)
    assert _share_matched(groups, list(range(10)) * 1000) == 1.0


def test_what_cannot_be_grouped_is_refused():
    point = np.array([[0.1, 0.0]])
    with pytest.raises(InvalidInput, match="for two classes, this study has 3"):
        group_hulls([point] * 3, [0, 1, 2], 3, "kernighan-lin")
    with pytest.raises(InvalidInput, match="a client has 3 hulls"):
        group_hulls([point] * 3, [0, 0, 0], 2)
    with pytest.raises(InvalidInput, match="grouping must be"):
        group_hulls([point] * 3, [0, 1, 2], 2, "magic")
