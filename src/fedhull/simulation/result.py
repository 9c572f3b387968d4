"""The result of a simulation: scores with intervals, leakage, and the report page."""

import platform
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from fedhull.registry import name_of
from fedhull.report.classifier import pool_tests
from fedhull.report.page import SimulationPage
from fedhull.report.render import write_page
from fedhull.rounds.disclosure import sentences
from fedhull.rounds.noise import noise_of
from fedhull.simulation.experiment import Experiment
from fedhull.simulation.trial import Trial
from fedhull.study.draft import settings_of, site_name
from fedhull.study.study import SUMMARIES, Geometry, Study

_LIBRARIES = ("fedhull", "numpy", "scipy", "scikit-learn", "numba", "python-flint", "cryptography")
# What belongs to a study: baselines and trade-off are extras.
_STAGES = (*SUMMARIES.names, "protocol", "grouping", "learning")


@dataclass(frozen=True, repr=False)
class Simulation:
    """The result: accuracy with intervals, leakage, bytes, and the first trial's model. `owners`
    are the names of the sites, if a column of the data says whose each point is."""

    study: Study
    experiment: Experiment
    trials: list[Trial]
    owners: Sequence[str] = ()

    def __repr__(self) -> str:
        return (
            f"Simulation({len(self.study.clients)} sites, {len(self.trials)} trials, "
            f"accuracy {self.accuracy['FL']['mean']:.1f} %, "
            f"{self.leakage['ratio']:.1%} of the points left)"
        )

    @property
    def geometry(self) -> Geometry:
        """The disc and its bins."""
        return self.study.geometry

    @property
    def settings(self) -> dict[str, Any]:
        """All settings of study and experiment, by the names that `simulate` takes."""
        chosen = {"clients": len(self.study.clients)} | settings_of(self.study)
        for part in ("method", "grouping", "guard"):
            chosen[part] = name_of(chosen[part])
        return chosen | asdict(self.experiment)

    @property
    def model(self) -> Any:
        """The classifier that the server trained in the first trial."""
        return self.trials[0].model

    @property
    def accuracy(self) -> dict[str, dict[str, Any]]:
        """For each method mean, half width of the 95 % interval, and trials, in percent."""
        in_all = [n for n in self.trials[0].accuracy if all(n in t.accuracy for t in self.trials)]
        return {name: summarize([t.accuracy[name] for t in self.trials]) for name in in_all}

    @property
    def leakage(self) -> dict[str, Any]:
        """Points sent and held and classes withheld, on average; over all trials the largest hull,
        the fewest cells behind anything that left, and the most cells whose own position left."""
        sent = float(np.mean([t.points_sent for t in self.trials]))
        total = float(np.mean([t.points_total for t in self.trials]))
        return {
            "points_sent": sent,
            "points_total": total,
            "ratio": sent / total,
            "max_hull": max(t.max_hull for t in self.trials),
            "points_guarded": float(np.mean([t.points_guarded for t in self.trials])),
            "smallest_group": min(t.smallest_group for t in self.trials),
            "cells_exposed": max(t.cells_exposed for t in self.trials),
            "classes_withheld": float(np.mean([t.classes_withheld for t in self.trials])),
        }

    @property
    def privacy(self) -> dict[str, Any] | None:
        """The promise about single cells, and the ε of the noise that was added: `spent` if no site
        tells the coordinator about its own, `spent_against_sites` if the largest tolerated
        coalition does, with as few survivors as possible."""
        noise = noise_of(self.study)
        if noise is None:
            return None
        promise = noise.promise
        fewest = min(len(trial.survivors) for trial in self.trials)
        return {
            "epsilon": promise.epsilon,
            "delta": promise.delta,
            "unit": promise.unit,
            "spent": noise.spent(fewest),
            "spent_against_sites": noise.spent(noise.threshold - noise.tolerated),
        }

    def page(self, title: str = "A simulated study") -> SimulationPage:
        """The report page: the first trial, and the scores of all."""
        # pages of moments need scikit-learn, which takes longer to import than all the rest
        from fedhull.report.classes import simulation_page
        from fedhull.report.known import Simulated

        first = self.trials[0]
        simulated = Simulated(
            title=title,
            sites=first.session.sites,
            names=first.names,
            classes=[str(name) for name in first.model.classes_],
            seconds={stage: first.seconds[stage] for stage in _STAGES if stage in first.seconds},
            accuracy=self.accuracy,
            testing=pool_tests([trial.testing for trial in self.trials]),
            tradeoff=first.tradeoff,
            grouping_correct=float(np.mean([trial.grouping_correct for trial in self.trials])),
            decoded_exactly=all(trial.decoded_exactly for trial in self.trials),
            called={site_name(i): name for i, name in enumerate(self.owners)},
        )
        return simulation_page(first.session.outcome, simulated)

    def write_report(self, path: str | Path, title: str = "A simulated study") -> None:
        """Write the report page, one HTML file."""
        write_page(self.page(title), path)

    def to_json(self) -> dict[str, Any]:
        """Plain numbers and words."""
        first = self.trials[0]
        outcome = first.session.outcome.to_json()
        errors = [t.calibration_error for t in self.trials if t.calibration_error is not None]
        return {
            "summary": self.study.learning.summary,
            "accuracy": self.accuracy,
            "leakage": self.leakage,
            "bytes_up_per_client": max(max(t.bytes_up.values()) for t in self.trials),
            # what only hulls have is null for moments
            **{key: outcome.get(key) for key in ("bins", "field_bits", "planes", "label_code")},
            "calibration_error": float(np.mean(errors)) if errors else None,
            "ballot": outcome["ballot"],
            "disclosures": sentences(first.session.outcome.disclosures),
            "dp": self.privacy,
            "grouping_correct": float(np.mean([t.grouping_correct for t in self.trials])),
            "decoded_exactly": all(t.decoded_exactly for t in self.trials),
            "dropped": self.experiment.dropped[0],
            "survivors": len(first.survivors),
            "seconds": {
                stage: sum(t.seconds.get(stage, 0.0) for t in self.trials)
                for stage in first.seconds
            },
            "settings": self.settings,
            "versions": {name: version(name) for name in _LIBRARIES}
            | {"python": platform.python_version()},
        }


def summarize(values: list[float]) -> dict[str, Any]:
    """Mean, half width of the 95 % interval, and the values themselves."""
    n = len(values)
    half = 0.0
    if n > 1:
        # Student's quantile by itself: scipy.stats takes a second to import
        from scipy.special import stdtrit

        half = float(stdtrit(n - 1, 0.975) * np.std(values, ddof=1) / np.sqrt(n))
    return {"mean": float(np.mean(values)), "ci95": half, "trials": values}
