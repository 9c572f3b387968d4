"""Every method on every trial of every data set, one after the other."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np

from fedhull.errors import FedhullError, InvalidInput, MissingExtra
from fedhull.extend import summarize
from fedhull_lab.bench.peers.cells import (
    DATA,
    QUICK_DATA,
    QUICK_TRIALS,
    SHARES,
    DataSet,
    Deal,
    Trial,
)
from fedhull_lab.bench.peers.fed_avg import fed_avg_method
from fedhull_lab.bench.peers.flare_svm import FLARE
from fedhull_lab.bench.peers.measured import NEEDS_GENES, Measured, Method, Options
from fedhull_lab.bench.peers.ours import ALONE, HULLS, MOMENTS, PAPER_ROW, POOLED, PRIVATE, carried
from fedhull_lab.bench.peers.pooled_celltypist import CELLTYPIST, installed, interpreter

QUICK_ROUNDS = (2, 10)
Step = Callable[[str], None]


def methods(options: Options) -> list[Method]:
    """The rows, in the order in which they are shown."""
    averaged = [fed_avg_method(rounds) for rounds in options.rounds]
    return [ALONE, CELLTYPIST, POOLED, FLARE, *averaged, PAPER_ROW, HULLS, MOMENTS, PRIVATE]


def chosen_data(names: Sequence[str], quick: bool) -> list[DataSet]:
    """The data sets of these names; without names all, or a quick few."""
    known = [data.name for data in DATA]
    if unknown := [name for name in names if name not in known]:
        raise InvalidInput(f"--data must be one of {', '.join(known)}, got {unknown[0]!r}")
    wanted = names or (QUICK_DATA if quick else known)
    return [data for data in DATA if data.name in wanted]


def steps(data: Sequence[DataSet], quick: bool, options: Options) -> int:
    """Number of steps that `compare` reports."""
    return sum(_trials(each, quick) * len(methods(options)) for each in data)


def compare(
    data: Sequence[DataSet], quick: bool, seed: int, options: Options, step: Step
) -> Iterator[dict[str, Any]]:
    """Yield the result of each data set as soon as it is done, or the reason why there is none."""
    for each in data:
        try:
            yield compare_one(each, quick, seed, options, step)
        except InvalidInput as problem:
            yield {"name": each.name, "title": each.title, "problem": str(problem), "rows": []}


def compare_one(
    data: DataSet, quick: bool, seed: int, options: Options, step: Step
) -> dict[str, Any]:
    """The rows of one data set."""
    content, trials, rows = data.load(), _trials(data, quick), methods(options)
    found: dict[str, dict[str, list[Measured]]] = {
        method.name: {shares: [] for shares in SHARES} for method in rows
    }
    problems: dict[str, dict[str, list[str]]] = {
        method.name: {shares: [] for shares in SHARES} for method in rows
    }
    missing: set[str] = set()
    for number in range(seed, seed + trials):
        trial = Trial(content, number)
        deals = {words: Deal(trial, shares) for words, shares in SHARES.items()}
        for method in rows:
            step(f"{data.title}, trial {number - seed + 1}: {method.name}")
            last: Measured | None = None
            for words, deal in deals.items():
                try:
                    if last is not None and method.pooled:
                        # who holds what changes only what has to be carried
                        last = replace(last, bytes_up=carried(deal))
                    else:
                        last = _run(method, deal, options)
                except FedhullError as problem:
                    problems[method.name][words].append(str(problem))
                    if isinstance(problem, MissingExtra):
                        missing.add(method.name)
                else:
                    found[method.name][words].append(last)
    return {
        "name": data.name,
        "title": data.title,
        "cells": len(content.y),
        "tests": len(trial.test),
        "classes": len(np.unique(content.y)),
        "genes": trial.cells is not None,
        "trials": trials,
        "rows": [
            _row(method, found[method.name], problems[method.name], options)
            | {"missing": method.name in missing}
            for method in rows
        ],
    }


def _run(method: Method, deal: Deal, options: Options) -> Measured:
    if method.needs_genes and deal.trial.cells is None:
        raise InvalidInput(NEEDS_GENES)
    measured = method.run(deal, options)
    # a row that was scored on other cells than the rest says nothing
    assert np.array_equal(measured.test, deal.trial.test), method.name
    return measured


def _row(
    method: Method,
    found: dict[str, list[Measured]],
    problems: dict[str, list[str]],
    options: Options,
) -> dict[str, Any]:
    together = [measured for each in found.values() for measured in each]
    shares = [m.share_sent for m in together if m.share_sent is not None]
    return {
        "method": method.name,
        "ours": method.ours,
        "pooled": method.pooled,
        "accuracy": {
            words: summarize([m.accuracy for m in each]) if each else None
            for words, each in found.items()
        },
        "problems": {words: sorted(set(each)) for words, each in problems.items() if each},
        "failed": {words: len(each) for words, each in problems.items() if each},
        "rounds": max((m.rounds for m in together), default=None),
        "messages": max((m.messages for m in together), default=None),
        "bytes_up": float(np.mean([m.bytes_up for m in together])) if together else None,
        "seconds": float(np.mean([m.seconds for m in together])) if together else None,
        "leaves": method.leaves,
        "share_sent": float(np.mean(shares)) if shares else None,
        "names_may_differ": method.names_may_differ,
        "install": method.install,
        "installed": _version(method, options, bool(together)),
    }


def _version(method: Method, options: Options, worked: bool) -> str | None:
    """The version that was used in this run, if the method could be run at all."""
    if not worked:
        return None
    if method is CELLTYPIST:
        return installed(interpreter(options))
    try:
        return version(method.package)
    except PackageNotFoundError:
        return None


def _trials(data: DataSet, quick: bool) -> int:
    return QUICK_TRIALS if quick else data.trials
