"""How a study grows with the number of sites: all of them in one process, in the memory engine."""

from time import perf_counter
from typing import Any

import numpy as np

from fedhull.bench.timing import peak_memory_mb
from fedhull.engines.rehearsal import rehearse
from fedhull.federation.coordinator import Progress
from fedhull.federation.holdings import Holdings
from fedhull.protocol.study import Geometry, Learning


def bench_scale(
    clients: int, corners: int = 20, epsilon: float = 0.1, report: Any = lambda step: None
) -> dict[str, Any]:
    """Seconds of each step for one site and for the server, bytes, and memory, with two classes of
    so many corners together at each site. Nobody shares work here: a site's seconds are the step's
    seconds divided by the number of sites."""
    geometry = Geometry(epsilon=epsilon, radius=0.95)
    rng = np.random.default_rng(0)
    half = geometry.quantizer.n_bins // 2
    holdings = {
        f"site-{i:04d}": Holdings(
            ["a", "b"],
            [
                (rng.choice(half, corners // 2, replace=False) + 1 + c * half).tolist()
                for c in range(2)
            ],
            points_held=corners,
            points_guarded=0,
        )
        for i in range(clients)
    }
    steps: dict[str, float] = {}

    def note(progress: Progress) -> None:
        steps[progress.step] = progress.seconds
        report(progress.step)

    begin = perf_counter()
    outcome = rehearse(holdings, geometry, Learning(classes=2), report=note).outcome
    total = perf_counter() - begin
    return {
        "clients": clients,
        "corners": corners,
        "label_code": outcome.study.coding.name,
        "field_bits": outcome.study.coding.field.bits,
        "client_seconds": {step: seconds / clients for step, seconds in steps.items()},
        "client_total": sum(steps.values()) / clients,
        "server_seconds": total - sum(steps.values()),
        "bytes_up_per_client": max(outcome.bytes_up.values()),
        "bytes_down_per_client": max(outcome.bytes_down.values()),
        "memory_mb": peak_memory_mb(),
    }
