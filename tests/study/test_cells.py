"""The cells that a site takes into an encoder study."""

import numpy as np
import pytest
from frames import GENES, make_cells, make_frame_files
from scipy.sparse import csr_matrix

from fedhull.embed.cells import Cells
from fedhull.errors import InvalidInput
from fedhull.rounds.cells import cells_from_bytes, cells_to_bytes
from fedhull.study.cells import load_cells_of_site
from fedhull.study.task import Source


def test_h5ad_files_are_read_with_their_layer(tmp_path):
    anndata = pytest.importorskip("anndata")
    import pandas

    cells = make_cells(6, 0)
    file = anndata.AnnData(np.zeros(cells.x.shape), var=pandas.DataFrame(index=GENES))
    file.layers["counts"] = cells.x
    file.write_h5ad(tmp_path / "cells.h5ad")
    read = load_cells_of_site(Source(str(tmp_path / "cells.h5ad"), layer="counts"))
    assert np.array_equal(read.x, cells.x)
    assert not load_cells_of_site(Source(str(tmp_path / "cells.h5ad"))).x.any()
    make_frame_files(tmp_path, ["a"])
    with pytest.raises(InvalidInput, match="--layer is for"):
        load_cells_of_site(Source(str(tmp_path / "a.npz"), layer="counts"))
    with pytest.raises(InvalidInput, match="does not exist"):
        load_cells_of_site(Source(str(tmp_path / "none.h5ad")))


def test_cells_survive_the_way_to_another_process():
    for x in (make_cells(6, 0).x, csr_matrix(make_cells(6, 0).x)):
        held = Cells(x, GENES)
        raw = cells_to_bytes(held)
        again = cells_from_bytes(raw)
        assert cells_to_bytes(again) == raw
        assert type(again.x) is type(held.x)
        assert (again.x != held.x).sum() == 0
        assert again.genes == held.genes
    with pytest.raises(InvalidInput, match="damaged"):
        cells_from_bytes(raw[:100])
