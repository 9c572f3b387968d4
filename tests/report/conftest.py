"""Studies whose pages are looked at: a simulation with hostile names, and a real one from kits."""

import numpy as np
import pytest
from conformance import agree
from federations import draft, make_data

from fedhull import make_tree, simulate
from fedhull.kits.kit import Kit
from fedhull.kits.participant import SiteRun, coordinate
from fedhull.kits.provision import make_kits

NAMES = ["lab-a", "lab-b", "lab-c"]
HOSTILE = {
    "stem": "<script>window.hacked = 1</script>",
    "lineage-1": "</script><img src=x onerror='window.hacked = 1'>",
    "lineage-2": "a & b \u2028 {{script}}",
    "lineage-3": "plain",
}


class InThisProcess:
    """An engine that hands messages to the sites' runs, which work from their kits."""

    def __init__(self, runs):
        self.runs = runs

    def step(self, kind, messages, timeout):
        answers = {name: self.runs[name].answer(kind, raw) for name, raw in messages.items()}
        return (
            {name: reply for name, (reply, error) in answers.items() if reply is not None},
            {name: error for name, (reply, error) in answers.items() if error is not None},
        )


@pytest.fixture(scope="session")
def simulated():
    data = make_tree(900, lineages=3, seed=0)
    names = np.array([HOSTILE[name] for name in data.y])
    return simulate(
        data.x / np.sqrt(2.0), names, clients=3, epsilon=0.1, curvature=2.0, drop="1@upload",
        trials=2, baselines=True, tradeoff=True,
    )  # fmt: skip


@pytest.fixture(scope="session")
def federated(tmp_path_factory):
    """{participant: its results folder} of a study from kits."""
    folder = tmp_path_factory.mktemp("study")
    kits = make_kits(draft(NAMES), folder / "kits").folder
    runs = {}
    data = make_data(folder, NAMES)
    for name in NAMES:
        runs[name] = SiteRun(agree(kits, name, data), "run")
    server = Kit.open(kits / "server")
    coordinate(server, "run", InThisProcess(runs), 60.0, lambda progress: None)
    return {name: kits / name / "results" / "run" for name in ("server", *NAMES)}
