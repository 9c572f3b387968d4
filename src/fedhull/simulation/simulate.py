"""`simulate`: a federated study over data that one machine holds, trial by trial."""

import inspect
from collections.abc import Callable, Sequence
from dataclasses import fields, replace
from typing import Any

import msgspec
import numpy as np
from numpy.typing import ArrayLike

from fedhull.disc.points import check_curvature
from fedhull.errors import InvalidInput
from fedhull.learn.prediction import is_annotated
from fedhull.progress import Progress, Report, ignore
from fedhull.simulation.experiment import Experiment
from fedhull.simulation.frame import GivenPoints, read_annotated, source_of
from fedhull.simulation.result import Simulation
from fedhull.simulation.sites import names_of_owners
from fedhull.simulation.sites import partition as deal_out
from fedhull.simulation.trial import run_trial
from fedhull.study.draft import SETTINGS, check_setting, default_of, draft_study, with_names
from fedhull.study.study import Study

# With these, a study sends what the paper's does.
_PAPER = {"min_cells": 1, "guard": "none"}
_EXPERIMENT = tuple(field.name for field in fields(Experiment))


def simulate(
    x: Any,
    y: ArrayLike | None = None,
    *,
    clients: int,
    epsilon: float,
    label: str | None = None,
    radius: float | None = None,
    partition: str | ArrayLike = Experiment.partition,
    donors: ArrayLike | None = None,
    report: Report = ignore,
    **settings: Any,
) -> Simulation:
    """A federated study over points x (n, 2) of the disc, or raw `Cells`, with labels y (n,); or
    over an AnnData object, whose labels are in the column `label` of ``obs``.

    Of an AnnData object the points in ``obsm['X_poincare']`` are taken, with the curvature that it
    says they have, or the raw cells if there are none or `frame` is set. Models of raw cells carry
    the encoder that placed them: ``result.model.predict(adata)`` places new cells first.

    clients : the number of sites that the training points are dealt out to.
    epsilon, radius, curvature : the bins; without a radius, the smallest that holds all points.
    summary, method, grouping, guard, min_cells : as `fedhull simulate --help` says, like all other
        settings of a study; method, grouping and guard may be objects.
    donors : (n,), whose the cells are, if dp_unit protects those of a donor together.
    partition : "iid", "dirichlet:A", or an array (n,) that says whose each point is; of an AnnData
        object also "column:NAME", a column of ``obs`` that says so.
    switch_labels : every site, or a share of them, numbers its classes in an order of its own.
    site_shift : the length of an isometry that moves all cells of a site, of its own for each.
    agreed_names : the sites have agreed on names, and need not find out which class is which.
    trials, seed, test_size, split_seed : each trial splits the data anew, but for split_seed.
    baselines : also score "FL-hulls", "FL-moments", pooled data ("C"), each site "alone" and the
        paper's methods; or the names of those to score, since each takes its time.
    ballot, holdout : sites judge candidates on points they hold out; with the paper's settings,
        min_cells=1 and guard="none", not by default, and then nothing is held out.
    drop : "N@STEP", N sites vanish just before they send their message of that step.
    frame : for raw cells, the origin of the encoder: fitted to all training cells ("pooled"), made
        by the sites in masked rounds ("sums"), or fitted to the cells of the largest site
        ("reference"). Cells without a label ("") are for the encoder only.
    tradeoff : also score the first trial with wider and narrower bins, for the report.
    report : hears of each stage before it begins.

    >>> from fedhull import make_tree, simulate
    >>> data = make_tree(600, lineages=3, seed=0)
    >>> result = simulate(data.x, data.y, clients=3, epsilon=0.1)
    >>> result.to_json()["decoded_exactly"]
    True
    """
    for name in settings:
        check_setting(name, (*SETTINGS, *_EXPERIMENT))
    if is_annotated(x):
        if y is not None:
            raise InvalidInput("y must be left out: label names the column of obs with the classes")
        found = read_annotated(x, label, settings.get("frame"), partition)
        if settings.get("curvature") is None and found.curvature is not None:
            settings["curvature"] = found.curvature
        x, y, partition = found.x, found.y, found.partition
    elif y is None or label is not None:
        raise InvalidInput(
            "y must hold a label for each point; label is for the column of an AnnData object"
        )
    how, column, owners = _as_partition(partition, clients)
    chosen = {name: settings[name] for name in settings.keys() & set(_EXPERIMENT)}
    experiment = Experiment(partition=how, **chosen)
    curvature = check_curvature(settings.get("curvature") or default_of("curvature"))
    source = source_of(x, y, experiment.frame, curvature)
    experiment = replace(experiment, frame=source.frame)
    classes = source.y.astype(str) if experiment.agreed_names else source.y
    n_classes = len(np.unique(classes))
    if n_classes < 2:
        raise InvalidInput("y must hold at least two classes, got one")
    largest = source.largest_radius(curvature)
    study = draft_study(
        clients,
        n_classes,
        name="simulation",
        epsilon=epsilon,
        radius=_radius(largest, curvature, experiment.site_shift) if radius is None else radius,
        **_with_holdout({name: settings[name] for name in settings.keys() & SETTINGS.keys()}),
    )
    if experiment.agreed_names:
        study = with_names(study, np.unique(classes).tolist())
    if experiment.dropped[0] >= clients:
        raise InvalidInput(f"drop = {experiment.drop!r} leaves none of the {clients} sites")
    study = _with_room_for(study, experiment.dropped[0])
    if study.has_bins and isinstance(source, GivenPoints):
        study.quantizer.encode(source.x)  # a point beyond R is an error before anything is sent
    whose = None if donors is None else np.asarray(donors)[source.rows]
    owner_of = _dealer(source.labels, clients, how, column)
    stage = _stages(experiment, report)
    return Simulation(
        study,
        experiment,
        [
            run_trial(source, classes, owner_of, whose, study, experiment, number, stage)
            for number in range(experiment.trials)
        ],
        owners,
    )


def _with_holdout(settings: dict[str, Any]) -> dict[str, Any]:
    """The settings, with a ballot and held-out points for it, unless they are the paper's."""
    plain = all(settings.get(name) == value for name, value in _PAPER.items())
    if settings.get("ballot") is None:
        settings["ballot"] = not plain
    if settings.get("holdout") is None and not settings["ballot"]:
        settings["holdout"] = 0.0
    return settings


def _radius(largest: float, curvature: float, site_shift: float) -> float:
    """The smallest radius that holds points up to radius `largest`, wherever sites are moved to."""
    rim = np.nextafter(1.0, 0.0)
    share = min(np.sqrt(curvature) * largest * (1 + 1e-12), rim)
    if site_shift > 0.0:
        share = min(np.tanh(np.arctanh(share) + site_shift / 2.0), rim)
    return float(share / np.sqrt(curvature))


def _with_room_for(study: Study, dropped: int) -> Study:
    """The study with a threshold that allows for this many dropouts, if any can."""
    n = len(study.clients)
    if not n // 2 < n - dropped < study.threshold:
        return study
    rules = msgspec.structs.replace(study.protocol, threshold=n - dropped)
    return msgspec.structs.replace(study, protocol=rules)


def _signature() -> inspect.Signature:
    """The signature for `help(simulate)`: every setting with its default."""
    shown = dict(inspect.signature(simulate).parameters)
    shown.pop("settings")
    defaults = {name: default_of(name) for name in SETTINGS if name not in shown}
    defaults |= {f.name: f.default for f in fields(Experiment) if f.name not in shown}
    keyword = inspect.Parameter.KEYWORD_ONLY
    shown |= {name: inspect.Parameter(name, keyword, default=d) for name, d in defaults.items()}
    return inspect.Signature(list(shown.values()), return_annotation=Simulation)


simulate.__signature__ = _signature()  # type: ignore[attr-defined]


def _stages(experiment: Experiment, report: Report) -> Callable[[int, str], None]:
    """The reporter of trials' stages: "trial 2: protocol", and how many stages there are."""
    of_trial = 3 + bool(experiment.scored) + (experiment.frame is not None)
    total, done = experiment.trials * of_trial + experiment.tradeoff, 0

    def stage(trial: int, name: str) -> None:
        nonlocal done
        report(Progress(f"trial {trial + 1}: {name}", done, total))
        done += 1

    return stage


def _as_partition(
    how: str | ArrayLike, clients: int
) -> tuple[str, np.ndarray | None, Sequence[str]]:
    """The kind of partition, or the owner of each point among named ones."""
    if isinstance(how, str):
        return how, None, ()
    owners, column = np.unique(np.asarray(how), return_inverse=True)
    if len(owners) != clients:
        raise InvalidInput(f"partition names {len(owners)} owners, but there are {clients} clients")
    return "column", column, names_of_owners(owners.tolist())


def _dealer(
    y: np.ndarray, clients: int, how: str, column: np.ndarray | None
) -> Callable[[np.ndarray, int], np.ndarray]:
    if column is not None:
        return lambda rows, seed: column[rows]
    return lambda rows, seed: deal_out(y[rows], clients, how, seed)
