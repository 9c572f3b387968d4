"""Seconds and memory that placing new cells takes."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix
from scipy.sparse import random as random_sparse
from sklearn.decomposition import TruncatedSVD

from fedhull import Cells, NeighbourEmbedder
from fedhull.extend import CellEmbedder
from fedhull_lab.autoencoder.embedder import AutoencoderEmbedder
from fedhull_lab.bench.timing import best_times, peak_memory_mb

GENES, SHARE_EXPRESSED = 2000, 0.05
FITTED_ON = 2000
MOST_SECONDS, MOST_GIGABYTES = 60.0, 4.0


def make_counts(n: int, seed: int = 0) -> Cells:
    """Random counts, as sparse as those of single cells."""
    rng = np.random.default_rng(seed)
    x = random_sparse(n, GENES, SHARE_EXPRESSED, format="csr", dtype=np.float32, random_state=rng)
    x.data = rng.geometric(0.5, x.nnz).astype(np.float32)
    return Cells(csr_matrix(x), [f"gene {i}" for i in range(GENES)])


def bench_embed(
    n: int, tell: Callable[[str], None] = lambda words: None
) -> Iterator[dict[str, Any]]:
    """Time each embedder as it places n cells, beside scikit-learn's truncated SVD of the
    same matrix to as many components as the neighbour embedder uses."""
    cells = make_counts(n)
    some = cells[:FITTED_ON]
    embedders: list[CellEmbedder] = [
        NeighbourEmbedder(steps=1).fit(some),
        AutoencoderEmbedder(steps=0).fit(some),
    ]
    svd = TruncatedSVD(NeighbourEmbedder().n_components, random_state=0)
    for embedder in embedders:
        tell(f"{embedder.method}: {n:,} cells")
        ours, peer = best_times(
            partial(embedder.transform, cells), partial(svd.fit_transform, cells.x), repeats=1
        )
        yield {
            "method": embedder.method,
            "cells": n,
            "genes": GENES,
            "seconds": ours,
            "svd_seconds": peer,
            "ratio": ours / peer,
            "peak_memory_mb": peak_memory_mb(),
        }
