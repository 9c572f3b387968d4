"""How a study grows with the number of sites: all of them in one process, in the memory engine."""

from time import perf_counter
from typing import Any

import numpy as np

from fedhull.bench.timing import peak_memory_mb
from fedhull.progress import Progress
from fedhull.study.draft import draft_study, site_name
from fedhull.study.hulls.holdings import HullHoldings
from fedhull.study.rehearsal import rehearse


def bench_scale(
    clients: int, corners: int = 20, classes: int = 2, epsilon: float = 0.1
) -> dict[str, Any]:
    """Seconds of each step for one site and for the server, bytes, and memory, with so many corners
    in all classes together at each site. Nobody shares work here: a site's seconds are the step's
    seconds divided by the number of sites."""
    study = draft_study(clients, classes=classes, epsilon=epsilon, radius=0.95)
    rng = np.random.default_rng(0)
    # bins of one ring are the corners of a hull, whichever of them are taken
    rings = study.quantizer.n_bins - study.quantizer.n_angles * np.arange(1, classes + 1)
    holdings = {
        site_name(i): HullHoldings(
            list(range(classes)),
            [
                (
                    rng.choice(study.quantizer.n_angles, corners // classes, replace=False)
                    + 1
                    + ring
                ).tolist()
                for ring in rings
            ],
            points_held=corners,
            points_guarded=0,
        )
        for i in range(clients)
    }
    steps: dict[str, float] = {}

    def note(progress: Progress) -> None:
        steps[progress.step] = progress.seconds

    begin = perf_counter()
    outcome = rehearse(study, holdings, report=note).outcome
    total = perf_counter() - begin
    return {
        "clients": clients,
        "corners": corners,
        "labels": clients * classes,
        "label_code": outcome.study.coding.name,
        "planes": outcome.study.coding.planes,
        "field_bits": outcome.study.coding.field.bits,
        "client_seconds": {step: seconds / clients for step, seconds in steps.items()},
        "client_total": sum(steps.values()) / clients,
        "server_seconds": total - sum(steps.values()),
        "bytes_up_per_client": max(outcome.record.bytes_up.values()),
        "bytes_down_per_client": max(outcome.record.bytes_down.values()),
        "memory_mb": peak_memory_mb(),
    }
