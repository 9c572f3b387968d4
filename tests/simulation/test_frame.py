"""Simulations of raw cells: where the encoder comes from, and that it has not seen test cells."""

import numpy as np
import pytest
from commands import fedhull
from frames import GENES, make_cells

from fedhull import simulate
from fedhull.data.datasets import load_raw
from fedhull.embed.cells import Cells
from fedhull.errors import InvalidInput
from fedhull.simulation.experiment import FRAMES
from fedhull.simulation.frame import RawPoints
from fedhull.study.draft import draft_study

STUDY = draft_study(3, 4, radius=0.99)


def make_data(n=400, seed=0):
    """Cells of four types that differ in many genes, and their types."""
    rng = np.random.default_rng(seed)
    profiles = np.random.default_rng(99).gamma(0.5, 4.0, (4, len(GENES)))
    y = rng.integers(4, size=n)
    return Cells(rng.poisson(profiles[y]), GENES), np.array(list("abcd"))[y]


def owner_of(rows, seed):
    return np.random.default_rng(seed).integers(3, size=len(rows))


@pytest.mark.parametrize("frame", FRAMES)
def test_an_encoder_does_not_depend_on_test_cells(frame):
    cells, y = make_data()
    train, test = np.arange(300), np.arange(300, 400)
    spoiled = cells.x.copy()
    spoiled[test] = make_cells(100, 5).x[:, ::-1] * 7
    owner = owner_of(train, 0)
    sources = [RawPoints(Cells(x, GENES), y, frame) for x in (cells.x, spoiled)]
    points = [each.points(each.encoder(train, owner, owner_of, STUDY, 0)) for each in sources]
    assert np.array_equal(points[0][train], points[1][train])
    assert not np.array_equal(points[0][test], points[1][test])


def test_frames_differ_and_each_gives_a_study():
    cells, y = make_data()
    found = set()
    for frame in FRAMES:
        simulated = simulate(
            cells, y, clients=3, epsilon=0.1, summary="moments", frame=frame, switch_labels=True
        )
        result = simulated.to_json()
        assert result["settings"]["frame"] == frame
        assert result["accuracy"]["FL"]["mean"] > 90
        assert result["seconds"]["encoder"] > 0
        found.add(simulated.model.coef_.tobytes())
    assert len(found) == len(FRAMES)


def test_cells_without_a_label_are_seen_by_the_encoder_only():
    cells, y = make_data()
    unlabelled = np.where(y == "d", "", y)
    source = RawPoints(cells, unlabelled, "pooled")
    train = np.arange(200)
    fewer = RawPoints(cells[source.rows], source.y, "pooled")
    assert (source.y == fewer.y).all()
    one, two = (
        each.points(each.encoder(train, owner_of(train, 0), owner_of, STUDY, 0))
        for each in (source, fewer)
    )
    assert one.shape == two.shape == (len(source.rows), 2)
    assert not np.array_equal(one, two)
    result = simulate(cells, unlabelled, clients=3, epsilon=0.1)
    assert set(result.model.classes_) == {"a", "b", "c"}


def test_frames_are_for_raw_cells_and_there_are_three():
    cells, y = make_data(60)
    with pytest.raises(InvalidInput, match="how raw cells are placed, but x are points"):
        simulate(np.zeros((60, 2)), y, clients=3, epsilon=0.1, frame="sums")
    with pytest.raises(InvalidInput, match="frame must be one of pooled, sums, reference"):
        simulate(cells, y, clients=3, epsilon=0.1, frame="atlas")
    with pytest.raises(InvalidInput, match="at least two sites with 10 cells or more, got 0"):
        simulate(cells, y, clients=20, epsilon=0.1, frame="sums")
    with pytest.raises(InvalidInput, match=r"y must have shape \(60,\)"):
        simulate(cells, y[:5], clients=3, epsilon=0.1)
    refused = fedhull("simulate", "--dataset", "tree", "--frame", "sums", "--json")
    assert refused.returncode == 2
    assert "tree holds points" in refused.stderr


def test_all_thirteen_types_of_lung_are_a_data_set(data_dir):
    cells, y = load_raw("lung-all", "label")
    assert (len(cells), len(np.unique(y))) == (3314, 13)
    five = load_raw("lung", "label")[1]
    assert (five != "").sum() == 980
    assert (five[five != ""] == y[five != ""]).all()


@pytest.mark.slow
def test_an_encoder_from_sums_of_ten_sites_is_as_good_as_one_of_pooled_cells(data_dir):
    cells, y = load_raw("lung-all", "label")
    sums, pooled = (
        simulate(
            cells, y, clients=10, epsilon=0.01, partition="dirichlet:0.5", summary="moments",
            switch_labels=True, trials=2, frame=frame,
        ).accuracy["FL"]["mean"]
        for frame in ("sums", "pooled")
    )  # fmt: skip
    assert sums >= 85
    assert sums >= pooled - 2
