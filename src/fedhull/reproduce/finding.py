"""What an experiment finds: tables, a figure, numbers, and sentences about them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# told (steps done, steps in all, what is being done)
Tell = Callable[[int, int, str], None]


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


def counted(tell: Tell, total: int) -> Callable[[str], None]:
    """A function that tells of one more step each time it is called."""
    done = 0

    def step(what: str) -> None:
        nonlocal done
        tell(done, total, what)
        done += 1

    return step
