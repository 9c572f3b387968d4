"""Studies whose pages are looked at: a simulation with hostile names, real ones from kits."""

import numpy as np
import pytest
from browser import start_chromium
from conformance import agree
from federations import AGREED, TWO_OF_THREE, draft, make_data
from frames import make_frame_kits

from fedhull import make_tree, simulate
from fedhull.disc.isometry import rotation, translation
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
    """An engine that hands messages to the sites' runs, which work from their kits. From the round
    `until` on, the last of them does not answer."""

    def __init__(self, runs, until=None):
        self.runs = runs
        self.until, self.round = until, 0

    def step(self, kind, messages, timeout):
        self.round += kind == "advertise"
        gone = max(self.runs) if self.until is not None and self.round >= self.until else None
        answers = {
            name: (None, "vanished") if name == gone else self.runs[name].answer(kind, raw)
            for name, raw in messages.items()
        }
        return (
            {name: reply for name, (reply, error) in answers.items() if reply is not None},
            {name: error for name, (reply, error) in answers.items() if error is not None},
        )


@pytest.fixture(scope="session")
def chromium(tmp_path_factory):
    driver = start_chromium(tmp_path_factory.mktemp("profile"))
    if driver is None:
        pytest.skip("no Chromium here: apt-get install chromium chromium-driver")
    yield driver
    driver.quit()


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("pages")


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
    data = make_data(folder, NAMES)
    return run_in_this_process(kits, agreeing(kits, data))


MOMENTS = '[learning]\nsummary = "moments"\nfeatures = 32\nalign = 0'
ALIGNED = MOMENTS.replace("align = 0", "align = 2")
ALIGNED_HULLS = "[learning]\nalign = 2"


@pytest.fixture(scope="session")
def summed(tmp_path_factory):
    """{participant: its results folder} of a study of moments from kits."""
    return study_of_moments(tmp_path_factory.mktemp("moments"))


@pytest.fixture(scope="session")
def left_between(tmp_path_factory):
    """The same of one in which lab-c drops out between the sums."""
    return study_of_moments(tmp_path_factory.mktemp("between"), until=2)


@pytest.fixture(scope="session")
def summed_by_name(tmp_path_factory):
    """The same of one with agreed names."""
    names = ", ".join(f'"{name}"' for name in np.unique(make_tree(100, seed=1).y))
    return study_of_moments(tmp_path_factory.mktemp("agreed"), f"[classes]\nnames = [{names}]")


@pytest.fixture(scope="session")
def summed_simulation():
    data = make_tree(900, lineages=3, seed=0)
    names = np.array([HOSTILE[name] for name in data.y])
    return simulate(
        data.x / np.sqrt(2.0), names, clients=4, epsilon=0.1, curvature=2.0, summary="moments",
        drop="1@upload", switch_labels=True, partition="dirichlet:1", align=0,
    )  # fmt: skip


@pytest.fixture(scope="session")
def aligned(tmp_path_factory):
    """{participant: its results folder} of a study of moments whose sites, moved against each
    other, align themselves twice."""
    return study_of_moved(tmp_path_factory.mktemp("aligned"), ALIGNED)


@pytest.fixture(scope="session")
def aligned_by_name(tmp_path_factory):
    """The same of one with agreed names."""
    return study_of_moved(tmp_path_factory.mktemp("aligned-agreed"), f"{ALIGNED}\n{AGREED}")


@pytest.fixture(scope="session")
def aligned_hulls(tmp_path_factory):
    """The same of one of hulls."""
    return study_of_moved(tmp_path_factory.mktemp("aligned-hulls"), ALIGNED_HULLS)


@pytest.fixture(scope="session")
def aligned_simulation():
    data = make_tree(900, lineages=3, seed=0)
    names = np.array([HOSTILE[name] for name in data.y])
    return simulate(data.x, names, clients=4, epsilon=0.1, summary="moments", align=2)


def agreeing(kits, data):
    """The sites' kits. All studies here are over the same data, and consent says so."""
    return {name: agree(kits, name, data, again=True) for name in NAMES}


def study_of_moments(folder, extra="", until=None):
    drafted = draft(NAMES, f"{TWO_OF_THREE}\n{MOMENTS}\n{extra}")
    kits = make_kits(drafted, folder / "kits").folder
    data = make_data(folder, NAMES)
    return run_in_this_process(kits, agreeing(kits, data), until)


def study_of_moved(folder, learning):
    kits = make_kits(draft(NAMES, f"{TWO_OF_THREE}\n{learning}"), folder / "kits").folder
    data = make_data(folder, NAMES)
    moves = [rotation(0.3), translation([0.2, 0.1]), translation([-0.15, 0.1]) @ rotation(-0.2)]
    for file, move in zip(data.values(), moves, strict=True):
        cells = dict(np.load(file))
        # where the study's radius is no limit to any isometry
        np.savez(file, x=move.apply(0.8 * cells["x"]), y=cells["y"])
    return run_in_this_process(kits, agreeing(kits, data))


@pytest.fixture(scope="session")
def framed(tmp_path_factory):
    """{participant: its results folder} of an encoder study of three sums; lab-c drops out before
    the last."""
    kits, _ = make_frame_kits(tmp_path_factory.mktemp("frame"), NAMES)
    return run_in_this_process(kits, {name: Kit.open(kits / name) for name in NAMES}, until=3)


@pytest.fixture(scope="session")
def run_here():
    """Runs a study from its kits in this process."""
    return run_in_this_process


def run_in_this_process(kits, kit_of, until=None, run="run"):
    runs = {name: SiteRun(kit, run) for name, kit in kit_of.items()}
    engine = InThisProcess(runs, until)
    coordinate(Kit.open(kits / "server"), run, engine, 60.0, lambda progress: None)
    return {name: kits / name / "results" / run for name in ("server", *NAMES)}
