"""Report pages of studies of hulls: from what a participant has at the end to what is shown."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from fedhull.registry import name_of
from fedhull.report.class_pages import (
    ballot_parameters,
    coordinator_parts,
    outcome_parts,
    site_parts,
)
from fedhull.report.hull_content import (
    CoordinatorPage,
    Hull,
    SharedBin,
    SitePage,
    Space,
    Sums,
    around,
)
from fedhull.report.parts import SERVER_CHECKS, SITE_CHECKS, passed, site_lines, upload_check
from fedhull.study.hulls.coordinator import HullOutcome
from fedhull.study.hulls.site import HullSite
from fedhull.study.study import Study

# What a study that has come to its end has passed besides, where the sum is one of hulls.
HULL_CHECKS = (
    "The spare power sums agree with what was decoded",
    "The sum has as many places as there are sites in it",
    "The hulls of every place are those that its site has sent",
    "Every bin of a hull is one of its corners",
)


def hull_coordinator_page(outcome: HullOutcome) -> CoordinatorPage:
    """What the coordinator may show."""
    return CoordinatorPage(
        **hull_outcome_parts(outcome, outcome.names),
        **coordinator_parts(outcome),
        sites=site_lines(outcome.study, outcome.survivors, outcome.record),
        checks=passed(*SERVER_CHECKS, *HULL_CHECKS),
    )


def hull_site_page(site: HullSite, bytes_up: int, bytes_down: int, earlier: int = 0) -> SitePage:
    """What a site may show, its own points apart: they are read when the page is written."""
    study, session = site.study, site.session
    numbers = sorted(site.numbers.tolist())
    number_of = {name: number for number, name in site.names.items()}
    sent = site.sent
    own = list(zip(site.label_of_class, sent.classes, sent.hulls, strict=True))
    places = _numbered_places(study, site.label_of_class)
    return SitePage(
        **site_parts(site, bytes_up, bytes_down, earlier),
        # a site that comes late does not remember what was announced
        **_bin_parts(study, study.sums_for(sum(session.totals))),
        hulls=[
            _hull(study, places, label, numbers.index(number_of[name]), bins)
            for label, name, bins in own
        ],
        sites=site_lines(study, session.survivors),
        checks=[*passed(*SITE_CHECKS), upload_check("This site uploaded once", earlier)],
        points_held=site.holdings.points_held,
        points_guarded=sent.points_guarded,
    )


def hull_outcome_parts(outcome: HullOutcome, names: Sequence[str]) -> dict[str, Any]:
    """What every page with the coordinator's view says: nothing that the server does not know."""
    study, total, learned = outcome.study, outcome.total, outcome.learned
    columns = np.searchsorted(np.unique(learned.groups), learned.groups).tolist()
    places = _numbered_places(study, learned.labels)
    shown = [
        _hull(study, places, label, column, total.hulls[label])
        for label, column in zip(learned.labels, columns, strict=True)
    ]
    return (
        outcome_parts(outcome, names)
        | _bin_parts(study, total.n_sums)
        | {"hulls": shown, "shared_bin": _fullest_bin(outcome, places)}
    )


def _bin_parts(study: Study, n_sums: int) -> dict[str, Any]:
    """The disc, its bins, and how they travelled."""
    coding, geometry, learning = study.coding, study.geometry, study.learning
    return {
        "space": Space(
            epsilon=geometry.epsilon, radius=geometry.radius, curvature=geometry.curvature
        ),
        "parameters": {
            "width of a bin, ε": f"{geometry.epsilon:g}",
            "radius, R": f"{geometry.radius:.6g}",
            "curvature": f"−{geometry.curvature:g}",
            "bins": f"{study.quantizer.n_bins:,}",
            "classes": f"{study.n_classes or 'as many as are found'}",
            "guard": name_of(learning.guard),
            "grouping": name_of(learning.grouping),
            "method": name_of(learning.method),
            "label code": f"{coding.name}, {coding.planes} × {coding.field.bits} bits",
            **ballot_parameters(study),
            "threshold": f"{study.threshold} of {len(study.clients)} sites",
        },
        "sums": Sums(
            n_sums=n_sums,
            field_bits=coding.field.bits,
            modulus=str(coding.field.q),
            label_code=coding.name,
            labels=study.labels.classes * len(study.clients),
            places_drawn=study.draws_places,
        ),
    }


def _numbered_places(study: Study, labels: list[int]) -> dict[int, int]:
    """The places that hulls have, numbered from 0: places that are drawn at random are long."""
    return {place: i for i, place in enumerate(sorted(set(map(study.place_of, labels))))}


def _short(study: Study, places: dict[int, int], label: int) -> int:
    """A label as it would be if there were no more places than are in use."""
    return study.labels_of(places[study.place_of(label)])[label % study.labels.classes]


def _hull(study: Study, places: dict[int, int], label: int, column: int, bins: list[int]) -> Hull:
    return Hull(
        label=_short(study, places, label),
        place=places[study.place_of(label)],
        column=column,
        bins=around(bins, study.quantizer),
    )


def _fullest_bin(outcome: HullOutcome, places: dict[int, int]) -> SharedBin:
    """The bin where most labels meet: it shows best how the sum is taken apart."""
    labels_in: dict[int, list[int]] = {}
    for label, bins in sorted(outcome.total.hulls.items()):
        for j in bins:
            labels_in.setdefault(j, []).append(label)
    fullest = max(sorted(labels_in), key=lambda j: len(labels_in[j]))
    codes = [outcome.study.coding.code(label, fullest) for label in labels_in[fullest]]
    return SharedBin(
        bin=str(fullest),
        value=str(sum(codes)),
        labels=[_short(outcome.study, places, label) for label in labels_in[fullest]],
        codes=list(map(str, codes)),
    )
