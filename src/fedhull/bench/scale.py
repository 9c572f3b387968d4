"""How a study grows with the number of sites: all of them on this machine, in the memory engine."""

import multiprocessing
from concurrent.futures import ProcessPoolExecutor
from time import perf_counter
from typing import Any

import numpy as np

from fedhull.bench.timing import Bar
from fedhull.bench.watching import ORDINARY, WITNESS, WatchingEngine
from fedhull.data.generated import make_tree
from fedhull.learn.sketch import slot_sketch
from fedhull.study.draft import draft_study, with_names
from fedhull.study.hulls.holdings import HullHoldings
from fedhull.study.kinds import task_of
from fedhull.study.rehearsal import rehearse
from fedhull.study.study import Study
from fedhull.study.task import Holdings

HULLS, MOMENTS = "hulls", "moments"
# How many sites: hulls of as many labels as sites have to be told apart, moments add up.
SIZES = {HULLS: (10, 30, 100, 300, 1000), MOMENTS: (10, 100, 1000, 10_000)}
_CELLS, _QUICK = 8, 300
_BARS: dict[tuple[str, int], dict[str, Bar]] = {
    (HULLS, 1000): {
        "server_seconds": Bar("≤", 10),
        "site_seconds": Bar("≤", 0.5),
        "protocol_bytes_up": Bar("≤", 120_000),
        "memory_mb": Bar("≤", 1500),
    },
    (MOMENTS, 10_000): {"total_seconds": Bar("≤", 600)},
}


def bench_sizes(summary: str, quick: bool) -> list[int]:
    """The numbers of sites to measure."""
    return [n for n in SIZES[summary] if n <= _QUICK or not quick]


def bench_scale_apart(*arguments: Any) -> dict[str, Any]:
    """As `bench_scale`, in a process of its own: the peak of memory is that of this study alone."""
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(max_workers=1, mp_context=context) as processes:
        return processes.submit(_bench_compiled, *arguments).result()


def _bench_compiled(clients: int, *arguments: Any) -> dict[str, Any]:
    # once unmeasured, for the compiler
    bench_scale(10, *arguments)
    return bench_scale(clients, *arguments)


def bench_scale(
    clients: int, summary: str = HULLS, corners: int = 20, classes: int = 2, epsilon: float = 0.1
) -> dict[str, Any]:
    """Seconds of one site and of the server, bytes, and memory; of hulls with so many corners in
    all classes together at each site, or of moments of a few cells of each, with agreed names,
    without alignment and without ballot: one sum.

    A site's seconds are those of one that is watched: nobody shares work with it. `site_seconds`
    and `bytes_up` are of a site that is no witness, if there is one, `witness_seconds` of one that
    is. `protocol_bytes_up` are keys, shares and seals: all bytes but those of the vectors. The
    server's seconds are those in which no site is at work. Many sites are spread over all cores, a
    process for each; memory is that of all of them.
    """
    rules: dict[str, Any] = {"epsilon": epsilon, "radius": 0.95, "summary": summary}
    made = (
        _moments(clients, rules) if summary == MOMENTS else _hulls(clients, rules, corners, classes)
    )
    study, holdings = made
    engines: list[WatchingEngine] = []

    def watching(*arguments: Any) -> WatchingEngine:
        engines.append(WatchingEngine(*arguments))
        return engines[0]

    begin = perf_counter()
    outcome = rehearse(study, holdings, engine=watching).outcome
    total = perf_counter() - begin
    (engine,) = engines
    server_seconds, memory_mb = engine.close()
    ordinary, witnesses = (engine.of(role) for role in (ORDINARY, WITNESS))
    row = {
        "summary": summary,
        "clients": clients,
        "graph": "sparse" if study.is_sparse else "complete",
        "circle": study.circle.members if study.circle else clients - 1,
        "witnesses": study.jury.members if study.jury else clients,
        "site_seconds": sum(each.seconds for each in ordinary or witnesses),
        "witness_seconds": sum(each.seconds for each in witnesses),
        "server_seconds": server_seconds,
        "total_seconds": total,
        "bytes_up_per_client": max(outcome.record.bytes_up.values()),
        "bytes_down_per_client": max(outcome.record.bytes_down.values()),
        "protocol_bytes_up": sum(each.protocol_bytes for each in ordinary or witnesses),
        "memory_mb": memory_mb,
    }
    bars = _BARS.get((summary, clients), {})
    row["bars"] = {
        name: {"bar": str(bar), "met": bar.holds(row[name])} for name, bar in bars.items()
    }
    return row


def _moments(clients: int, rules: dict[str, Any]) -> tuple[Study, dict[str, Holdings]]:
    """A study with agreed names, and a few cells of a tree for each site: too few to hold any out
    for a ballot."""
    data = make_tree(_CELLS * clients, seed=0)
    names = np.unique(data.y).tolist()
    study = with_names(draft_study(clients, len(names), align=0, ballot=False, **rules), names)
    task: Any = task_of(study)
    rows = np.random.default_rng(0).permutation(len(data.y)).reshape(clients, _CELLS)
    return study, {
        site: task.hold(data.x[mine], data.y[mine], np.unique(data.y[mine]))
        for site, mine in zip(study.clients, rows, strict=True)
    }


def _hulls(
    clients: int, rules: dict[str, Any], corners: int, classes: int
) -> tuple[Study, dict[str, Holdings]]:
    """A study of hulls, and hulls of so many corners for each site, each class in a sector of the
    outermost ring, whose bins are all corners of their hull."""
    study, rng = draft_study(clients, classes, **rules), np.random.default_rng(0)
    quantizer, each = study.quantizer, corners // classes
    sector = quantizer.n_angles // classes
    first = quantizer.n_bins - quantizer.n_angles + 1

    def holdings() -> HullHoldings:
        hulls = [
            (first + c * sector + rng.choice(sector, each, replace=False)).tolist()
            for c in range(classes)
        ]
        sketches = [
            [each, *slot_sketch(quantizer.decode(np.array(bins)), 1.0, study.learning.seed)]
            for bins in hulls
        ]
        return HullHoldings(
            classes=list(range(classes)),
            hulls=hulls,
            points_held=corners,
            sketches=[list(map(int, sketch)) for sketch in sketches],
        )

    return study, {site: holdings() for site in study.clients}
