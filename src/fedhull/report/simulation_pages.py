"""The report page of a simulation: the coordinator's view, and what only a simulation knows."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from fedhull.report.content import Check, Score, SimulationPage, SiteLine, Testing, Tradeoff
from fedhull.report.hull_pages import HULL_CHECKS, outcome_parts
from fedhull.report.parts import SERVER_CHECKS, passed, site_lines
from fedhull.study.hulls.coordinator import HullOutcome
from fedhull.study.hulls.holdings import HullHoldings


def simulation_page(
    outcome: HullOutcome,
    *,
    title: str,
    holdings: Mapping[str, HullHoldings],
    classes: Sequence[Any],
    seconds: dict[str, float],
    accuracy: Mapping[str, Mapping[str, Any]],
    testing: Testing,
    tradeoff: list[Tradeoff],
    grouping_correct: float,
    decoded_exactly: bool,
) -> SimulationPage:
    """The outcome of one trial, what each site held in it, and the scores of all trials."""
    in_sum = [holdings[name] for name in outcome.survivors]
    lines = site_lines(outcome.study, outcome.survivors, outcome.record)
    return SimulationPage(
        **outcome_parts(outcome) | {"title": title, "seconds": seconds},
        sites=[_counted(line, holdings[line.name]) for line in lines],
        checks=[
            Check(words="The server's hulls equal the sites', bin for bin", passed=decoded_exactly),
            Check(
                words=f"Hulls in the right class: {grouping_correct:.1%}",
                passed=grouping_correct == 1.0,
            ),
            *passed(*SERVER_CHECKS, *HULL_CHECKS),
        ],
        classes=[str(name) for name in classes],
        points_total=sum(held.points_held for held in in_sum),
        points_guarded=sum(held.points_guarded for held in in_sum),
        scores=[
            Score(name=name, mean=s["mean"], ci95=s["ci95"], trials=len(s["trials"]))
            for name, s in accuracy.items()
        ],
        testing=testing,
        grouping_correct=grouping_correct,
        tradeoff=tradeoff,
    )


def _counted(line: SiteLine, held: HullHoldings) -> SiteLine:
    """With the numbers that only a simulation knows of every site."""
    return msgspec.structs.replace(
        line,
        points_held=held.points_held,
        points_guarded=held.points_guarded,
        points_sent=held.points_sent if line.taking_part else None,
    )
