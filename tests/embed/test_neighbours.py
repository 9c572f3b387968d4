"""The neighbour embedder: graph, layout, anchors; and on real cells."""

import os
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.decomposition import PCA
from sklearn.metrics import pairwise_distances
from sklearn.model_selection import cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from strategies import examples

from fedhull.data.datasets import lung
from fedhull.disc.maps import distance, pairwise_distance
from fedhull.embed.cells import Cells
from fedhull.embed.embedder import embedder_from_bytes, load_embedder
from fedhull.embed.embedding import apply_embedding, fit_embedding, measure_quality
from fedhull.embed.layout import _gradient, accessibility, layout, small_groups
from fedhull.embed.neighbours import NeighbourEmbedder
from fedhull.errors import InvalidInput
from fedhull.simulation.simulate import simulate
from fedhull_lab.reproduce.lung import CLASSES, SUBSETS


def islands(n=120, seed=0):
    """Three kinds of cells, each with genes of its own."""
    rng = np.random.default_rng(seed)
    labels = np.arange(n) % 3
    x = rng.poisson(1.0, (n, 30))
    for kind in range(3):
        x[labels == kind, 10 * kind : 10 * kind + 10] += rng.poisson(6.0, (n // 3, 10))
    return Cells(x, [f"G{i}" for i in range(30)]), labels


# Graph


def test_accessibilities_are_a_symmetric_similarity_that_knows_who_is_near():
    x = np.arange(40.0)[:, None]
    s = accessibility(x, 4)
    assert np.allclose(s, s.T)
    assert (s >= 0).all()
    # along a line, one is more accessible than the next, far beyond the neighbours in the graph
    assert (np.diff(s[0, 1:]) < 0).all()


def test_labels_set_classes_apart_only_if_they_supervise():
    x = np.random.default_rng(0).normal(size=(60, 2))
    labels = np.arange(60) % 2
    other = labels[:, None] != labels[None, :]
    assert accessibility(x, 8, labels)[other].sum() < 0.5 * accessibility(x, 8)[other].sum()


def test_copies_of_a_cell_are_no_division_by_zero():
    assert np.isfinite(accessibility(np.zeros((20, 3)), 5)).all()


@given(n=st.integers(5, 300), smallest=st.integers(1, 7), seed=st.integers(0, 100))
def test_groups_hold_every_cell_once_and_none_is_small(n, smallest, seed):
    groups = small_groups(
        np.random.default_rng(seed).normal(size=(n, 4)), lambda rows: len(rows) >= smallest
    )
    assert sorted(np.concatenate(groups).tolist()) == list(range(n))
    if n >= smallest:
        assert all(smallest <= len(group) < 2 * smallest for group in groups)


# Layout


@examples(20)
@given(seed=st.integers(0, 10_000))
def test_the_gradient_is_that_of_the_divergence(seed):
    rng = np.random.default_rng(seed)
    n = 8
    x = rng.uniform(-0.6, 0.6, (n, 2))
    p = rng.random((n, n))
    p = p + p.T
    np.fill_diagonal(p, 0.0)
    p /= p.sum()

    def loss(x):
        q = np.exp(-pairwise_distance(x))
        np.fill_diagonal(q, 0.0)
        off = ~np.eye(n, dtype=bool)
        return n * (p[off] * np.log(p[off] / (q / q.sum())[off])).sum()

    gap = 1 - (x**2).sum(axis=1)
    found = _gradient(x, gap, p.astype(np.float32), 1.0)
    i, axis, h = int(rng.integers(n)), int(rng.integers(2)), 1e-5
    step = np.zeros_like(x)
    step[i, axis] = h
    euclidean = (loss(x + step) - loss(x - step)) / (2 * h)
    assert np.isclose(found[i, axis], euclidean * gap[i] ** 2 / 4, rtol=1e-2, atol=2e-4)


def test_a_chain_is_laid_out_as_a_chain():
    n = 40
    s = accessibility(np.arange(float(n))[:, None], 4)
    x = layout(s, np.random.default_rng(0).normal(size=(n, 2)) * 0.05, steps=300)
    along = pairwise_distance(x)
    near = along[np.arange(n - 1), np.arange(1, n)].mean()
    assert along[0, -1] > 5 * near
    assert (np.hypot(*x.T) <= 0.99 + 1e-12).all()


THREADS = """
import numba
import numpy as np
from fedhull.embed.layout import layout

rng = np.random.default_rng(0)
p, start = rng.random((200, 200)), 0.1 * rng.normal(size=(200, 2))
found = []
for threads in (1, 3):
    numba.set_num_threads(threads)
    found.append(layout(p + p.T, start, steps=20))
print(np.array_equal(*found))
"""


def test_points_do_not_depend_on_the_number_of_threads():
    # in a process of its own: tests have one thread each
    env = os.environ | {"NUMBA_NUM_THREADS": "3"}
    done = subprocess.run([sys.executable, "-c", THREADS], env=env, capture_output=True, text=True)
    assert done.stdout == "True\n", done.stderr


# The embedder


def test_kinds_of_cells_lie_apart_and_new_cells_with_their_kind():
    cells, labels = islands(120)
    new, truth = islands(60, seed=1)
    embedder = NeighbourEmbedder()
    points = embedder.fit_transform(cells)
    judge = KNeighborsClassifier(5, metric="precomputed").fit(pairwise_distance(points), labels)
    assert judge.score(pairwise_distance(embedder.transform(new), points), truth) > 0.95
    again = NeighbourEmbedder().fit_transform(cells)
    assert np.array_equal(points, again)


def test_a_file_gives_back_the_same_embedder(tmp_path):
    cells, labels = islands()
    embedder = NeighbourEmbedder(curvature=0.5, seed=3).fit(cells, labels)
    embedder.save(tmp_path / "e.npz")
    back = load_embedder(tmp_path / "e.npz")
    assert back.to_bytes() == embedder.to_bytes()
    assert back.supervised
    assert np.array_equal(back.transform(cells), embedder.transform(cells))


def test_the_file_holds_no_single_cell():
    cells, _ = islands()
    embedder = NeighbourEmbedder().fit(cells)
    features = embedder.features(cells)
    nearest = np.sqrt(((features[:, None] - embedder.anchors[None]) ** 2).sum(axis=2)).min(axis=1)
    assert nearest.min() > 1e-3
    assert len(embedder.anchors) <= len(cells) / 5


def test_curvature_scales_the_disc():
    cells, _ = islands()
    one, four = NeighbourEmbedder().fit(cells), NeighbourEmbedder(curvature=4.0).fit(cells)
    assert np.allclose(one.transform(cells), 2 * four.transform(cells))
    ends = one.transform(cells)[:2], four.transform(cells)[:2]
    assert np.isclose(distance(*ends[0]), 2 * distance(*ends[1], curvature=4.0))


def test_more_cells_than_are_laid_out_are_placed():
    cells, labels = islands(300)
    points = NeighbourEmbedder(max_cells=90).fit_transform(cells)
    assert measure_quality(cells.x.astype(float), points, labels)["knn_disc"] > 95


@pytest.mark.parametrize("content", [b"", b"nonsense", b"PK\x03\x04broken"])
def test_a_damaged_file_is_refused_in_a_sentence(content):
    with pytest.raises(InvalidInput, match="not a fedhull embedder"):
        embedder_from_bytes(content)


def test_too_few_cells_and_no_fit_are_refused():
    with pytest.raises(InvalidInput, match="at least 10 cells"):
        NeighbourEmbedder().fit(islands(120)[0][:4])
    with pytest.raises(InvalidInput, match="must be fitted"):
        NeighbourEmbedder().transform(islands()[0])


# Quality


def test_an_isometry_has_perfect_quality():
    rng = np.random.default_rng(0)
    flat = rng.normal(size=(80, 2)) * 1e-3  # small enough for the disc to be flat
    found = measure_quality(flat, flat, np.arange(80) % 2)
    assert found["distance_correlation"] > 0.999
    assert found["distortion"] < 1e-3
    assert found["neighbours_kept"] == 1.0
    assert found["majority"] == 50.0


def test_labels_supervise_only_if_asked():
    cells, labels = islands()
    asked = fit_embedding(cells, NeighbourEmbedder(), labels, supervised=True)
    only_judged = fit_embedding(cells, NeighbourEmbedder(), labels)
    assert asked.to_json()["supervised"]
    assert not only_judged.to_json()["supervised"]
    assert np.array_equal(only_judged.points, NeighbourEmbedder().fit_transform(cells))
    assert not apply_embedding(cells, only_judged.embedder).fitted_here


# Real cells


@pytest.mark.slow
def test_lung_in_the_disc_is_ten_points_above_two_principal_components(data_dir):
    raw = lung()
    embedder = NeighbourEmbedder()
    points = embedder.fit_transform(raw.cells)
    flat = PCA(2, random_state=0).fit_transform(embedder.preparation.apply(raw.cells).toarray())
    judge = KNeighborsClassifier(15, metric="precomputed")
    for kept in (raw.kept, raw.kept | True):  # the paper's five types, and all thirteen
        disc, plane = (
            cross_val_score(judge, d, raw.labels[kept], cv=5).mean()
            for d in (pairwise_distance(points[kept]), pairwise_distances(flat[kept]))
        )
        assert disc >= plane + 0.10


def test_olsson_is_as_good_as_the_published_embedding(data_dir):
    with np.load(data_dir / "olsson_raw" / "Olsson_wo_HSPC2.npz") as file:
        cells, labels = Cells(file["features"], file["feature_names"].tolist()), file["labels"]
    points = NeighbourEmbedder().fit_transform(cells)
    assert measure_quality(cells.x, points, labels)["knn_disc"] >= 90


@pytest.mark.slow
def test_lung_studies_beat_the_papers_in_all_six_subsets_of_its_table(data_dir):
    raw = lung()
    points = NeighbourEmbedder().fit_transform(raw.cells)
    for classes, (_, _, federated, _) in SUBSETS.values():
        kept = np.isin(raw.labels, CLASSES[classes])
        result = simulate(
            points[kept], raw.labels[kept], clients=3, epsilon=0.01, trials=3, baselines=True
        )
        ours, majority = (result.accuracy[name]["mean"] for name in ("FL", "majority"))
        assert ours > float(federated.split()[0])
        assert ours > majority
