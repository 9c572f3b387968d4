"""What a study of hulls would send, before anything is sent."""

import msgspec

from fedhull.protocol.drive import bytes_up
from fedhull.study.classes.plan import agreed_or, plan_answer, plan_early_sums
from fedhull.study.hulls.candidates import others
from fedhull.study.hulls.holdings import HullHoldings, class_table
from fedhull.study.hulls.sum import HullSummation
from fedhull.study.plan import Plan
from fedhull.study.study import Study, announced_corners


def plan_hulls(study: Study, own: HullHoldings | None, corners: int) -> Plan:
    """Bins, label code, bytes and, for a site that holds this, what would leave; without holdings,
    every site has so many corners."""
    sites, classes, coding = len(study.clients), study.labels.classes, study.coding
    corners = corners if own is None else own.points_sent
    announced = sites * announced_corners(corners)
    filled, n_bins = sites * corners, study.quantizer.n_bins
    layout = HullSummation(study).layout((announced,), sites)
    names = range(classes) if own is None else own.classes
    n_classes = agreed_or(study, names)
    early, early_words = plan_early_sums(study, n_classes)
    answer = plan_answer(
        study,
        1 + len(others(study, {})),
        n_classes,
        None if own is None else len(own.test_y),
    )
    numbers = {
        "summary": study.learning.summary,
        "bins": n_bins,
        "labels": sites * classes,
        "label_code": coding.name,
        "label_code_reason": coding.reason,
        "labels_that_may_meet": coding.most_labels,
        "planes": coding.planes,
        "field_bits": coding.field.bits,
        "power_sums": study.sums_for(announced),
        **early,
        **answer.numbers,
        "bytes_up_per_client": early["bytes_up_early"]
        + bytes_up(
            study, min(study.clients), layout, answer.layout, ordered=not study.draws_places
        ),
        "threshold": study.threshold,
        "tolerated": study.tolerated,
        "largest_distortion": study.geometry.epsilon / 2.0,
        "expected_collisions": filled * (filled - 1) / 2.0 / n_bins,
    }
    planes = f", in {coding.planes} planes" if coding.planes > 1 else ""
    words = [
        *early_words,
        f"Bins: {n_bins:,}, {study.quantizer.n_rings:,} rings of {study.quantizer.n_angles:,}. "
        f"A point moves by at most {study.geometry.epsilon / 2:g}.",
        f"Labels: {sites} sites × {classes} classes = {sites * classes}.",
        f"Label code: {coding.name}, because {coding.reason}.",
        f"Up to {coding.most_labels} labels may meet in one bin.",
        f"Field: a prime of {coding.field.bits} bits{planes}.",
        f"Upload: if every site has {corners} corners, each sends {numbers['power_sums']:,} masked "
        f"sums; with all messages {numbers['bytes_up_per_client']:,} bytes.",
        f"Bins shared by two hulls, if all bins were equally likely: about "
        f"{numbers['expected_collisions']:.2g}; near the rim there are more.",
    ]
    words += answer.words
    if own is not None:
        numbers |= {
            "classes": len(own.classes),
            "points_held": own.points_held,
            "points_guarded": own.points_guarded,
            "points_sent": own.points_sent,
            "bins_filled": own.bins_filled,
            "smallest_group": own.smallest_group,
            "cells_exposed": own.cells_exposed,
            "by_class": [msgspec.structs.asdict(line) for line in own.lines],
        }
        words += [
            f"Of these data, {own.points_sent} points would leave, as {own.bins_filled} bins, "
            f"{own.points_sent / own.points_held:.1%} as many as the {own.points_held:,} held; the "
            f"guard '{study.guard}' keeps {own.points_guarded} out of the hulls.",
            *class_table(own.lines),
        ]
    return Plan(numbers, words)
