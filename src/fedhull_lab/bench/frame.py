"""Seconds, memory and bytes that it takes sites to make an encoder from three masked sums."""

from time import perf_counter
from typing import Any

import numpy as np
from sklearn.decomposition import TruncatedSVD

from fedhull.extend import Progress, Report, ignore, rehearse_neighbours
from fedhull_lab.bench.embed import GENES, make_counts
from fedhull_lab.bench.timing import peak_memory_mb

MOST_SECONDS, MOST_GIGABYTES, MOST_MEGABYTES_UP = 300.0, 3.0, 20.0


def bench_frame(n: int, sites: int, report: Report = ignore) -> dict[str, Any]:
    """Run an encoder study over n cells, every message included, beside scikit-learn's truncated
    SVD of all cells in one place, to as many components."""
    cells = make_counts(n)
    parts = [cells[rows] for rows in np.array_split(np.arange(n), sites)]
    begin = perf_counter()
    outcome = rehearse_neighbours(parts, report=report).outcome
    seconds, memory = perf_counter() - begin, peak_memory_mb()
    report(Progress("truncated SVD", 0, 1))
    begin = perf_counter()
    TruncatedSVD(outcome.encoder.n_components, random_state=0).fit(cells.x)
    peer = perf_counter() - begin
    return {
        "cells": n,
        "genes": GENES,
        "sites": sites,
        "anchors": len(outcome.encoder.anchors),
        "seconds": seconds,
        "svd_seconds": peer,
        "ratio": seconds / peer,
        "peak_memory_mb": memory,
        "bytes_up_per_client": max(outcome.record.bytes_up.values()),
    }
