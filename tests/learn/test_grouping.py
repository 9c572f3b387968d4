"""Grouping hulls into global classes, with missing classes and switched labels."""

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracles import hull_distance
from strategies import examples, seeds

import fedhull
from fedhull.errors import InvalidInput
from fedhull.learn.grouping import match_hulls, share_matched
from fedhull.learn.hull_grouping import matching
from fedhull_lab.cuts import halved, mean_distances
from fedhull_lab.reproduce.grouping import measure_grouping, random_study


def study(seed, spread=0.5):
    return random_study(spread, np.random.default_rng(seed))


@given(seeds)
@examples(40)
def test_matching_never_puts_two_hulls_of_a_client_together(seed):
    hulls, owners, truth = study(seed, spread=1.5)
    groups = match_hulls(hulls, owners, len(set(truth))).groups
    pairs = list(zip(owners, groups.tolist(), strict=True))
    assert len(set(pairs)) == len(pairs)


def test_matching_finds_separable_classes():
    shares = []
    for seed in range(40):
        hulls, owners, truth = study(seed)
        shares.append(share_matched(match_hulls(hulls, owners, len(set(truth))).groups, truth))
    assert np.mean(shares) >= 0.98


def test_matching_is_at_least_as_good_as_spectral():
    scores = {"matching": [], "spectral": []}
    for seed in range(15):
        hulls, owners, truth = study(seed, spread=0.8)
        for method, found in scores.items():
            groups = match_hulls(hulls, owners, len(set(truth)), method).groups
            found.append(share_matched(groups, truth))
    assert np.mean(scores["matching"]) >= np.mean(scores["spectral"])


def test_all_methods_agree_on_two_plain_classes():
    a, b = np.array([[0.8, 0.0], [0.7, 0.1]]), np.array([[-0.8, 0.0], [-0.7, 0.1]])
    methods = ["matching", "spectral", "kernighan-lin", matching]
    for method in methods:
        groups = match_hulls([a, b, b, a, a, b], [0, 0, 1, 1, 2, 2], 2, method).groups
        assert groups.tolist() == [0, 1, 1, 0, 0, 1]


def random_weights(rng, n):
    weights = np.triu(rng.random((n, n)), 1)
    return weights + weights.T


def weight_between(weights, second):
    return weights[second][:, ~second].sum()


@given(seeds, st.integers(2, 40))
def test_halves_are_halves_and_get_lighter(seed, n):
    weights = random_weights(np.random.default_rng(seed), n)
    second = halved(weights, np.random.default_rng(seed))
    start = np.random.default_rng(seed).permutation(n) < n // 2
    assert second.sum() == n // 2
    assert weight_between(weights, second) <= weight_between(weights, start) + 1e-9


@given(seeds, st.integers(1, 20))
def test_two_heaps_are_cut_apart(seed, n):
    rng = np.random.default_rng(seed)
    heap = rng.permutation(np.repeat([0, 1], n))
    weights = random_weights(rng, 2 * n) + 5.0 * (heap[:, None] == heap)
    np.fill_diagonal(weights, 0.0)
    second = halved(weights, rng)
    assert len(set(heap[second])) == len(set(heap[~second])) == 1


def test_halves_weigh_no_more_than_those_of_networkx():
    ours, theirs = [], []
    for seed in range(30):
        rng = np.random.default_rng(seed)
        weights = random_weights(rng, 40)
        ours.append(weight_between(weights, halved(weights, rng)))
        graph = nx.from_numpy_array(weights)
        _, second = nx.community.kernighan_lin_bisection(graph, seed=seed)
        theirs.append(weight_between(weights, np.isin(np.arange(40), list(second))))
    assert np.mean(ours) <= 1.001 * np.mean(theirs)


def test_hull_distance_is_the_shortest_of_a_dense_search():
    rng = np.random.default_rng(0)
    t = np.linspace(0, 1, 80)
    for _ in range(20):
        hulls = []
        for centre in rng.uniform(-0.6, 0.6, (2, 2)):
            points = fedhull.mobius_add(centre, 0.3 * rng.uniform(-1, 1, (6, 2)))
            hulls.append(points[fedhull.minimal_hull(points)])
        found = hull_distance(*hulls)
        edges = [
            np.concatenate(
                [fedhull.geodesic(a, b, t) for a, b in zip(h, np.roll(h, -1, 0), strict=True)]
            )
            for h in hulls
        ]
        dense = fedhull.pairwise_distance(*edges).min()
        joint = np.concatenate(hulls)
        apart = set(fedhull.minimal_hull(joint).tolist())
        assert found <= dense + 1e-12
        if found > 0:
            assert dense - found < 0.02
        else:
            # they meet: their boundaries cross, or one lies inside the other
            assert dense < 0.05 or apart <= set(range(len(hulls[0]))) or min(apart) >= len(hulls[0])


def test_grouping_is_deterministic():
    hulls, owners, truth = study(3, spread=1.5)
    runs = [match_hulls(hulls, owners, len(set(truth))).groups.tolist() for _ in range(2)]
    assert runs[0] == runs[1]


def test_mean_distances_are_those_of_equation_10():
    hulls, _, _ = study(0)
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
    groups = match_hulls(hulls, np.repeat(np.arange(1000), 10), 10).groups
    assert share_matched(groups, list(range(10)) * 1000) == 1.0


def test_what_cannot_be_grouped_is_refused():
    point = np.array([[0.1, 0.0]])
    with pytest.raises(InvalidInput, match="for two classes, but this study has 3"):
        match_hulls([point] * 3, [0, 1, 2], 3, "kernighan-lin")
    with pytest.raises(InvalidInput, match="a site has 3 hulls"):
        match_hulls([point] * 3, [0, 0, 0], 2)
    with pytest.raises(InvalidInput, match=r"must be one of .*matching.*did you mean 'spectral'"):
        match_hulls([point] * 3, [0, 1, 2], 2, "spektral")


@pytest.mark.parametrize(
    ("made", "words"),
    [([0, 1], "each of the 3 hulls"), ([0.5, 1, 1], "type float64"), ([0, 1, 2], "made 3")],
)
def test_a_grouping_is_held_to_its_contract(made, words):
    with pytest.raises(InvalidInput, match=words):
        match_hulls([np.zeros((1, 2))] * 3, [0, 1, 2], 2, lambda *_, **__: made)


def test_a_function_groups_instead_of_a_name():
    def by_side(hulls, owners, n_groups, *, curvature, seed):
        return [int(hull[0, 0] > 0) for hull in hulls]

    hulls = [np.array([[x, 0.0]]) for x in (0.5, -0.5, 0.2)]
    assert match_hulls(hulls, [0, 0, 1], 2, by_side).groups.tolist() == [0, 1, 0]


def test_the_measurement_covers_every_method_and_spread():
    told = []
    result = measure_grouping(6, seed=0, advance=told.append)
    assert sum(told) == 18
    assert [row["spread"] for row in result["rows"]] == [0.3, 0.6, 1.0]
    for row in result["rows"]:
        assert {"matching", "spectral"} <= set(row["methods"])
        assert row["methods"]["matching"]["mean"] >= 0.95


@pytest.mark.parametrize("gap", [1e-6, 1e-9, 1e-12])
def test_tight_classes_at_the_rim_are_matched(gap):
    rng = np.random.default_rng(0)
    angle = 2 * np.pi * np.arange(4) / 4 + 0.3
    ways = np.column_stack((np.cos(angle), np.sin(angle)))
    beside = np.column_stack((-np.sin(angle), np.cos(angle)))
    hulls, owners, truth = [], [], []
    for client in range(6):
        for c in rng.permutation(4):
            points = ways[c] + gap * rng.standard_normal((5, 1)) * beside[c]
            points *= (1 - gap * rng.uniform(1, 2, (5, 1))) / np.hypot(*points.T)[:, None]
            hulls.append(points)
            owners.append(client)
            truth.append(int(c))
    assert share_matched(match_hulls(hulls, owners, 4).groups, truth) == 1.0
    # two classes that only the rim's wide space tells apart: about 7 from each other
    near = [h @ turned(1e3 * gap) for h in hulls[:4]]
    both = [h for i in range(3) for h in (hulls[truth.index(0)], near[truth.index(0)])]
    assert match_hulls(both, [0, 0, 1, 1, 2, 2], 2).groups.tolist() == [0, 1] * 3


def turned(angle):
    return np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]])
