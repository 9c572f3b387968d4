"""What a study of moments would send, before anything is sent."""

from typing import Any

import msgspec

from fedhull.protocol.sizes import bytes_up
from fedhull.study.classes.plan import Plan
from fedhull.study.counts import COUNTS
from fedhull.study.moments.holdings import MomentHoldings, class_table, extent_of
from fedhull.study.moments.sum import MatchSummation, MomentSummation
from fedhull.study.study import Study

# More cells than these of each class allow no more features.
_PLENTY = 1_000_000


def plan_moments(study: Study, own: MomentHoldings | None) -> Plan:
    """Numbers, bytes and, for a site that holds this, what would leave. All sites are taken to hold
    as many cells of each class as this one; without holdings, plenty."""
    sites = len(study.clients)
    totals = (_PLENTY,) * study.labels.classes
    if own is not None:
        classes = range(len(own.classes))
        numbers_of = own.agreed_numbers(study.agreed) if study.agreed else [[c] for c in classes]
        n_classes = len(study.agreed) or len(classes)
        totals = tuple(sites * n for n in own.counts(numbers_of, n_classes))
    extent, site = extent_of(study, totals), min(study.clients)
    match = 0
    if not study.agreed:
        match = bytes_up(study, site, MatchSummation(study).layout((), sites), numbers=0)
    summation = MomentSummation(study, 1, len(totals))
    learn = bytes_up(study, site, summation.layout(totals, sites), COUNTS, numbers=len(totals))
    numbers: dict[str, Any] = {
        "summary": study.learning.summary,
        "sums": 1 if study.agreed else 2,
        "features": extent.features,
        "features_of_class": list(extent.of_class),
        "numbers_in_totals": extent.size,
        "field_bits": summation.layout(totals, sites).parts[0][0].bits,
        "bytes_up_match": match,
        "bytes_up_learn": learn,
        "bytes_up_per_client": match + learn,
        "threshold": study.threshold,
        "tolerated": study.tolerated,
    }
    whose = "every site holds plenty of cells" if own is None else "every site holds what you hold"
    first = (
        "Names are agreed, so there is one sum, of moments."
        if study.agreed
        else f"First sum: for each class at a site, the number of its cells and a sketch of eight "
        f"numbers; {match:,} bytes with all messages."
    )
    words = [
        first,
        f"Sum of moments: if {whose}, of {extent.features} features, {extent.size:,} numbers of "
        f"{numbers['field_bits']} bits; {learn:,} bytes with all messages.",
        "Of cells never as many numbers are known as they have coordinates: with fewer cells, "
        "moments are of fewer features.",
    ]
    if own is not None:
        numbers |= {
            "classes": len(own.classes),
            "points_held": own.points_held,
            "smallest_group": own.smallest_group,
            "cells_exposed": 0,
            "by_class": [msgspec.structs.asdict(line) for line in own.lines],
        }
        words += ["No cell's position would leave.", *class_table(own.lines)]
    return Plan(numbers, words)
