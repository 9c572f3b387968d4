"""The findings of an experiment: tables, a figure, numbers, and sentences about them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.figure import Figure

from fedhull.extend import Progress, Report


@dataclass(frozen=True)
class Table:
    """A title, the names of the columns, and rows of words."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]


@dataclass
class Finding:
    """The result of an experiment. `numbers` is plain JSON."""

    title: str
    tables: list[Table]
    numbers: dict[str, Any]
    figure: "Figure | None" = None
    remarks: list[str] = field(default_factory=list)


def score(summary: dict[str, Any] | None) -> str:
    """An accuracy with its interval, as words."""
    if summary is None:
        return ""
    if len(summary["trials"]) < 2:
        return f"{summary['mean']:.2f}"
    return f"{summary['mean']:.2f} ± {summary['ci95']:.2f}"


def counted(report: Report, total: int) -> Callable[[str], None]:
    """A function that reports one more step each time it is called."""
    done = 0

    def step(what: str) -> None:
        nonlocal done
        report(Progress(what, done, total))
        done += 1

    return step
