"""One trial of a simulated study: split, deal out, rehearse, score."""

from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any

import msgspec
import numpy as np

from fedhull.errors import InvalidInput
from fedhull.report.classifier import calibration_error, count_tests
from fedhull.report.sections import Confusion, TradeoffRow
from fedhull.simulation.baselines import alone, on_corners, on_pooled, score
from fedhull.simulation.experiment import Experiment
from fedhull.simulation.federation import Dealt, Federation, federate, for_summary, sweep
from fedhull.simulation.frame import GivenPoints, RawPoints
from fedhull.simulation.sites import Shifts, Tests, owners_of_tests
from fedhull.study.draft import site_name
from fedhull.study.rehearsal import Rehearsal
from fedhull.study.study import HULLS, MOMENTS, Study

# Which stream of random numbers moves sites and deals out test cells.
_SHIFTING = 1
# What needs a federation with this summary.
_OF_SUMMARY = {HULLS: {"FL-hulls", "FLP", "FLE"}, MOMENTS: {"FL-moments"}}


@dataclass(repr=False)
class Trial:
    """The result of one trial; `test` are rows for testing, `names` those of classes."""

    accuracy: dict[str, float]
    points_sent: int
    points_total: int
    points_guarded: int
    smallest_group: int
    cells_exposed: int
    classes_withheld: int
    max_hull: int
    bytes_up: dict[str, int]
    grouping_correct: float
    decoded_exactly: bool
    calibration_error: float | None
    survivors: list[str]
    model: Any
    test: np.ndarray
    session: Rehearsal
    testing: Confusion
    names: dict[int, Any] = field(default_factory=dict)
    tradeoff: list[TradeoffRow] = field(default_factory=list)
    seconds: dict[str, float] = field(default_factory=dict)

    def __repr__(self) -> str:
        return f"Trial(accuracy {self.accuracy['FL']:.1f} %, {len(self.survivors)} sites)"

    def leakage_at(self, epsilon: float) -> TradeoffRow:
        """Leakage and accuracy with the study's own bins."""
        return TradeoffRow(
            epsilon=epsilon,
            accuracy=self.accuracy["FL"],
            points_sent=self.points_sent,
            points_total=self.points_total,
        )


def run_trial(
    source: GivenPoints | RawPoints,
    y: np.ndarray,
    owner_of: Callable[[np.ndarray, int], np.ndarray],
    donors: np.ndarray | None,
    study: Study,
    experiment: Experiment,
    number: int,
    report: Callable[[int, str], None],
) -> Trial:
    """Trial `number` of a study. `owner_of` deals training rows out to sites, given their indices
    and a seed; `donors` (n,) says whose cells they are; `report` hears of each stage."""
    seconds: dict[str, float] = {}

    @contextmanager
    def stage(name: str) -> Iterator[None]:
        report(number, name)
        begin = perf_counter()
        yield
        seconds[name] = perf_counter() - begin

    # scikit-learn takes longer to import than all the rest
    from sklearn.model_selection import train_test_split

    train, test = train_test_split(
        np.arange(len(y)),
        test_size=experiment.test_size,
        random_state=experiment.split_seed_of(number),
    )
    seed = experiment.seed + number
    owner = owner_of(source.rows[train], seed)
    with stage("encoder") if source.frame is not None else nullcontext():
        encoder = source.encoder(train, owner, owner_of, study, seed)
        x = source.points(encoder)
    with stage(study.learning.summary):
        rng = np.random.default_rng([experiment.seed, number, _SHIFTING])
        curvature = study.geometry.curvature
        shifts = Shifts.draw(len(study.clients), experiment.site_shift, curvature, rng)
        tester = owners_of_tests(y[train], owner, y[test], rng)
        tests = Tests(x[test], y[test], tester, shifts)
        dealt = _deal_out(
            shifts.measured(x[train], owner),
            y[train],
            owner,
            len(study.clients),
            experiment,
            number,
            None if donors is None else donors[train],
        )
        study = _for_classes(study, dealt)
        holdings = dealt.holdings(study)
    with stage("protocol"):
        federation = federate(study, dealt, holdings)
    learning = federation.outcome.learning_seconds
    seconds["protocol"] -= sum(learning.values())
    seconds |= learning
    report(number, "scoring")
    trial = _measured(federation, tests, test, seconds)
    if encoder is not None:
        # so that the model can be asked about cells
        trial.model.encoder_, trial.model.encoder_file_ = encoder.hash, encoder.to_bytes()
    if wanted := experiment.scored:
        with stage("baselines"):
            scores = _baselines(study, dealt, federation, tests, wanted)
            trial.accuracy |= {name: scores[name] for name in wanted if name in scores}
    if experiment.tradeoff and number == 0 and study.has_bins:
        with stage("trade-off"):
            others = sweep(federation, dealt, lambda model: score(model, tests.measured, tests.y))
            trial.tradeoff = sorted(
                [trial.leakage_at(study.geometry.epsilon), *others], key=lambda row: row.epsilon
            )
    return trial


def _deal_out(
    x: np.ndarray,
    y: np.ndarray,
    owner: np.ndarray,
    sites: int,
    experiment: Experiment,
    number: int,
    donors: np.ndarray | None,
) -> Dealt:
    """Training points as they are dealt out in this trial."""
    rng = np.random.default_rng([experiment.seed, number])
    orders = _class_orders(y, owner, sites, experiment.switch_labels, rng)
    n_dropped, step = experiment.dropped
    names = list(map(site_name, range(sites)))
    gone = rng.choice(names, n_dropped, replace=False).tolist()
    return Dealt(x, y, owner, orders, {step: gone}, donors)


def _measured(
    federation: Federation, tests: Tests, test: np.ndarray, seconds: dict[str, float]
) -> Trial:
    """The measures of a federation, apart from comparisons."""
    test_x, test_y = tests.moved_back(federation.session.sites), tests.y
    outcome, model, in_sum = federation.outcome, federation.model, federation.in_sum
    hulls = [hull for held in in_sum for hull in getattr(held.prepared, "hulls", [])]
    return Trial(
        {"FL": score(model, test_x, test_y)},
        points_sent=sum(map(len, hulls)),
        points_total=sum(held.points_held for held in in_sum),
        points_guarded=sum(line.guarded for held in in_sum for line in held.lines),
        smallest_group=min([outcome.fewest_cells(in_sum), *_judged_by(federation)]),
        cells_exposed=sum(held.cells_exposed for held in in_sum),
        classes_withheld=sum(len(held.withheld) for held in in_sum),
        max_hull=max(map(len, hulls), default=0),
        bytes_up=outcome.record.bytes_up,
        grouping_correct=federation.grouping_correct,
        decoded_exactly=outcome.is_exact(federation.session.sites),
        calibration_error=calibration_error(model, test_x, test_y),
        survivors=outcome.survivors,
        model=model,
        test=test,
        session=federation.session,
        testing=count_tests(model, test_x, test_y),
        names=federation.names,
        seconds=seconds,
    )  # fmt: skip


def _judged_by(federation: Federation) -> list[int]:
    """The fewest cells behind what each site that has judged candidates says of them."""
    tallies = [site.own.cache.get("tally") for site in federation.session.sites.values()]
    rows = [tally.smallest_row for tally in tallies if tally is not None]
    return [row for row in rows if row is not None]


def _baselines(
    study: Study, dealt: Dealt, federation: Federation, tests: Tests, wanted: Collection[str]
) -> dict[str, float]:
    """Both summaries, the same method on pooled data and at sites alone, and the paper's."""
    test_x, test_y = tests.measured, tests.y
    federations = {study.learning.summary: federation}
    for summary, scores in _OF_SUMMARY.items():
        if summary not in federations and scores & set(wanted):
            other = for_summary(study, summary)
            federations[summary] = federate(other, dealt, dealt.holdings(other))
    found = {
        f"FL-{name}": score(made.model, tests.moved_back(made.session.sites), test_y)
        for name, made in federations.items()
    }
    if HULLS in federations:
        corners, groups = federations[HULLS].outcome.learned.more.corners
        names = federations[HULLS].names
        classes = np.array([names[group] for group in groups.tolist()])
        found |= on_corners(study, corners, classes, test_x, test_y, wanted)
    found |= on_pooled(study, dealt.x, dealt.y, test_x, test_y, wanted)
    if "alone" in wanted:
        found["alone"] = alone(study, dealt.x, dealt.y, dealt.owner, tests)
    return found


def _class_orders(
    y: np.ndarray, owner: np.ndarray, sites: int, switch: float, rng: np.random.Generator
) -> list[np.ndarray]:
    """Each site's order of classes; the share `switch` of sites have one of their own."""
    orders = []
    for i in range(sites):
        mine = owner == i
        if not mine.any():
            raise InvalidInput(
                f"site {i + 1} of {sites} has no points; use fewer sites or a more even partition"
            )
        classes = np.unique(y[mine])
        orders.append(rng.permutation(classes) if i < round(switch * sites) else classes)
    return orders


def _for_classes(study: Study, dealt: Dealt) -> Study:
    """The study for as many classes as the training points have, unless their names are agreed."""
    if study.classes.names:
        return study
    at_a_site, over_all = max(map(len, dealt.orders)), len(np.unique(dealt.y))
    return msgspec.structs.replace(
        study,
        labels=msgspec.structs.replace(study.labels, classes=at_a_site),
        learning=msgspec.structs.replace(study.learning, classes=over_all),
    )
