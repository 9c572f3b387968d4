"""Verdicts: differences between two rows over the same splits, trial by trial."""

from collections.abc import Sequence
from typing import Any

from fedhull.extend import summarize
from fedhull_lab.bench.peers.measured import NEEDS_GENES


def difference(row: dict[str, Any], other: dict[str, Any], shares: str) -> dict[str, Any] | None:
    """Points by which `row` is ahead of `other`, with an interval over trials; None if either has a
    trial without a model."""
    both = [each["accuracy"][shares] for each in (row, other)]
    if None in both or shares in row["failed"] or shares in other["failed"]:
        return None
    pairs = zip(both[0]["trials"], both[1]["trials"], strict=True)
    return summarize([a - b for a, b in pairs])


def best_of_ours(rows: Sequence[dict[str, Any]], shares: str) -> dict[str, Any] | None:
    """The row of ours with the highest mean."""
    ours = [row for row in rows if row["ours"] and row["accuracy"][shares] is not None]
    return max(ours, key=lambda row: row["accuracy"][shares]["mean"], default=None)


def verdicts(content: dict[str, Any]) -> list[str]:
    """A sentence for each way to deal cells out: which rows beat the best of ours, which it beats,
    and with which there is no clear difference."""
    said = []
    rows = content["rows"]
    for shares in rows[0]["accuracy"] if rows else ():
        ours = best_of_ours(rows, shares)
        if ours is None:
            said.append(f"*{_words(shares)}*: no study of ours came to a model.")
            continue
        better: list[str] = []
        even: list[str] = []
        worse: list[str] = []
        apart: list[str] = []
        for row in rows:
            if row["ours"]:
                continue
            ahead = difference(row, ours, shares)
            if ahead is None:
                apart.append(row["method"])
                continue
            words = f"{row['method']} ({ahead['mean']:+.1f} ± {ahead['ci95']:.1f})"
            clear = len(ahead["trials"]) > 1 and abs(ahead["mean"]) > ahead["ci95"]
            (even if not clear else better if ahead["mean"] > 0 else worse).append(words)
        parts = [
            f"better than it: {_list(better)}",
            f"no clear difference: {_list(even)}",
            f"worse: {_list(worse)}",
        ]
        if apart:
            parts.append(f"not compared, for lack of a model in every trial: {_list(apart)}")
        mean = ours["accuracy"][shares]["mean"]
        said.append(
            f"*{_words(shares)}*: the best of ours is {ours['method']} with {mean:.1f}; "
            f"{'; '.join(parts)}."
        )
    return said


def sentences(content: dict[str, Any]) -> list[str]:
    """The sentences under a table: who is better, and why some rows have no model."""
    why: dict[tuple[str, str], list[str]] = {}
    for row in content["rows"]:
        for shares, problems in row["problems"].items():
            for problem in problems:
                if problem != NEEDS_GENES:
                    why.setdefault((row["method"], problem), []).append(_words(shares))
    reasons = [
        f"{method}, {' and '.join(shares)}: {problem}." for (method, problem), shares in why.items()
    ]
    return [*verdicts(content), *sorted(reasons)]


def _words(shares: str) -> str:
    return f"{shares} sites"


def _list(names: Sequence[str]) -> str:
    return ", ".join(names) or "none"
