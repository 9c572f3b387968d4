"""The report page of a simulation: the coordinator's view, and what only a simulation knows."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import singledispatch
from typing import Any

import msgspec

from fedhull.report.class_content import Score, Testing
from fedhull.report.class_pages import match_map, site_alignment
from fedhull.report.content import Check, SiteLine
from fedhull.report.hull_content import SimulationPage, Tradeoff
from fedhull.report.hull_pages import HULL_CHECKS, hull_outcome_parts
from fedhull.report.moment_content import MomentSimulationPage
from fedhull.report.moment_pages import moment_checks, moment_outcome_parts
from fedhull.report.page_file import AnySimulationPage
from fedhull.report.parts import SERVER_CHECKS, passed, site_lines
from fedhull.study.classes.outcome import ClassOutcome
from fedhull.study.hulls.coordinator import HullOutcome
from fedhull.study.moments.coordinator import MomentOutcome


@dataclass(frozen=True, repr=False, kw_only=True)
class Simulated:
    """What only a simulation knows: its sites, what the numbered classes were found to be, and the
    scores of all trials. Sites that are `called` something have that name on the page."""

    title: str
    sites: Mapping[str, Any]
    names: Mapping[int, Any]
    classes: list[str]
    seconds: dict[str, float]
    accuracy: Mapping[str, Mapping[str, Any]]
    testing: Testing
    tradeoff: list[Tradeoff]
    grouping_correct: float
    decoded_exactly: bool
    called: Mapping[str, str]


def simulation_page(outcome: Any, simulated: Simulated) -> AnySimulationPage:
    """The outcome of one trial, what each site held in it, and the scores of all trials."""
    page = _page(outcome, simulated)
    return _renamed(page, simulated.called) if simulated.called else page


@singledispatch
def _page(outcome: Any, simulated: Simulated) -> AnySimulationPage:
    raise TypeError(f"there is no page for a simulated {type(outcome).__name__}")


@_page.register
def _(outcome: HullOutcome, simulated: Simulated) -> SimulationPage:
    holdings = {name: site.holdings for name, site in simulated.sites.items()}
    sent = {name: site.sent for name, site in simulated.sites.items()}
    lines = site_lines(outcome.study, outcome.survivors, outcome.record)
    return SimulationPage(
        **hull_outcome_parts(outcome, simulated.classes) | _known(outcome, simulated),
        sites=[
            _counted(
                line,
                points_guarded=sent[line.name].points_guarded,
                points_sent=sent[line.name].points_sent if line.taking_part else None,
                points_held=holdings[line.name].points_held,
            )
            for line in lines
        ],
        checks=[
            Check(
                words="The server's hulls equal the sites', bin for bin",
                passed=simulated.decoded_exactly,
            ),
            _matched(simulated, "Hulls in the right class"),
            *passed(*SERVER_CHECKS, *HULL_CHECKS),
        ],
        points_guarded=sum(sent[name].points_guarded for name in outcome.survivors),
        tradeoff=simulated.tradeoff,
    )


@_page.register
def _(outcome: MomentOutcome, simulated: Simulated) -> MomentSimulationPage:
    parts = moment_outcome_parts(outcome, simulated.classes) | _known(outcome, simulated)
    holdings = {name: site.holdings for name, site in simulated.sites.items()}
    parts["sites"] = [
        _counted(
            line,
            points_held=holdings[line.name].points_held,
            cells_summed=holdings[line.name].cells_summed if line.taking_part else None,
        )
        for line in parts["sites"]
    ]
    matched = () if outcome.study.agreed else (_matched(simulated, "Classes matched rightly"),)
    return MomentSimulationPage(
        **parts,
        checks=[
            Check(
                words="The server's totals are the sums of the sites' own, to the last bit",
                passed=simulated.decoded_exactly,
            ),
            *matched,
            *passed(*moment_checks(outcome.study)),
        ],
    )


def _known(outcome: ClassOutcome, simulated: Simulated) -> dict[str, Any]:
    """What a simulation knows, whatever its sites send."""
    in_sum = [simulated.sites[name].holdings for name in outcome.survivors]
    return {
        "title": simulated.title,
        "seconds": simulated.seconds,
        "classes": simulated.classes,
        "points_total": sum(held.points_held for held in in_sum),
        "scores": [
            Score(name=name, mean=s["mean"], ci95=s["ci95"], trials=len(s["trials"]))
            for name, s in simulated.accuracy.items()
        ],
        "testing": simulated.testing,
        "grouping_correct": simulated.grouping_correct,
        "scatter": outcome.scatter,
        "aligned": [
            found
            for name in outcome.survivors
            if (found := site_alignment(simulated.sites[name])) is not None
        ],
        "match_map": match_map(outcome, simulated.sites, simulated.names),
    }


def _matched(simulated: Simulated, words: str) -> Check:
    share = simulated.grouping_correct
    return Check(words=f"{words}: {share:.1%}", passed=share == 1.0)


def _counted(line: SiteLine, **counts: int | None) -> SiteLine:
    """With numbers that only a simulation knows of every site."""
    return msgspec.structs.replace(line, **counts)


def _renamed(page: AnySimulationPage, called: Mapping[str, str]) -> AnySimulationPage:
    """The page with the sites' own names, in their order."""

    def new(part: Any, field: str) -> Any:
        return msgspec.structs.replace(part, **{field: called[getattr(part, field)]})

    return msgspec.structs.replace(
        page,
        sites=[new(line, "name") for line in page.sites],
        aligned=[new(found, "site") for found in page.aligned],
        match_map=[
            msgspec.structs.replace(row, slots=[new(slot, "site") for slot in row.slots])
            for row in page.match_map
        ],
    )
