"""A summary's part of the plan of a study."""

from typing import Any, ClassVar

from fedhull.protocol.drive import bytes_up
from fedhull.protocol.summation import Layout
from fedhull.rounds.disclosure import Plan
from fedhull.rounds.holdings import ClassHoldings
from fedhull.rounds.match import MatchNews
from fedhull.rounds.round import Known
from fedhull.study.study import Study

# More cells than these of each class change nothing in a plan.
_PLENTY = 1_000_000


class Planning:
    """The defaults count the numbers that the summary's layout has."""

    study: Study
    ballot: Any
    summary: ClassVar[str]
    ordered: Any
    most: Any
    layout: Any
    planned: Any

    def plan_sum(self, holdings: ClassHoldings | None, corners: int) -> tuple[Plan, Layout, int]:
        """The numbers and words of the sum itself, its layout, and how many numbers are announced,
        if all sites hold the same."""
        counts = self.assumed_totals(holdings)
        n = len(counts)
        announced = len(self.most(_assumed(n)))
        layout = self.layout(_assumed(n), counts[:announced], len(self.study.clients))
        numbers = sum(length for _, length in layout.parts)
        return Plan({"numbers_in_totals": numbers}, []), layout, announced

    def assumed_totals(self, held: ClassHoldings | None) -> tuple[int, ...]:
        """The cells of each class over all sites, if all hold this, or else plenty."""
        study, agreed = self.study, self.study.classes
        if held is None:
            return (_PLENTY,) * agreed.count_or(study.labels.classes)
        numbers = [[i] for i in range(len(held.classes))]
        if agreed.names:
            numbers = agreed.numbers_of(held.classes, held.several)
        counts = held.counts(numbers, agreed.count_or(len(held.classes)))
        return tuple(len(study.clients) * n for n in counts)

    def n_alternatives(self, holdings: ClassHoldings | None) -> int:
        """The number of `alternatives`, for the size of a ballot; none by default."""
        return 0

    def describe_plan(self, holdings: ClassHoldings) -> Plan:
        """Plan of what would leave of these data, besides the disclosures."""
        return Plan({}, [])

    def plan(self, holdings: ClassHoldings | None, corners: int = 0) -> Plan:
        """The bytes of this round, ballot included."""
        study = self.study
        planned, layout, announced = self.plan_sum(holdings, corners)
        n = len(self.assumed_totals(holdings))
        tested = None if holdings is None else len(holdings.test_y)
        candidates = 1 + self.n_alternatives(holdings)
        answer, answers = self.ballot.plan(candidates, n, tested)
        size = bytes_up(
            study, min(study.clients), layout, answer, numbers=announced, ordered=self.ordered
        )
        numbers = {"summary": study.learning.summary, **planned.numbers, **answers.numbers}
        words = (*planned.words, *answers.words)
        return self.planned(numbers | {"bytes_up_learn": size}, size, *words)


def _assumed(n: int) -> Known:
    """Assumed publications before the last round over n classes."""
    return Known((b"",), (MatchNews(max(n, 2), {}),))
