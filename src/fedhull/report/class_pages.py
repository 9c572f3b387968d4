"""What the pages of studies of hulls and of moments have in common: from what a participant has at
the end to what is shown."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
import numpy as np

from fedhull.learn.content import Judged
from fedhull.report.class_content import (
    AlignedRound,
    ClassRow,
    ClassScore,
    ClassSitePage,
    FoundClass,
    MapRow,
    OwnMatch,
    Reliability,
    SiteAlignment,
    SlotMatch,
    Testing,
    Verdict,
)
from fedhull.report.html import own_points
from fedhull.report.parts import agreement_parts
from fedhull.report.regions import shown_model
from fedhull.report.testing import count_tests
from fedhull.study.classes.holdings import ClassHoldings, ClassLine, moved
from fedhull.study.classes.matching import is_doubtful
from fedhull.study.classes.outcome import ClassOutcome
from fedhull.study.classes.site import ClassSite
from fedhull.study.study import Study


def study_parts(study: Study, model: Any) -> dict[str, Any]:
    """What every page says about the study and its classifier."""
    return agreement_parts(study) | {
        "model": shown_model(model, study.geometry.curvature),
        "agreed": bool(study.agreed),
        "alignments": study.alignments,
    }


def outcome_parts(outcome: ClassOutcome, names: Sequence[str]) -> dict[str, Any]:
    """What every page with the coordinator's view says, in which the model's classes have these
    names: nothing that the server does not know."""
    return study_parts(outcome.study, outcome.model) | {
        "verdict": verdict(outcome.vote.judged, names),
        "unjudged": outcome.vote.missed,
        "bytes_up": max(outcome.record.bytes_up.values(), default=None),
        "bytes_down": max(outcome.record.bytes_down.values(), default=None),
        "seconds": outcome.seconds,
    }


def coordinator_parts(outcome: ClassOutcome) -> dict[str, Any]:
    """What the coordinator knows besides."""
    return {
        "classes": outcome.names,
        "correct": outcome.counts.correct,
        "tested": outcome.counts.tested,
        "evaluators": len(outcome.counts.evaluators),
        "testing": _counted(outcome.vote.judged, outcome.names),
        "scatter": outcome.scatter,
        "found": _found(outcome),
    }


def site_parts(site: ClassSite, bytes_up: int, bytes_down: int, earlier: int) -> dict[str, Any]:
    """What a site knows, its own points apart: they are read when the page is written."""
    model = site.model
    called = [str(name) for name in model.classes_]
    return study_parts(site.study, model) | {
        "classes": called,
        "verdict": verdict(model.judged_, called),
        "unjudged": site.why_unjudged,
        "name": site.name,
        "earlier_sessions": earlier,
        "bytes_up": bytes_up,
        "bytes_down": bytes_down,
        "by_class": [
            ClassRow(**msgspec.structs.asdict(line) | {"name": str(line.name)})
            for line in _lines(site)
        ],
        "alignment": site_alignment(site),
        "matches": [
            OwnMatch(
                name=str(name),
                number=entry.number,
                sites=entry.sites,
                certainty=entry.percent,
                doubtful=is_doubtful(entry.percent),
            )
            for name, entry in zip(site.sent_classes, site.entries, strict=False)
        ],
        "correct": site.correct,
        "tested": site.tested,
        "testing": _tests(site) if site.tested else None,
    }


def ballot_parameters(study: Study) -> dict[str, str]:
    """What sites keep for testing, and whether they judge candidates on it."""
    return {
        "held out at each site": f"{study.learning.holdout:.0%}",
        "ballot": "yes" if study.learning.ballot else "no",
    }


def verdict(judged: Judged | None, names: Sequence[str]) -> Verdict | None:
    """What all sites' held-out cells say of a model whose classes have these names."""
    if judged is None:
        return None
    rows = zip(names, judged.confusion, judged.recall, judged.precision, strict=True)
    return Verdict(
        cells=judged.cells,
        unnamed=judged.unnamed,
        tolerance=judged.tolerance,
        candidates=judged.candidates,
        candidate=judged.candidate,
        is_default=judged.chosen == 0,
        accuracy=judged.accuracy,
        log_loss=judged.log_loss,
        temperature=judged.temperature,
        calibration_error=judged.calibration_error,
        reach=judged.reach,
        classes=[
            ClassScore(name=name, cells=sum(row), recall=recall, precision=precision)
            for name, row, recall, precision in rows
        ],
    )


def _counted(judged: Judged | None, names: Sequence[str]) -> Testing | None:
    if judged is None:
        return None
    return Testing(
        names=list(names),
        confusion=judged.confusion,
        reliability=[
            Reliability(confidence=level.confidence, accuracy=level.accuracy, points=level.cells)
            for level in judged.calibration
        ],
    )


def site_alignment(site: ClassSite) -> SiteAlignment | None:
    """How a site has aligned itself, if it has."""
    isometry = site.isometry
    if isometry is None:
        return None
    return SiteAlignment(
        site=site.name,
        rounds=[AlignedRound(before=fit.before, after=fit.after) for fit in site.standing.fits],
        **isometry.to_json(),
    )


def page_with_points(page: ClassSitePage, holdings: ClassHoldings) -> ClassSitePage:
    """A site's page with the points of the site's classes that the model knows, in the frame of the
    model's regions."""
    column_of = {name: column for column, name in enumerate(page.classes)}
    columns = np.array([column_of.get(str(name), -1) for name in holdings.classes])
    # points of classes that were withheld are not shown
    everywhere = np.concatenate((columns, np.full(len(holdings.withheld), -1)))[holdings.of_class]
    known = everywhere >= 0
    isometry = None if page.alignment is None else page.alignment.isometry
    shown = moved(holdings.x[known], isometry)
    return msgspec.structs.replace(page, points=own_points(shown, everywhere[known]))


def match_map(
    outcome: ClassOutcome, sites: Mapping[str, ClassSite], names: Mapping[int, Any]
) -> list[MapRow]:
    """Whose class went where, by the sites' own names; `names` are those that the numbered classes
    were found to be. Only a simulation knows all of them."""
    match = outcome.match
    if match is None or outcome.study.agreed:
        return []
    percent = dict(zip(match.labels, match.percent, strict=True))
    slots: dict[int, list[SlotMatch]] = {number: [] for number in match.numbers}
    for site in sites.values():
        for label, name in zip(site.label_of_class, site.holdings.classes, strict=False):
            number = match.class_of_label.get(label)
            if number is not None:
                slots[number].append(
                    SlotMatch(
                        site=site.name,
                        name=str(name),
                        right=bool(name == names[number]),
                        certainty=percent[label],
                        doubtful=is_doubtful(percent[label]),
                    )
                )
    return [
        MapRow(number=number, name=str(names[number]), slots=slots[number])
        for number in match.numbers
    ]


def _found(outcome: ClassOutcome) -> list[FoundClass]:
    agreed = outcome.study.agreed
    rows = [] if outcome.match is None else outcome.match.classes()
    return [
        FoundClass(
            name=agreed[row.number] if agreed else f"class {row.number + 1}",
            sites=row.sites,
            cells=row.cells,
            least=row.least,
            doubtful=row.doubtful,
        )
        for row in rows
    ]


def _lines(site: ClassSite) -> list[ClassLine]:
    """What was sent, class by class. A site that has aligned itself may have made anew what it
    sends, of the cells that are not kept for testing."""
    again = {line.name: line for line in site.sent.lines}
    return [
        msgspec.structs.replace(again.get(line.name, line), cells=line.cells, tested=line.tested)
        for line in site.holdings.lines
    ]


def _tests(site: ClassSite) -> Testing:
    held = site.holdings
    return count_tests(site.model, moved(held.test_x, site.isometry), held.test_y)
