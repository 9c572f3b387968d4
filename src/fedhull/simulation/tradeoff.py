"""The same trial with wider and narrower bins: what accuracy a smaller leakage costs."""

from collections.abc import Callable
from typing import Any

import msgspec

from fedhull.errors import TooManyBins
from fedhull.report.hull_content import Tradeoff
from fedhull.simulation.federation import Dealt, Federation, named, names_of_groups
from fedhull.study.hulls.learning import learn
from fedhull.study.hulls.sum import HullTotal

# How much narrower or wider than the study's own.
_FACTORS = (0.1, 3.0, 10.0, 30.0)


def sweep(federation: Federation, dealt: Dealt, score: Callable[[Any], float]) -> list[Tradeoff]:
    """For each width of bins, what the survivors would send and how well the server would learn
    from it. The protocol is left out: the server decodes exactly what the sites send."""
    rows, study = [], federation.session.study
    for factor in _FACTORS:
        epsilon = float(f"{study.geometry.epsilon * factor:.6g}")
        geometry = msgspec.structs.replace(study.geometry, epsilon=epsilon)
        try:
            at_epsilon = msgspec.structs.replace(study, geometry=geometry)
        except TooManyBins:
            continue
        holdings = dealt.holdings(at_epsilon)
        taking_part = [holdings[name] for name in federation.outcome.survivors]
        hulls: dict[int, list[int]] = {}
        classes: dict[int, Any] = {}
        sketches: dict[int, list[int]] = {}
        for place, held in enumerate(taking_part):
            told = zip(held.classes, held.hulls, held.sketches, strict=True)
            for j, (name, bins, sketch) in enumerate(told):
                label = study.labels_of(place)[j]
                hulls[label], classes[label], sketches[label] = sorted(bins), name, sketch
        learned = learn(
            at_epsilon, HullTotal(hulls, federation.outcome.survivors, sketches=sketches)
        )
        truth = [classes[label] for label in learned.labels]
        rows.append(
            Tradeoff(
                epsilon=epsilon,
                accuracy=score(
                    named(learned.model, names_of_groups(learned.groups, truth, dealt.y))
                ),
                points_sent=sum(held.points_sent for held in taking_part),
                points_total=sum(held.points_held for held in taking_part),
            )
        )
    return rows
