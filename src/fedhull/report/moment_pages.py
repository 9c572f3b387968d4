"""Report pages of studies of moments: from what a participant has at the end to what is shown."""

from collections.abc import Collection, Sequence
from typing import Any

from fedhull.registry import name_of
from fedhull.report.class_content import Disc
from fedhull.report.class_pages import (
    ballot_parameters,
    coordinator_parts,
    outcome_parts,
    site_parts,
)
from fedhull.report.content import SiteLine
from fedhull.report.moment_content import (
    MaskedSum,
    MomentCoordinatorPage,
    MomentFacts,
    MomentSitePage,
    NoiseLine,
    Promise,
)
from fedhull.report.parts import (
    CAME_LATE,
    SERVER_CHECKS,
    SITE_CHECKS,
    passed,
    site_line,
    site_lines,
    upload_check,
)
from fedhull.study.classes.centre_sum import CENTRE_FIELD
from fedhull.study.classes.match_sum import MatchSummation
from fedhull.study.classes.standing import CENTRES, LAST, MATCH, stages_of
from fedhull.study.coordinator import Record
from fedhull.study.moments.coordinator import MomentOutcome
from fedhull.study.moments.site import MomentSite
from fedhull.study.moments.sum import MOMENT_FIELD
from fedhull.study.noise import noise_of
from fedhull.study.privacy_words import NOT_COVERED, promise_words, sharing_words
from fedhull.study.study import Study

# What a study that has come to its end has passed besides.
_MATCH_CHECKS = (
    "The first sum has as many places as there are sites in it",
    "What the first sum says of every place is what its site has sent",
)
_SAME_CHECKS = ("All sites in a later sum were told the same after the one before",)
_CENTRE_CHECKS = ("The centres are such as cells can have",)
_LEARN_CHECKS = ("The totals are such as cells can have: counts, ranges, no negative scatter",)


def moment_checks(study: Study) -> tuple[str, ...]:
    """What the server has checked in a study that has come to its end."""
    return (
        *SERVER_CHECKS,
        *(() if study.agreed else _MATCH_CHECKS),
        *(_SAME_CHECKS if stages_of(study)[1:] else ()),
        *(_CENTRE_CHECKS if study.alignments else ()),
        *(() if study.privacy else _LEARN_CHECKS),
    )


def moment_coordinator_page(outcome: MomentOutcome) -> MomentCoordinatorPage:
    """What the coordinator may show."""
    study = outcome.study
    return MomentCoordinatorPage(
        **moment_outcome_parts(outcome, outcome.names),
        **coordinator_parts(outcome),
        checks=passed(*moment_checks(study)),
    )


def moment_site_page(
    site: MomentSite, bytes_up: int, bytes_down: int, earlier: int = 0
) -> MomentSitePage:
    """What a site may show, its own points apart: they are read when the page is written."""
    study, survivors = site.study, site.session.survivors
    match, centres, last = map(site.size_of, (MATCH, CENTRES, LAST))
    return MomentSitePage(
        **site_parts(site, bytes_up, bytes_down, earlier),
        **_moment_parts(
            study,
            MaskedSum(numbers=match, bits=_match_bits(study), sites=None),
            MaskedSum(numbers=centres, bits=CENTRE_FIELD.bits, sites=None),
            MaskedSum(numbers=last, bits=MOMENT_FIELD.bits, sites=len(survivors) or None),
            features=site.n_features,
            fewest=None if study.agreed else site.holdings.smallest_group,
        ),
        sites=_site_lines(study, survivors, None),
        checks=[
            *passed(*SITE_CHECKS),
            upload_check("This site uploaded once to each sum", earlier),
        ],
        points_held=site.holdings.points_held,
    )


def moment_outcome_parts(outcome: MomentOutcome, names: Sequence[str]) -> dict[str, Any]:
    """What every page with the coordinator's view says: nothing that the server does not know."""
    study, survivors, counts = outcome.study, outcome.survivors, outcome.moments.counts
    behind = counts[counts > 0] if outcome.match is None else outcome.match.counts
    return (
        outcome_parts(outcome, names)
        | _moment_parts(
            study,
            MaskedSum(
                numbers=outcome.match_size,
                bits=_match_bits(study),
                sites=len(outcome.matched_sites),
            ),
            MaskedSum(
                numbers=len(outcome.centres[0].packed()) if outcome.centres else None,
                bits=CENTRE_FIELD.bits,
                sites=None,
            ),
            MaskedSum(
                numbers=outcome.extent.size,
                bits=MOMENT_FIELD.bits,
                sites=len(survivors),
            ),
            features=outcome.extent.features,
            cells=outcome.cells_of_classes,
            # how many there really are, noise hides from the coordinator
            fewest=None if study.privacy else int(behind.min()),
        )
        | {"sites": _site_lines(study, survivors, outcome.matched_sites, outcome.record)}
    )


def _moment_parts(
    study: Study,
    match: MaskedSum,
    centres: MaskedSum,
    learn: MaskedSum,
    features: int,
    cells: list[int] | None = None,
    fewest: int | None = None,
) -> dict[str, Any]:
    """The disc, the settings, and what travelled in the sums."""
    geometry, learning = study.geometry, study.learning
    return {
        "space": Disc(radius=geometry.radius or None, curvature=geometry.curvature),
        "parameters": {
            "summary": "moments",
            "features": f"at most {learning.features:,}",
            "curvature": f"−{geometry.curvature:g}",
            "classes": f"{study.n_classes or 'as many as are found'}",
            **_protection(study),
            "class names": "agreed" if study.agreed else "each site's own",
            **({} if study.agreed else {"grouping": name_of(learning.grouping)}),
            "sites align themselves": _times(study.alignments),
            **ballot_parameters(study),
            "threshold": f"{study.threshold} of {len(study.clients)} sites",
        },
        "moments": MomentFacts(
            features=features,
            match=None if study.agreed else match,
            centres=centres if study.alignments else None,
            learn=learn,
            cells=cells,
            fewest=fewest,
            promise=_promise(study),
        ),
    }


def _promise(study: Study) -> Promise | None:
    """What noise hides in a study, and how much of it there is if all sites stay."""
    noise = noise_of(study)
    if noise is None:
        return None
    of_slots = [] if study.agreed else noise.slot_lines()
    lines = [*of_slots, *noise.total_lines(len(study.clients))]
    return Promise(
        epsilon=noise.privacy.epsilon,
        delta=noise.privacy.delta,
        unit=noise.privacy.unit,
        words=[promise_words(noise.privacy), sharing_words(noise), NOT_COVERED],
        noise=[
            NoiseLine(what=what, deviation=deviation, change=change)
            for what, deviation, change in lines
        ],
    )


def _protection(study: Study) -> dict[str, str]:
    """By what rule single cells are protected."""
    privacy = study.privacy
    if privacy is None:
        return {"fewest cells of a class": f"{study.disclosure.min_cells:,}"}
    return {
        "differential privacy": f"ε = {privacy.epsilon:g}, δ = {privacy.delta:g}",
        "of every": privacy.unit,
    }


def _times(n: int) -> str:
    return ("never", "once", "twice")[n]


def _match_bits(study: Study) -> int:
    return MatchSummation(study).slots.of_labels.field.bits


def _site_lines(
    study: Study,
    survivors: Collection[str],
    matched: Collection[str] | None,
    record: Record | None = None,
) -> list[SiteLine]:
    """Each site on the roster, and in which of several sums it is. A site knows that of the last
    only, and so does a coordinator if classes were not matched."""
    if len(stages_of(study)) == 1:
        return site_lines(study, survivors, record)
    failures, two = {} if record is None else record.failures, not study.alignments
    if matched is None or study.agreed:
        last = "second" if two else "last"
        fates = dict.fromkeys(survivors, f"in the {last} sum")
        out = f"not in the {last} sum" if survivors else CAME_LATE
    else:
        only = "in the first sum only" if two else "in the first sum, but not in the last"
        fates = dict.fromkeys(matched, only)
        fates |= dict.fromkeys(survivors, "in both sums" if two else "in all sums")
        out = "in neither sum" if two else "in no sum"
    return [
        site_line(name, fates.get(name, out), name in survivors, failures.get(name))
        for name in sorted(study.clients)
    ]
