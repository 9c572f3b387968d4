"""What a study of moments would send, before anything is sent."""

from typing import Any

import msgspec

from fedhull.protocol.drive import bytes_up
from fedhull.study.classes.plan import agreed_or, plan_answer, plan_early_sums
from fedhull.study.moments.candidates import others, others_in_noise
from fedhull.study.moments.holdings import MomentHoldings, class_table, extent_of
from fedhull.study.moments.price import price_of_noise, price_words
from fedhull.study.moments.sum import MomentSummation
from fedhull.study.noise import noise_of
from fedhull.study.plan import Plan
from fedhull.study.privacy_words import NOT_COVERED, promise_words, sharing_words
from fedhull.study.study import Study

# More cells than these of each class allow no more features.
_PLENTY = 1_000_000
_FEWER_NUMBERS = (
    "Of cells never as many numbers are known as they have coordinates: with fewer cells, moments "
    "are of fewer features.",
)


def plan_moments(study: Study, own: MomentHoldings | None) -> Plan:
    """Numbers, bytes and, for a site that holds this, what would leave. All sites are taken to hold
    as many cells of each class as this one; without holdings, plenty."""
    sites = len(study.clients)
    totals = (_PLENTY,) * study.labels.classes
    if own is not None:
        classes = range(len(own.classes))
        numbers_of = own.agreed_numbers(study.agreed) if study.agreed else [[c] for c in classes]
        counts = own.counts(numbers_of, agreed_or(study, classes))
        totals = tuple(sites * n for n in counts)
    extent, site = extent_of(study, totals, len(totals)), min(study.clients)
    early, words = plan_early_sums(study, len(totals))
    summation = MomentSummation(study, early["sums"], len(totals))
    tested = None if own is None else len(own.test_y)
    candidates = others(extent) if study.privacy is None else others_in_noise()
    answer = plan_answer(study, 1 + len(candidates), len(totals), tested)
    layout = summation.layout(totals, sites)
    announced = len(summation.most)
    learn = bytes_up(study, site, layout, answer.layout, numbers=announced)
    numbers: dict[str, Any] = {
        "summary": study.learning.summary,
        "features": extent.features,
        "features_of_class": list(extent.of_class),
        "numbers_in_totals": extent.size,
        "field_bits": layout.parts[0][0].bits,
        **early,
        **answer.numbers,
        "bytes_up_learn": learn,
        "bytes_up_per_client": early["bytes_up_early"] + learn,
        "threshold": study.threshold,
        "tolerated": study.tolerated,
    }
    whose = "every site holds plenty of cells" if own is None else "every site holds what you hold"
    words = [
        *words,
        f"Sum of moments: if {whose}, of {extent.features} features, {extent.size:,} numbers of "
        f"{numbers['field_bits']} bits; {learn:,} bytes with all messages.",
        *(_FEWER_NUMBERS if study.privacy is None else ()),
        *answer.words,
    ]
    if (noise := noise_of(study)) is not None:
        numbers["dp"] = msgspec.structs.asdict(noise.privacy)
        words += [promise_words(noise.privacy), sharing_words(noise), NOT_COVERED]
        if own is not None:
            price = price_of_noise(study, own)
            numbers["dp"]["price"] = price
            words.append(price_words(price))
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
