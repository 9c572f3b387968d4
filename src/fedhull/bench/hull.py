"""Hulls, streams and bins against SciPy's Qhull and NumPy's own passes over the data."""

import math
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import partial
from time import perf_counter
from typing import Any

import numpy as np
from scipy.spatial import ConvexHull

from fedhull.bench.timing import Bar, Measurement, best_times, peak_memory_mb
from fedhull.data.generated import sample_uniform
from fedhull.disc.hull import HullStream, minimal_hull
from fedhull.disc.quantize import Quantizer
from fedhull.disc.scan import graham_hull

RADIUS = 0.95
_AGAINST_QHULL = {10**6: Bar("≥", 12), 10**7: Bar("≥", 15)}
_CHUNK = 1_000_000


def qhull_in_klein(points: np.ndarray) -> np.ndarray:
    """The peer: map to the Klein model with plain NumPy, call SciPy's ConvexHull."""
    return ConvexHull(2.0 * points / (1.0 + (points * points).sum(axis=1))[:, None]).vertices


def largest_norm(points: np.ndarray) -> float:
    """The cheapest thing one can ask of all points."""
    return float(np.linalg.norm(points, axis=1).max())


def bench_hulls(sizes: list[int]) -> Iterator[Measurement]:
    """The hull of uniform points, against Qhull and against one pass over the norms."""
    for n in sizes:
        points = sample_uniform(n, RADIUS, seed=0)
        ours, qhull, norm = best_times(
            partial(minimal_hull, points),
            partial(qhull_in_klein, points),
            partial(largest_norm, points),
            repeats=20 if n <= 10**5 else 5 if n <= 10**6 else 3,
        )
        bar = _AGAINST_QHULL.get(n, Bar("≥", 1))
        yield Measurement("hull", n, ours, "Klein + Qhull", qhull, "× faster", bar)
        against_norm = Bar("≤", 1.5) if n == 10**6 else None
        yield Measurement("hull", n, ours, "largest norm", norm, "× as long", against_norm)


def bench_graham(n: int = 10_000) -> Iterator[Measurement]:
    """The paper's algorithm, readable and exact, against the fast path that replaces it."""
    points = sample_uniform(n, RADIUS, seed=0)
    fast, graham = best_times(
        lambda: minimal_hull(points), lambda: graham_hull(points, 1.0), repeats=3
    )
    yield Measurement("hull", n, fast, "Graham scan", graham, "× faster")


def bench_quantizer(n: int) -> Iterator[Measurement]:
    """Bins of points, against the polar coordinates that any such quantizer needs."""
    points = sample_uniform(n, RADIUS, seed=0)
    quantizer = Quantizer(0.01, RADIUS)
    bins = quantizer.encode(points)

    def polar() -> None:
        np.arctan2(points[:, 1], points[:, 0])
        np.hypot(points[:, 0], points[:, 1])

    encode, both, peer = best_times(
        lambda: quantizer.encode(points),
        lambda: (quantizer.encode(points), quantizer.decode(bins)),
        polar,
        repeats=7,
    )
    bar = Bar("≤", 3)
    yield Measurement("encode", n, encode, "arctan2 + hypot", peer, "× as long", bar)
    yield Measurement("encode + decode", n, both, "arctan2 + hypot", peer, "× as long")


def bench_stream(n: int, advance: Callable[[int], None] = lambda _: None) -> dict[str, Any]:
    """n fresh uniform points fed in chunks: seconds spent in the stream after n/100, n/10 and n of
    them, the exponent of N over the last decade, and the largest memory of the process so far."""
    stream = HullStream()
    rng = np.random.default_rng(0)
    seconds = 0.0
    at: dict[int, float] = {}
    while stream.n_seen < n:
        chunk = sample_uniform(_CHUNK, RADIUS, seed=rng)
        begin = perf_counter()
        stream.update(chunk)
        seconds += perf_counter() - begin
        if stream.n_seen in (n // 100, n // 10, n):
            at[stream.n_seen] = seconds
        advance(_CHUNK)
    return {
        "n": stream.n_seen,
        "corners": len(stream.points),
        "seconds": {str(size): at[size] for size in sorted(at)},
        "exponent": math.log10(at[n] / at[n // 10]),
        "peak_memory_mb": peak_memory_mb(),
    }


def bench_import() -> float:
    """Seconds that `import fedhull` takes, beyond starting Python, best of five."""
    empty, ours = best_times(
        lambda: subprocess.run([sys.executable, "-c", ""], check=True),
        lambda: subprocess.run([sys.executable, "-c", "import fedhull"], check=True),
        repeats=5,
    )
    return ours - empty
