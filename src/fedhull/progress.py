"""Progress of long work: one type for studies, simulations, embedders and experiments."""

from collections.abc import Callable
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Progress:
    """Progress of a step: `done` of `total`.

    In a study, `done` of `total` sites have answered the step, which took `seconds`; `failures`
    says what is known of the others.
    """

    step: str
    done: int
    total: int
    failures: dict[str, str] = field(default_factory=dict)
    seconds: float = 0.0


Report = Callable[[Progress], None]


def ignore(progress: Progress) -> None:
    """For those who do not want to know."""
