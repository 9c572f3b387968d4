"""A study whose sites are spread over processes, run in a process that has loaded little: those of
tests have loaded JAX, after which forking is not safe."""

from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

from fedhull.study.rehearsal import rehearse
from fedhull_lab.bench import watching
from fedhull_lab.bench.scale import MOMENTS, _moments


def weights_and_memory(sites: int, processes: int) -> tuple[list, float]:
    """The model's coefficients, and the megabytes of all processes."""
    with ProcessPoolExecutor(max_workers=1, mp_context=get_context("spawn")) as fresh:
        return fresh.submit(_rehearsed, sites, processes).result()


def _rehearsed(sites: int, processes: int) -> tuple[list, float]:
    watching.shard_count = lambda sites: processes
    engines = []

    def spread(*arguments):
        engines.append(watching.WatchingEngine(*arguments))
        return engines[0]

    study, holdings = _moments(sites, {"epsilon": 0.1, "radius": 0.95, "summary": MOMENTS})
    made = rehearse(study, holdings, engine=spread)
    (engine,) = engines
    assert len(engine.clients) == sites // processes
    seconds, memory = engine.close()
    assert seconds > 0
    return made.outcome.model.coef_.tolist(), memory
