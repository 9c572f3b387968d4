"""What differential privacy costs, and what an attacker learns with it and without."""

from typing import Any

import numpy as np

from fedhull.data.datasets import load_dataset
from fedhull.data.generated import make_tree
from fedhull.errors import InvalidInput
from fedhull.progress import Report
from fedhull.reproduce.dealing import USUAL, deal
from fedhull.reproduce.finding import Finding, Table, counted, score
from fedhull.reproduce.membership import MODEL, READ, SOLVED, Pool, Sizes, attack
from fedhull.reproduce.released import KINDS, SITES
from fedhull.simulation.result import summarize
from fedhull.simulation.simulate import simulate
from fedhull.study.noise import ON_SLOTS

EPSILON = 0.01
DELTA = 1e-5
PROMISES = (None, 8.0, 4.0, 2.0, 1.0)
TRIALS, TREE_POINTS, MOST_POINTS = 3, 20_000, 5_000
QUICK_TRIALS, QUICK_POINTS = 1, 2_000
QUICK = Sizes(targets=100, shadows=16, attacked=4)
_REAL = {"Fashion-MNIST": "fashion-mnist", "Paul": "paul"}
_NAMES = {False: "switched", True: "agreed"}
_LOOKS = {MODEL: "the model", READ: "what is read", SOLVED: "solved"}
REMARKS = [
    f"*The price*: moments, ten sites, Dirichlet(0.5), δ = {DELTA:g}, every cell is protected by "
    "itself. *Switched*: every site has an order of its classes of its own, and the classes are "
    f"matched by noisy sketches, on which {ON_SLOTS:.0%} of the cost is spent; *agreed*: names are "
    "agreed, and nothing is spent on that. All columns of a row have the same splits. Noise comes "
    "from the system, so that another run gives slightly other numbers. Without noise sites also "
    "align themselves, with noise they do not.",
    f"*Membership*: {SITES} equal sites with agreed names, no ballot, no alignment, nothing held "
    "out. The attacker knows the settings, the cell that he asks about and its class, and a pool "
    "of cells (all of Paul, 5,000 points of Fashion-MNIST) of which a study holds a random half; "
    "not which half, not who holds what, and not the sites' noise. *Advantage* is 2·AUC − 1, "
    "*alarms* the share of members that are recognised at a threshold that takes one in a hundred "
    "of the others for members; percent, 95 % intervals over target cells. Who guesses has an "
    "advantage of 0 and 1 % of alarms.",
    "*The model*: he has only what is published, compares how sure it is of the cell's class with "
    "models of shadow studies with and without the cell (LiRA), and knows no more. *What is read*: "
    "he is the coordinator, and goes by one number for each cell, again compared with shadows: "
    "for hulls the distance to the nearest corner of its class, for moments the inner product of "
    "the totals with what the cell adds to them, every number weighed by its variance over "
    "shadows. *Solved*: he is the coordinator, has the pool with all digits of where its cells "
    "lie, and solves the totals for which of them are in it, by least squares.",
    "These are attacks that we have tried, not all there are: a small advantage does not show that "
    "there is no larger one. Counts and sketches of slots, which the coordinator of hulls also "
    "reads, were not used. Only the rows with ε have a bound that holds for every attacker.",
]


def privacy(quick: bool, seed: int, report: Report) -> Finding:
    """Accuracies by promise, and advantages by what is sent."""
    data, missing = _data(quick, seed)
    attacked = {name: xy for name, xy in data.items() if name in _REAL}
    step = counted(report, 2 * len(data) + len(attacked) * len(KINDS))
    trials, sizes = (QUICK_TRIALS, QUICK) if quick else (TRIALS, Sizes())
    prices, memberships = [], []
    for name, (x, y) in data.items():
        for agreed in (False, True):
            step(f"{name}, names {_NAMES[agreed]}")
            prices.append(price(name, x, y, agreed, trials, seed))
    for name, (x, y) in attacked.items():
        some = np.random.default_rng(seed).permutation(len(x))[:MOST_POINTS]
        pool = Pool.of(x[some], y[some])
        for kind in KINDS:
            step(f"{name}, {kind}")
            found = attack(kind, pool, sizes, seed)
            memberships.append({"data": name, "cells": len(some), "kind": kind, "looks": found})
    return Finding(
        "Differential privacy: its price, and who can be found out",
        [_prices(prices), _memberships(memberships, sizes)],
        {"prices": prices, "memberships": memberships, "sizes": vars(sizes)},
        remarks=[*REMARKS, *missing],
    )


def _data(quick: bool, seed: int) -> tuple[dict[str, tuple[np.ndarray, np.ndarray]], list[str]]:
    """Points and labels by name, and what is missing on this machine."""
    tree = make_tree(TREE_POINTS, seed=seed)
    found, missing = {}, []
    for name, built_in in _REAL.items():
        try:
            x, y = load_dataset(built_in)
            found[name] = np.asarray(x), np.asarray(y)
        except InvalidInput as problem:
            missing.append(f"Without {name}: {problem}.")
    found["tree"] = tree.x, tree.y
    if quick:
        rng = np.random.default_rng(seed)
        for name, (x, y) in found.items():
            some = rng.permutation(len(x))[:QUICK_POINTS]
            found[name] = x[some], y[some]
    return found, missing


def price(
    name: str, x: np.ndarray, y: np.ndarray, agreed: bool, trials: int, seed: int
) -> dict[str, Any]:
    """Accuracies over the trials for each promise; where no model came of it, why."""
    accuracy: dict[str, list[float]] = {_word(epsilon): [] for epsilon in PROMISES}
    problems: dict[str, list[str]] = {}
    for trial in range(seed, seed + trials):
        dealt = deal(x, y, USUAL, trial)
        for epsilon in PROMISES:
            promise: dict[str, Any] = {"dp_epsilon": epsilon, "dp_delta": DELTA}
            try:
                result = simulate(
                    dealt.x, dealt.y, clients=dealt.sites, epsilon=EPSILON, partition=dealt.owner,
                    summary="moments", switch_labels=not agreed, agreed_names=agreed, seed=trial,
                    **(promise if epsilon else {}),
                )  # fmt: skip
                accuracy[_word(epsilon)].append(result.accuracy["FL"]["mean"])
            except InvalidInput as problem:
                problems.setdefault(_word(epsilon), []).append(str(problem))
    return {
        "data": name,
        "cells": len(x),
        "names": _NAMES[agreed],
        "trials": trials,
        "accuracy": {word: summarize(found) for word, found in accuracy.items() if found},
        "problems": problems,
    }


def _word(epsilon: float | None) -> str:
    return "no noise" if epsilon is None else f"ε = {epsilon:g}"


def _prices(rows: list[dict[str, Any]]) -> Table:
    words = [_word(epsilon) for epsilon in PROMISES]

    def told(row: dict[str, Any], word: str) -> str:
        failed = len(row["problems"].get(word, []))
        said = score(row["accuracy"].get(word))
        return f"{said} ({failed} of {row['trials']} without a model)".strip() if failed else said

    return Table(
        "The price: accuracy of moments, percent",
        ["data", "cells", "names", "trials", *words],
        [
            [
                row["data"], f"{row['cells']:,}", row["names"], str(row["trials"]),
                *(told(row, word) for word in words),
            ]
            for row in rows
        ],
    )  # fmt: skip


def _memberships(rows: list[dict[str, Any]], sizes: Sizes) -> Table:
    measures = {"advantage": "advantage", "true_alarms": "alarms"}
    headings = [f"{look}: {words}" for look in _LOOKS.values() for words in measures.values()]

    def said(found: dict[str, float]) -> str:
        return f"{found['value']:.1f} ({found['low']:.1f} to {found['high']:.1f})"

    return Table(
        f"Membership: {sizes.targets} targets in {sizes.attacked} studies, {sizes.shadows} shadows",
        ["data", "what is sent", *headings],
        [
            [
                row["data"],
                row["kind"],
                *(
                    said(row["looks"][look][measure]) if look in row["looks"] else "–"
                    for look in _LOOKS
                    for measure in measures
                ),
            ]
            for row in rows
        ],
    )
