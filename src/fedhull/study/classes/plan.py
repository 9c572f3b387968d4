"""What a study would send, in numbers and in words."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from fedhull.protocol.drive import bytes_up
from fedhull.protocol.summation import Layout
from fedhull.study.classes.ballot import ballot_layout, most_candidates
from fedhull.study.classes.centre_sum import CentreSummation
from fedhull.study.classes.match_sum import MatchSummation
from fedhull.study.classes.standing import CENTRES, MATCH, stages_of
from fedhull.study.counts import COUNTS
from fedhull.study.plan import Plan
from fedhull.study.study import Study


class Answer(NamedTuple):
    """How what a site answers at the end is laid out, and what there is to say of it."""

    layout: Layout
    numbers: dict[str, Any]
    words: list[str]


def plan_early_sums(study: Study, n_classes: int) -> Plan:
    """The sums before the last, over so many classes: `bytes_up_match`, `bytes_up_centres` of each,
    and `bytes_up_early` of all."""
    stages, sites, site = stages_of(study), len(study.clients), min(study.clients)
    found: dict[str, Any] = {"sums": len(stages), "bytes_up_match": 0, "bytes_up_centres": 0}
    words: list[str] = []
    if MATCH in stages:
        layout = MatchSummation(study).layout((), sites)
        found["bytes_up_match"] = bytes_up(study, site, layout, numbers=0)
        what = "where they lie in thirteen" if study.alignments else "a sketch in eight"
        words.append(
            f"To find out which class is which: for each class at a site the number of its cells, "
            f"and {what} numbers; {found['bytes_up_match']:,} bytes with all messages."
        )
    if CENTRES in stages:
        layout = CentreSummation(study, 1, n_classes).layout((), sites)
        found["bytes_up_centres"] = bytes_up(study, site, layout, numbers=n_classes)
        times = "twice" if study.alignments == 2 else "once"
        words.append(
            f"To align sites to each other, {times}: the centres of all classes, summed over all "
            f"sites; {found['bytes_up_centres']:,} bytes each time."
        )
    centres = stages.count(CENTRES) * found["bytes_up_centres"]
    found["bytes_up_early"] = found["bytes_up_match"] + centres
    return Plan(found, words)


def plan_answer(study: Study, n_candidates: int, n_classes: int, tested: int | None) -> Answer:
    """What a site with so many held-out points answers at the end: how so many candidates do, or
    how well the published model does."""
    shown = min(n_candidates, most_candidates(n_classes))
    if not study.learning.ballot or not shown:
        return Answer(COUNTS, {"candidates": 0}, [])
    layout = ballot_layout(shown, n_classes)
    numbers = {"candidates": shown, "numbers_in_ballot": layout.parts[0][1]}
    words = [
        f"Ballot: {shown} candidates are tried on held-out points at each site; how they do leaves "
        f"in {numbers['numbers_in_ballot']:,} masked numbers, {layout.packed_size:,} bytes, which "
        f"can be read as a sum over all sites only.",
    ]
    if study.privacy is None and tested is not None and tested < study.disclosure.min_cells:
        words.append(
            f"With {tested} held-out points, fewer than {study.disclosure.min_cells}, your site "
            f"would abstain: what it sends then counts nothing, and nobody can tell."
        )
    return Answer(layout, numbers, words)


def agreed_or(study: Study, classes: Sequence[Any]) -> int:
    """How many classes there are if they are agreed, or else if all sites have these."""
    return len(study.agreed) or len(classes)
