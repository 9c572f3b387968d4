"""The same trial with wider and narrower bins: what accuracy a smaller leakage costs."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from fedhull.errors import TooManyBins
from fedhull.report.content import Tradeoff
from fedhull.study.hulls.holdings import HullHoldings
from fedhull.study.hulls.learning import Learned, learn
from fedhull.study.hulls.sum import HullTotal
from fedhull.study.study import Study

# How much narrower or wider than the study's own.
_FACTORS = (0.1, 3.0, 10.0, 30.0)


def sweep(
    study: Study,
    survivors: Sequence[str],
    holdings_at: Callable[[Study], Mapping[str, HullHoldings]],
    score: Callable[[Learned, list[Any]], float],
) -> list[Tradeoff]:
    """For each width of bins, what the survivors would send and how well the server would learn
    from it. The protocol is left out: the server decodes exactly what the sites send.

    `score` says how good what was learned is, given the class of each hull.
    """
    rows = []
    for factor in _FACTORS:
        epsilon = float(f"{study.geometry.epsilon * factor:.6g}")
        geometry = msgspec.structs.replace(study.geometry, epsilon=epsilon)
        try:
            at_epsilon = msgspec.structs.replace(study, geometry=geometry)
        except TooManyBins:
            continue
        holdings = holdings_at(at_epsilon)
        taking_part = [holdings[name] for name in survivors]
        hulls: dict[int, list[int]] = {}
        classes: dict[int, Any] = {}
        sketches: dict[int, list[int]] = {}
        for place, held in enumerate(taking_part):
            told = zip(held.classes, held.hulls, held.sketches, strict=True)
            for j, (name, bins, sketch) in enumerate(told):
                label = study.labels_of(place)[j]
                hulls[label], classes[label], sketches[label] = sorted(bins), name, sketch
        learned = learn(at_epsilon, HullTotal(hulls, list(survivors), sketches=sketches))
        rows.append(
            Tradeoff(
                epsilon=epsilon,
                accuracy=score(learned, [classes[label] for label in learned.labels]),
                points_sent=sum(held.points_sent for held in taking_part),
                points_total=sum(held.points_held for held in taking_part),
            )
        )
    return rows
