"""The rows of a data set as words: one table for the terminal and for the page."""

from typing import Any

from fedhull_lab.bench.peers.cells import SHARES
from fedhull_lab.bench.peers.measured import NEEDS_GENES
from fedhull_lab.reproduce.finding import Table

COLUMNS = (
    "", *(f"{words} sites, %" for words in SHARES), "rounds", "messages up", "bytes up",
    "what leaves a site", "names may differ", "seconds", "installable",
)  # fmt: skip
# Too long for a terminal.
LONG_COLUMNS = ("messages up", "what leaves a site", "names may differ", "installable")


def table(content: dict[str, Any]) -> Table:
    """Accuracy with intervals, and its cost."""
    if "problem" in content:
        return Table(f"{content['title']}: {content['problem']}", ("",), [])
    title = (
        f"{content['title']}: {content['cells']:,} cells, {content['classes']} classes, "
        f"{content['tests']:,} test cells, {content['trials']} trials"
    )
    return Table(title, COLUMNS, [_words(row, content["genes"]) for row in content["rows"]])


def _words(row: dict[str, Any], genes: bool) -> tuple[str, ...]:
    if row["seconds"] is None:
        cost = ("–",) * 3
    else:
        cost = str(row["rounds"]), str(row["messages"]), size(row["bytes_up"])
    leaves = row["leaves"]
    if row["share_sent"] is not None:
        leaves += f", {row['share_sent']:.0%} of all"
    if genes and "noise" in leaves:
        leaves += "; those of the encoder without"
    return (
        row["method"],
        *(accuracy_words(row, words) for words in SHARES),
        *cost,
        leaves,
        "yes" if row["names_may_differ"] else "no",
        "–" if row["seconds"] is None else f"{row['seconds']:.1f}",
        _installable(row),
    )


def accuracy_words(row: dict[str, Any], shares: str) -> str:
    """Mean, interval, and the number of trials without a model; the reason is under the table."""
    summary, failed = row["accuracy"][shares], row["failed"].get(shares, 0)
    if summary is None:
        problems = row["problems"].get(shares, [])
        if problems == [NEEDS_GENES]:
            return NEEDS_GENES
        return "not installed" if row.get("missing") else "no model"
    # one trial has no interval, and ± 0 would claim one
    words = f"{summary['mean']:.1f}" + (
        f" ± {summary['ci95']:.1f}" if len(summary["trials"]) > 1 else ""
    )
    return (
        f"{words} ({failed} of {failed + len(summary['trials'])} without a model)"
        if failed
        else words
    )


def _installable(row: dict[str, Any]) -> str:
    used = "not used here" if row["installed"] is None else f"version {row['installed']} used here"
    return f"`{row['install']}`; {used}"


def size(n: float) -> str:
    """Bytes in the unit that people would use.

    >>> size(0), size(52_345), size(2_754_678)
    ('0', '52 kB', '2.8 MB')
    """
    if n == 0:
        return "0"
    return f"{n / 1e6:.1f} MB" if n >= 1e6 else f"{n / 1e3:.0f} kB" if n >= 1e3 else f"{n:.0f} B"
