"""From a simulation to its report page."""

from typing import TYPE_CHECKING

import msgspec
import numpy as np

from fedhull.federation.report import SERVER_CHECKS, outcome_parts, site_lines
from fedhull.report.content import Check, Score, SimulationPage, SiteLine
from fedhull.report.testing import pool_tests

if TYPE_CHECKING:
    from fedhull.simulation.simulate import Simulation
    from fedhull.simulation.trial import Trial

# What belongs to a study: baselines and trade-off are extras.
STAGES = ("hulls", "protocol", "grouping", "learning")


def simulation_page(simulation: "Simulation", title: str) -> SimulationPage:
    """The coordinator's view of the first trial, and the scores of all."""
    first = simulation.trials[0]
    outcome = first.session.outcome
    right = float(np.mean([trial.grouping_correct for trial in simulation.trials]))
    exact = all(trial.decoded_exactly for trial in simulation.trials)
    seconds = {stage: first.seconds[stage] for stage in STAGES}
    parts = outcome_parts(outcome) | {"title": title, "seconds": seconds}
    return SimulationPage(
        **parts,
        sites=[_counted(line, first) for line in site_lines(outcome)],
        checks=[
            Check(words="The server's hulls equal the sites', bin for bin", passed=exact),
            Check(words=f"Hulls in the right class: {right:.1%}", passed=right == 1.0),
            *(Check(words=words, passed=True) for words in SERVER_CHECKS),
        ],
        classes=[str(name) for name in first.model.classes_],
        points_total=first.points_total,
        points_guarded=first.points_guarded,
        scores=[
            Score(name=name, mean=s["mean"], ci95=s["ci95"], trials=len(s["trials"]))
            for name, s in simulation.accuracy.items()
        ],
        testing=pool_tests([trial.testing for trial in simulation.trials]),
        grouping_correct=right,
        tradeoff=first.tradeoff,
    )


def _counted(line: SiteLine, trial: "Trial") -> SiteLine:
    """With the numbers that only a simulation knows of every site."""
    held = trial.session.sites[line.name].holdings
    return msgspec.structs.replace(
        line,
        points_held=held.points_held,
        points_guarded=held.points_guarded,
        points_sent=held.points_sent if line.taking_part else None,
    )
