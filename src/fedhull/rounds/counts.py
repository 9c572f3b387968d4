"""Numbers of held-out points classified correctly, summed over sites under masks."""

from collections.abc import Sequence
from dataclasses import dataclass

from fedhull.codes.field import Field
from fedhull.protocol.summation import Layout

# Two numbers, correct and all; a Mersenne prime, far wider than any number of points.
COUNTS = Layout(((Field(2**61 - 1), 2),))
_MOST_POINTS = 2**40


@dataclass(frozen=True)
class Counts:
    """Numbers of held-out points, correctly classified and all, over all sites asked; None if one
    of them did not answer or objected, for then the masks do not cancel."""

    correct: int | None
    tested: int | None
    evaluators: list[str]

    @classmethod
    def of(cls, answers: Sequence[Sequence[int]] | None, evaluators: list[str]) -> "Counts":
        """The counts in a sum of answers. Of sums in which masks are left, one in 2^42 looks like
        counts."""
        if answers is None:
            return cls(None, None, evaluators)
        correct, tested = answers[0]
        known = correct <= tested <= _MOST_POINTS
        return cls(correct, tested, evaluators) if known else cls(None, None, evaluators)

    @property
    def accuracy(self) -> float | None:
        """In percent."""
        if not self.tested or self.correct is None:
            return None
        return 100.0 * self.correct / self.tested
