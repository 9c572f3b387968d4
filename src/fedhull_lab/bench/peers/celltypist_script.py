"""Runs where CellTypist is installed, and fedhull is not: `python -I celltypist_script.py IN OUT`.

IN is an .npz with counts of training and test cells, OUT a JSON file with the classes found.
"""

import json
import sys
from pathlib import Path
from time import perf_counter


def main(source: str, target: str) -> None:
    """Train as CellTypist's documentation says, and annotate cell by cell."""
    import logging

    import anndata
    import celltypist
    import numpy as np
    import scanpy
    from scipy.sparse import csr_matrix

    logging.disable(logging.WARNING)
    with np.load(source, allow_pickle=False) as file:
        held = dict(file)

    def cells(which: str) -> anndata.AnnData:
        parts = tuple(held[f"{which}_{part}"] for part in ("data", "indices", "indptr"))
        made = anndata.AnnData(csr_matrix(parts, shape=tuple(held[f"{which}_shape"])))
        made.var_names = held["genes"]
        made.obs_names = [str(i) for i in range(made.n_obs)]
        scanpy.pp.normalize_total(made, target_sum=1e4)
        scanpy.pp.log1p(made)
        return made

    begin = perf_counter()
    model = celltypist.train(cells("train"), labels=held["labels"])
    found = celltypist.annotate(cells("test"), model=model, majority_voting=False)
    result = {
        "classes": [str(name) for name in found.predicted_labels["predicted_labels"]],
        "seconds": perf_counter() - begin,
    }
    Path(target).write_text(json.dumps(result))


if __name__ == "__main__":
    main(*sys.argv[1:])
