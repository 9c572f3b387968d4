"""Sarkar's construction held to its laws, and to WordNet's mammals."""

import os
from pathlib import Path

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import curvatures, examples, seeds

from fedhull.disc.maps import distance, pairwise_distance
from fedhull.embed.edges import read_edges, rooted
from fedhull.embed.embedder import load_embedder
from fedhull.embed.tree import TreeEmbedder, embed_tree
from fedhull.errors import InvalidInput

FAMILY = [("cat", "mammal"), ("dog", "mammal"), ("puppy", "dog"), ("whelp", "dog")]
spreads = st.sampled_from(["even", "leaves"])


@st.composite
def trees(draw, largest=40):
    """A random tree as undirected edges, its weights, and a root."""
    n, seed = draw(st.integers(2, largest)), draw(seeds)
    tree = nx.random_labeled_tree(n, seed=seed)
    weights = np.random.default_rng(seed).uniform(0.5, 2.0, n)
    weighted = draw(st.booleans())
    edges = [(a, b, weights[a] if weighted else 1.0) for a, b in tree.edges()]
    return edges, draw(st.integers(0, n - 1))


def tree_distances(edges, nodes):
    graph = nx.Graph()
    graph.add_weighted_edges_from(edges)
    lengths = dict(nx.all_pairs_dijkstra_path_length(graph))
    return np.array([[lengths[a][b] for b in nodes] for a in nodes])


@given(trees(), spreads, curvatures)
@examples(50)
def test_children_lie_exactly_one_edge_from_their_parent(drawn, spread, k):
    edges, root = drawn
    made = embed_tree(edges, root, curvature=k, spread=spread)
    at = dict(zip(made.nodes, made.points, strict=True))
    for a, b, weight in edges:
        np.testing.assert_allclose(distance(at[a], at[b], k), made.edge_length * weight, rtol=1e-6)
    assert (at[root] == 0).all()
    assert np.sqrt(k) * np.linalg.norm(made.points, axis=1).max() <= 1 - 0.99e-9


@given(trees(), spreads)
@examples(50)
def test_distortion_is_that_of_all_pairs_and_at_least_one(drawn, spread):
    edges, root = drawn
    made = embed_tree(edges, root, spread=spread)
    pairs = ~np.eye(len(made.nodes), dtype=bool)
    far = made.edge_length * tree_distances(edges, made.nodes)[pairs]
    ratio = far / pairwise_distance(made.points)[pairs]
    assert ratio.min() >= 1 - 1e-6
    np.testing.assert_allclose(
        (made.worst_distortion, made.mean_distortion), (ratio.max(), ratio.mean()), rtol=1e-9
    )


@given(trees(largest=12), spreads)
@examples(50)
def test_distortion_decreases_with_edge_length(drawn, spread):
    edges, root = drawn
    longest = embed_tree(edges, root).longest_edge
    means = [
        embed_tree(edges, root, longest * share, spread=spread).mean_distortion
        for share in (0.25, 0.5, 1.0)
    ]
    assert means[0] >= means[1] - 1e-6
    assert means[1] >= means[2] - 1e-6


def test_long_edges_make_distances_those_of_the_tree():
    binary = [(i, (i - 1) // 2) for i in range(1, 15)]
    made = embed_tree(binary, edge_length=7.0, spread="even")
    assert made.worst_distortion < 1.05
    steps = tree_distances([(a, b, 1.0) for a, b in binary], made.nodes)
    lost = 7.0 * steps - pairwise_distance(made.points)
    # each turn by 2π/3 loses −2·ln sin(π/3), however long the edges, up to terms in exp(−7)
    turn = -2.0 * np.log(np.sin(np.pi / 3))
    assert (lost <= turn * np.maximum(steps - 1.0, 0.0) + np.exp(-6.0)).all()


@given(trees(), curvatures)
@examples(25)
def test_curvature_only_scales(drawn, k):
    edges, root = drawn
    one, other = embed_tree(edges, root), embed_tree(edges, root, curvature=k)
    np.testing.assert_allclose(other.points * np.sqrt(k), one.points, atol=1e-6)
    np.testing.assert_allclose(other.edge_length * np.sqrt(k), one.edge_length)


def test_a_star_is_spread_evenly_and_edges_are_no_longer_than_needed():
    made = embed_tree([(i, "hub") for i in range(6)])
    around = made.points[[i for i, node in enumerate(made.nodes) if node != "hub"]]
    angles = np.sort(np.arctan2(around[:, 1], around[:, 0]))
    np.testing.assert_allclose(np.diff(angles), np.pi / 3, rtol=1e-9)
    assert made.edge_length < made.longest_edge
    assert made.worst_distortion == pytest.approx(1.05, abs=1e-3)


def test_the_better_spread_is_taken():
    edges = list(nx.barabasi_albert_graph(200, 1, seed=1).edges())
    both = {way: embed_tree(edges, 0, spread=way) for way in ("even", "leaves")}
    taken = embed_tree(edges, 0)
    assert taken.mean_distortion == min(made.mean_distortion for made in both.values())
    assert (taken.points == both[taken.spread].points).all()


def test_large_trees_are_measured_on_a_part():
    made = embed_tree([(i, (i - 1) // 3) for i in range(1, 6_000)])
    assert 1.0 < made.mean_distortion < 1.3


@pytest.mark.parametrize(
    ("edges", "root", "sentence"),
    [
        ([], None, "at least one edge"),
        ([("a", "a")], None, "'a' is its own parent"),
        ([("a", "b"), ("b", "c"), ("c", "a")], None, "in a circle through 'a'"),
        ([("x", "r"), ("a", "b"), ("b", "a")], None, "in a circle through 'a'"),
        ([("a", "b"), ("b", "c"), ("c", "a")], "a", "two ways from 'a' to"),
        ([("a", "b"), ("b", "a")], "a", "two ways from 'a' to 'b'"),
        ([("a", "r"), ("b", "s")], None, "'r' and 's' both have no parent"),
        ([("a", "r"), ("b", "s")], "r", "'b' is not connected with 'r'"),
        ([("w", "m"), ("w", "f"), ("m", "f")], None, "'w' has two parents, 'm' and 'f'; keep one"),
        ([("a", "r")], "z", "root must be a node"),
        ([("a", "r", 0.0)], None, "weights of edges must be numbers > 0"),
        ([("a", "r", np.nan)], None, "weights of edges must be numbers > 0"),
        ([("a", "r", "far")], None, "weights of edges must be numbers > 0"),
        ([("a",)], None, "must be \\(child, parent\\)"),
        (["ab"], None, "must be \\(child, parent\\)"),
    ],
)
def test_what_is_no_tree_is_refused_by_name(edges, root, sentence):
    with pytest.raises(InvalidInput, match=sentence):
        embed_tree(edges, root)


def test_settings_are_checked():
    with pytest.raises(InvalidInput, match="edge_length must be at most"):
        embed_tree(FAMILY, edge_length=100.0)
    with pytest.raises(InvalidInput, match="spread must be"):
        embed_tree(FAMILY, spread="wide")


def test_a_named_root_lets_edges_run_either_way():
    turned = [("mammal", "cat"), ("dog", "mammal"), ("dog", "puppy"), ("whelp", "dog")]
    assert sorted(rooted(turned, "mammal").depth) == sorted(rooted(FAMILY).depth)


def test_edges_may_be_an_array():
    made = embed_tree(np.array([[1, 0], [2, 0], [3, 1]]))
    assert made.nodes == (1, 0, 2, 3)


def test_an_embedder_knows_its_nodes_and_is_a_file(tmp_path):
    embedder = TreeEmbedder(curvature=0.5).fit(FAMILY)
    embedder.save(tmp_path / "tree.npz")
    again = load_embedder(tmp_path / "tree.npz")
    names = ["puppy", "mammal", "puppy"]
    assert (again.transform(names) == embedder.transform(names)).all()
    assert again.curvature == 0.5
    assert again.hash == embedder.hash
    assert again.transform([]).shape == (0, 2)
    with pytest.raises(InvalidInput, match="'cow' is not \\(nor are 1 more\\)"):
        again.transform(["cat", "cow", "ox"])


def test_an_embedder_must_be_fitted_to_edges_alone():
    for use in (lambda e: e.transform(["a"]), lambda e: e.to_bytes()):
        with pytest.raises(InvalidInput, match="must be fitted"):
            use(TreeEmbedder())
    with pytest.raises(InvalidInput, match="labels must be left out"):
        TreeEmbedder().fit(FAMILY, np.zeros(4))
    with pytest.raises(InvalidInput, match="'1' appears twice"):
        TreeEmbedder().fit([(1, "r"), ("1", "r")])


@pytest.mark.parametrize(
    ("name", "text", "edges"),
    [
        ("e.csv", "child,parent\ncat,mammal\ndog,mammal\n", [("cat", "mammal"), ("dog", "mammal")]),
        (
            "e.csv",
            "species,class\ncat,mammal\ndog,mammal\n",
            [("cat", "mammal"), ("dog", "mammal")],
        ),
        ("e.csv", "cat,mammal\n\ndog, mammal\n", [("cat", "mammal"), ("dog", "mammal")]),
        ("e.tsv", "\ufeffcat\tmammal\t2\n", [("cat", "mammal", 2.0)]),
        ("e.csv", "a,b,length\ncat,mammal,0.5\n", [("cat", "mammal", 0.5)]),
        ("e.csv", "mammal,\ncat,mammal\n", [("cat", "mammal")]),
        ("e.csv", '"cat, big",mammal\n', [("cat, big", "mammal")]),
    ],
)
def test_edges_are_read_with_and_without_a_heading(tmp_path, name, text, edges):
    (tmp_path / name).write_text(text, encoding="utf-8")
    assert read_edges(tmp_path / name) == edges


@pytest.mark.parametrize(
    ("name", "text", "sentence"),
    [
        ("e.txt", "a,b", "must end in .csv or .tsv"),
        ("e.csv", "", "holds no edges"),
        ("e.csv", "a,b\nc\n", "got 'c' in line 2"),
        ("e.csv", "a,b,1\nb,c,far\n", "weight in line 2 is not a number: 'far'"),
    ],
)
def test_bad_edge_files_are_refused(tmp_path, name, text, sentence):
    (tmp_path / name).write_text(text)
    with pytest.raises(InvalidInput, match=sentence):
        read_edges(tmp_path / name)
    with pytest.raises(InvalidInput, match="cannot be read"):
        read_edges(tmp_path / "absent.csv")


@pytest.fixture(scope="module")
def mammals():
    path = Path(os.environ.get("FEDHULL_DATA_DIR", "")) / "wordnet_mammals" / "wordnet_mammals.npz"
    if not path.is_file():
        pytest.skip("needs wordnet_mammals.npz under FEDHULL_DATA_DIR")
    with np.load(path) as file:
        first_parent: dict = {}
        for child, parent in file["edges_child_parent"].tolist():
            first_parent.setdefault(child, parent)
        return list(first_parent.items()), file["lemma"]


def test_wordnets_mammals_keep_their_distances(mammals):
    edges, lemma = mammals
    made = embed_tree(edges)
    assert lemma[made.root] == "mammal"
    assert made.spread == "leaves"
    assert made.mean_distortion < 1.11
    assert made.worst_distortion < 16
    even = embed_tree(edges, spread="even")
    assert made.mean_distortion < even.mean_distortion


def test_wordnets_nearest_in_the_disc_are_near_in_the_tree(mammals):
    made = embed_tree(mammals[0])
    steps = tree_distances([(a, b, 1.0) for a, b in mammals[0]], made.nodes)
    far = pairwise_distance(made.points)
    np.fill_diagonal(far, np.inf)
    nearest = steps[np.arange(len(far)), far.argmin(axis=1)]
    # parent, child, or sibling: in large families these are nearer to each other than to the parent
    assert (nearest <= 2).mean() > 0.99
