"""The comparison of sites that align themselves with sites that do not."""

import pytest

from fedhull.data.generated import make_tree
from fedhull_lab.reproduce.alignment import _table, measure
from fedhull_lab.reproduce.dealing import DataSet


@pytest.mark.slow
def test_sites_that_were_moved_far_gain_by_aligning_and_others_lose_nothing():
    tree = make_tree(2400, lineages=3, seed=0)
    data = DataSet("a tree", lambda: (tree.x, tree.y))
    still, moved = (measure(data, tree.x, tree.y, shift, 1, 0) for shift in (0.0, 0.5))
    mean = {name: found["mean"] for name, found in moved["accuracy"].items()}
    assert mean["moments, aligned"] > mean["moments"]
    unmoved = {name: found["mean"] for name, found in still["accuracy"].items()}
    assert unmoved["moments, aligned"] == pytest.approx(unmoved["moments"], abs=1.0)
    table = _table([still, moved])
    assert [row[:2] for row in table.rows] == [["a tree", "0"], ["a tree", "0.5"]]
    assert all(len(row) == len(table.columns) for row in table.rows)
