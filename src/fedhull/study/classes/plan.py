"""What a study would send, in numbers and in words."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from fedhull.protocol.sizes import bytes_up
from fedhull.study.classes.centre_sum import CentreSummation
from fedhull.study.classes.match_sum import MatchSummation
from fedhull.study.classes.standing import CENTRES, MATCH, stages_of
from fedhull.study.study import Study


class Plan(NamedTuple):
    """The numbers by name, and what a person reads, line by line."""

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


def agreed_or(study: Study, classes: Sequence[Any]) -> int:
    """How many classes there are if they are agreed, or else if all sites have these."""
    return len(study.agreed) or len(classes)
