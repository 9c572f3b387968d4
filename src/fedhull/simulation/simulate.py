"""`simulate`: a federated study over data that one machine holds, trial by trial."""

import platform
from collections.abc import Callable
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from fedhull.data.files import check_data
from fedhull.data.partition import partition as deal_out
from fedhull.disc.points import as_ball_points, check_curvature
from fedhull.errors import InvalidInput
from fedhull.protocol.study import Geometry
from fedhull.report.content import SimulationPage
from fedhull.report.html import write_page
from fedhull.simulation.report import simulation_page
from fedhull.simulation.settings import Settings
from fedhull.simulation.trial import Trial, run_trial

_LIBRARIES = ("fedhull", "numpy", "scipy", "scikit-learn", "numba", "python-flint", "cryptography")


@dataclass(frozen=True)
class Simulation:
    """The result: accuracy with intervals, leakage, bytes, and the first trial's model."""

    settings: Settings
    geometry: Geometry
    trials: list[Trial]

    @property
    def model(self) -> Any:
        """The classifier that the server trained in the first trial."""
        return self.trials[0].model

    @property
    def accuracy(self) -> dict[str, dict[str, Any]]:
        """For each method mean, half width of the 95 % interval, and trials, in percent."""
        return {
            name: summarize([trial.accuracy[name] for trial in self.trials])
            for name in self.trials[0].accuracy
        }

    @property
    def leakage(self) -> dict[str, Any]:
        """How many points left of how many, on average, and the largest hull of all."""
        sent = float(np.mean([t.points_sent for t in self.trials]))
        total = float(np.mean([t.points_total for t in self.trials]))
        return {
            "points_sent": sent,
            "points_total": total,
            "ratio": sent / total,
            "max_hull": max(t.max_hull for t in self.trials),
            "points_guarded": float(np.mean([t.points_guarded for t in self.trials])),
        }

    def page(self, title: str = "A simulated study") -> SimulationPage:
        """What the report page shows."""
        return simulation_page(self, title)

    def write_report(self, path: str | Path, title: str = "A simulated study") -> None:
        """Write the report page, one HTML file."""
        write_page(self.page(title), path)

    def to_json(self) -> dict[str, Any]:
        """Plain numbers and words."""
        first = self.trials[0]
        coding = first.session.study.coding
        return {
            "accuracy": self.accuracy,
            "leakage": self.leakage,
            "bytes_up_per_client": max(max(t.bytes_up.values()) for t in self.trials),
            "bins": self.geometry.quantizer.n_bins,
            "field_bits": coding.field.bits,
            "label_code": coding.name,
            "grouping_correct": float(np.mean([t.grouping_correct for t in self.trials])),
            "decoded_exactly": all(t.decoded_exactly for t in self.trials),
            "dropped": self.settings.dropped[0],
            "survivors": len(first.survivors),
            "seconds": {
                stage: sum(t.seconds.get(stage, 0.0) for t in self.trials)
                for stage in first.seconds
            },
            "settings": asdict(self.settings) | {"radius": self.geometry.radius},
            "versions": {name: version(name) for name in _LIBRARIES}
            | {"python": platform.python_version()},
        }


def simulate(
    x: ArrayLike,
    y: ArrayLike,
    *,
    clients: int,
    epsilon: float,
    radius: float | None = None,
    curvature: float = 1.0,
    method: str = "lorentz",
    grouping: str = "matching",
    guard: str = "edit+trim:0.02",
    label_code: str = "auto",
    partition: str | ArrayLike = "iid",
    switch_labels: bool | float = False,
    trials: int = 1,
    seed: int = 0,
    test_size: float = 0.15,
    split_seed: int | None = None,
    baselines: bool = False,
    drop: str | None = None,
    strength: float = 0.1,
    tradeoff: bool = False,
    report: Callable[[int, str], None] = lambda trial, stage: None,
) -> Simulation:
    """A federated study over points x (n, 2) of the disc with labels y (n,).

    clients : how many sites the training points are dealt out to.
    epsilon, radius, curvature : the bins; without a radius, the smallest that holds all points.
    method : "lorentz", "poincare-svm" or "euclidean-svm".
    grouping : "matching", "kernighan-lin" or "spectral".
    guard : what sites leave out: "none", "edit", "trim:F", "edit+trim:F".
    label_code : "auto", "binary" or "bose-chowla:H".
    partition : "iid", "dirichlet:A", or an array (n,) that says whose each point is.
    switch_labels : every site, or a share of them, numbers its classes in an order of its own.
    trials, seed, test_size, split_seed : each trial splits the data anew, unless split_seed is set.
    baselines : also score the same method on pooled data, and the paper's methods.
    drop : "N@STEP", N sites vanish just before they send their message of that step.
    strength : λ of the paper's SVMs.
    tradeoff : also score the first trial with wider and narrower bins, for the report.
    report : told before each stage, with the number of the trial.

    >>> from fedhull import make_tree, simulate
    >>> data = make_tree(600, lineages=3, seed=0)
    >>> result = simulate(data.x, data.y, clients=3, epsilon=0.1)
    >>> result.to_json()["decoded_exactly"]
    True
    """
    name, column = _as_partition(partition, clients)
    settings = Settings(
        clients, epsilon, radius, curvature, method, grouping, guard, label_code, name,
        switch_labels, trials, seed, test_size, split_seed, baselines, drop, strength, tradeoff,
    )  # fmt: skip
    x, y = check_data(x, y, "data")
    points, _ = as_ball_points(x, check_curvature(curvature), "x")
    if points.shape[1] != 2:
        raise InvalidInput(f"x must lie in the disc, shape (n, 2), got shape {points.shape}")
    if len(np.unique(y)) < 2:
        raise InvalidInput("y must hold at least two classes, got one")
    geometry = Geometry(
        epsilon=float(epsilon),
        radius=float(radius if radius is not None else np.hypot(*points.T).max() * (1 + 1e-12)),
        curvature=float(curvature),
    )
    geometry.quantizer.encode(points)  # a point beyond R is an error before anything is sent
    owner_of = _dealer(y, settings, column)
    return Simulation(
        settings,
        geometry,
        [
            run_trial(
                points, y, owner_of, settings, geometry, number,
                lambda stage, number=number: report(number, stage),  # type: ignore[misc]
            )
            for number in range(settings.trials)
        ],
    )  # fmt: skip


def _as_partition(how: str | ArrayLike, clients: int) -> tuple[str, np.ndarray | None]:
    if isinstance(how, str):
        return how, None
    owners, column = np.unique(np.asarray(how), return_inverse=True)
    if len(owners) != clients:
        raise InvalidInput(f"partition names {len(owners)} owners, but there are {clients} clients")
    return "column", column


def _dealer(
    y: np.ndarray, settings: Settings, column: np.ndarray | None
) -> Callable[[np.ndarray, int], np.ndarray]:
    if column is not None:
        return lambda rows, seed: column[rows]
    return lambda rows, seed: deal_out(y[rows], settings.clients, settings.partition, seed)


def summarize(values: list[float]) -> dict[str, Any]:
    """Mean, half width of the 95 % interval, and the values themselves."""
    n = len(values)
    half = 0.0
    if n > 1:
        half = float(stats.t.ppf(0.975, n - 1) * np.std(values, ddof=1) / np.sqrt(n))
    return {"mean": float(np.mean(values)), "ci95": half, "trials": values}
