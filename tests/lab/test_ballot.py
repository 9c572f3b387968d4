"""The comparison with and without a ballot: the same splits, and what was chosen."""

import numpy as np
import pytest

from fedhull.data.generated import make_tree
from fedhull_lab.reproduce.ballot import _tables, measure
from fedhull_lab.reproduce.dealing import DataSet


@pytest.mark.slow
def test_all_columns_are_of_the_same_trials_and_the_last_row_is_their_mean():
    tree = make_tree(2400, lineages=2, seed=0)
    data = DataSet("a tree", lambda: (tree.x, tree.y))
    rows = [measure(data, tree.x, tree.y, summary, 1, 0) for summary in ("hulls", "moments")]
    for row in rows:
        assert set(row["accuracy"]) == {"without", "held", "with"}
        assert row["judged"] > 20
        assert all(summary["mean"] > 80 for summary in row["accuracy"].values())
    accuracy, calibration = _tables(rows)
    assert [row[0] for row in accuracy.rows] == ["a tree", "a tree", "mean"]
    expected = np.mean([row["accuracy"]["with"]["mean"] for row in rows])
    assert accuracy.rows[-1][5] == f"{expected:.2f}"
    assert len(calibration.rows) == 2
