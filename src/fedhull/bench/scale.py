"""How a study grows with the number of sites: all of them in one process, in the memory engine."""

from time import perf_counter
from typing import Any

import numpy as np

from fedhull.bench.timing import peak_memory_mb
from fedhull.learn.sketch import slot_sketch
from fedhull.progress import Progress
from fedhull.study.draft import draft_study, site_name
from fedhull.study.hulls.holdings import HullHoldings
from fedhull.study.rehearsal import rehearse
from fedhull.study.study import Study


def bench_scale(
    clients: int, corners: int = 20, classes: int = 2, epsilon: float = 0.1
) -> dict[str, Any]:
    """Seconds of each step for one site and for the server, bytes, and memory, with so many corners
    in all classes together at each site. Nobody shares work here: a site's seconds are the step's
    seconds divided by the number of sites."""
    study = draft_study(clients, classes=classes, epsilon=epsilon, radius=0.95)
    rng = np.random.default_rng(0)
    holdings = {
        site_name(i): _holdings(study, corners // classes, classes, rng) for i in range(clients)
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


def _holdings(study: Study, corners: int, classes: int, rng: np.random.Generator) -> HullHoldings:
    """Hulls of so many corners, each class in a sector of the outermost ring, whose bins are all
    corners of their hull."""
    quantizer = study.quantizer
    sector = quantizer.n_angles // classes
    first = quantizer.n_bins - quantizer.n_angles + 1
    hulls = [
        (first + c * sector + rng.choice(sector, corners, replace=False)).tolist()
        for c in range(classes)
    ]
    sketches = [
        [corners, *slot_sketch(quantizer.decode(np.array(bins)), 1.0, study.learning.seed)]
        for bins in hulls
    ]
    return HullHoldings(
        classes=list(range(classes)),
        hulls=hulls,
        points_held=corners * classes,
        sketches=[list(map(int, sketch)) for sketch in sketches],
    )
