"""Figures: what is drawn is what the geometry says, on the Axes that were given, without pixels."""

import io

import matplotlib
import numpy as np
import pytest
from matplotlib import pyplot as plt
from matplotlib.figure import Figure

from fedhull import LorentzClassifier, PoincareSVC, distance, make_tree, pl, simulate
from fedhull.errors import InvalidInput
from fedhull.report.sections import Tradeoff

matplotlib.use("Agg")


@pytest.fixture(autouse=True)
def _closed():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def data():
    return make_tree(600, lineages=3, seed=0)


@pytest.fixture(scope="module")
def result(data):
    return simulate(data.x, data.y, clients=3, epsilon=0.1, tradeoff=True)


def svg(ax) -> str:
    file = io.StringIO()
    ax.figure.savefig(file, format="svg")
    return file.getvalue()


def names(ax) -> list[str]:
    return [text.get_text() for text in ax.get_legend().get_texts()]


def test_every_figure_is_vectors_on_the_axes_given(data, result):
    draw = [
        lambda ax: pl.disc(data.x, data.y, ax=ax),
        lambda ax: pl.hulls(data.x, data.y, sites=data.batch, ax=ax),
        lambda ax: pl.hulls(result, ax=ax),
        lambda ax: pl.bins(data.x, data.y, epsilon=0.3, ax=ax),
        lambda ax: pl.boundaries(result.model, references=True, ax=ax),
        lambda ax: pl.tradeoff(result, ax=ax),
    ]
    for figure in draw:
        ax = Figure().subplots()
        assert figure(ax) is ax
        assert "<image" not in svg(ax)
        assert plt.get_fignums() == []


def test_an_anndata_object_gives_the_same_figure_as_its_arrays(data):
    anndata = pytest.importorskip("anndata")
    cells = anndata.AnnData(np.zeros((600, 1), dtype=np.float32), obsm={"X_poincare": data.x})
    cells.obs["kind"], cells.obs["donor"] = data.y, data.batch
    with matplotlib.rc_context({"svg.hashsalt": "the same"}):
        for one, two in (
            (pl.disc(cells, "kind"), pl.disc(data.x, data.y)),
            (
                pl.hulls(cells, "kind", sites="donor", epsilon=0.2),
                pl.hulls(data.x, data.y, sites=data.batch, epsilon=0.2),
            ),
        ):
            drawn = [svg(ax).partition("</metadata>")[2] for ax in (one, two)]
            assert drawn[0] == drawn[1]
    with pytest.raises(InvalidInput, match="no obs\\['colour'\\]"):
        pl.disc(cells, "colour")


def test_hull_edges_are_geodesics(data):
    ax = pl.hulls(data.x, data.y)
    edge = ax.patches[-1].get_xy()
    # three points in a row on a geodesic: distances add up, unless the middle one is a corner
    a, b, c = edge[:-2], edge[1:-1], edge[2:]
    excess = distance(a, b) + distance(b, c) - distance(a, c)
    corners = len(edge) - (excess < 1e-9).sum()
    assert 2 < corners < len(edge) / 3


def test_a_class_has_one_entry_in_the_legend_however_often_it_is_drawn(result):
    ax = pl.boundaries(result.model, radius=0.99)
    pl.hulls(result, ax=ax)
    assert names(ax) == ["lineage-1", "lineage-2", "lineage-3", "stem"]
    assert sum(patch.get_gid() == "rim" for patch in ax.patches) == 1


def test_colours_can_be_chosen(data):
    ax = pl.disc(data.x, data.y, colors={"stem": "#123456"})
    handles = dict(zip(names(ax), ax.get_legend().legend_handles, strict=True))
    assert handles["stem"].get_color() == "#123456"


@pytest.mark.parametrize("model", [LorentzClassifier(C=100.0), PoincareSVC()])
def test_reference_points_lie_on_their_geodesics(data, model):
    ax = pl.boundaries(model.fit(data.x, data.y), references=True)
    lines = [line.get_xydata() for line in ax.lines]
    points = [line[0] for line in lines if len(line) == 1]
    geodesics = [line for line in lines if len(line) > 100]
    assert len(points) == len(geodesics) >= 3
    for point, line in zip(points, geodesics, strict=True):
        assert distance(line, point).min() < 1e-9


def test_the_tradeoff_takes_results_or_numbers(data, result):
    (line,) = pl.tradeoff(result).lines[:1]
    rows = sorted(
        (r.points_sent / r.points_total, r.accuracy) for r in result.page().find(Tradeoff).rows
    )
    assert line.get_xydata() == pytest.approx(np.array(rows) * [100, 1])
    other = simulate(data.x, data.y, clients=3, epsilon=1.0)
    assert len(pl.tradeoff([result, other]).texts) == 2
    assert len(pl.tradeoff([0.1, 0.2], [90.0, 95.0]).lines) == 1


@pytest.fixture(scope="module")
def summed(data):
    return simulate(data.x, data.y, clients=3, epsilon=0.1, summary="moments", tradeoff=True)


def test_the_regions_of_a_classifier_of_moments_can_be_drawn(summed, result):
    ax = pl.boundaries(summed.model, radius=summed.geometry.radius, references=True)
    assert names(ax) == sorted(map(str, summed.model.classes_))
    assert len(ax.collections) > len(summed.model.classes_)
    assert "<image" not in svg(ax)
    drawn = [text.get_text() for text in pl.tradeoff([result, summed]).texts]
    assert drawn == ["moments", "ε = 0.1"]


@pytest.mark.parametrize("draw", [pl.hulls, pl.bins])
def test_a_simulation_without_hulls_gets_a_sentence(summed, draw):
    with pytest.raises(InvalidInput, match="a simulation of moments, in which no hulls leave"):
        draw(summed)
    with pytest.raises(InvalidInput, match="enough, if points left"):
        pl.tradeoff(summed)


@pytest.mark.parametrize(
    ("draw", "sentence"),
    [
        (lambda d: pl.disc(d.x, d.y[:-1]), "labels must have shape"),
        (lambda d: pl.disc(np.zeros((3, 3))), "shape \\(n, 2\\)"),
        (lambda d: pl.hulls(d.x, d.y, sites=d.batch[1:]), "sites must have shape"),
        (lambda d: pl.bins(d.x, d.y), "epsilon must be given"),
        (lambda d: pl.tradeoff([0.1], [1.0, 2.0]), "one number for each share"),
        (lambda d: pl.tradeoff([]), "at least one result"),
    ],
)
def test_mistakes_get_a_sentence(data, draw, sentence):
    with pytest.raises(InvalidInput, match=sentence):
        draw(data)


@pytest.mark.parametrize("word", ["a name with synonyms, taken from an ontology ", "X"])
def test_one_very_long_name_of_a_class_leaves_the_disc_its_room(data, word):
    long = word * (300 // len(word))
    usual = pl.disc(data.x, data.y)
    squeezed = pl.disc(data.x, np.where(data.y == "stem", long, data.y))
    for ax in (usual, squeezed):
        ax.figure.canvas.draw()
    width, least = (ax.get_window_extent().width for ax in (squeezed, usual))
    assert width > 0.6 * least
    assert squeezed.get_legend().get_window_extent().x1 <= squeezed.figure.bbox.x1
    assert any(name.endswith("…") for name in names(squeezed))
    assert pl.hulls(data.x, data.y, ax=usual) is usual
    assert len(names(usual)) == len(set(data.y))
