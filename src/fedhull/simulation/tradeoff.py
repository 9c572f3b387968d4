"""The same trial with wider and narrower bins: what accuracy a smaller leakage costs."""

from collections.abc import Callable, Mapping, Sequence

import msgspec
import numpy as np

from fedhull.errors import FedhullError
from fedhull.federation.coordinator import learn
from fedhull.federation.holdings import Holdings
from fedhull.protocol.server import Aggregate
from fedhull.protocol.study import Geometry, Study
from fedhull.report.content import Tradeoff

# How much narrower or wider than the study's own.
_FACTORS = (0.1, 0.3, 1.0, 3.0, 10.0, 30.0)


def sweep(
    study: Study,
    holdings_at: Callable[[Geometry], Mapping[str, Holdings]],
    survivors: Sequence[str],
    score: Callable[[object, np.ndarray, list[object]], float],
) -> list[Tradeoff]:
    """For each width of bins, what the survivors would send and how well the server would learn
    from it. The protocol is left out: the server decodes exactly what the sites send.

    `score` tells how good a model is, given the group and the class of each hull.
    """
    rows = []
    for factor in _FACTORS:
        epsilon = float(f"{study.geometry.epsilon * factor:.6g}")
        geometry = msgspec.structs.replace(study.geometry, epsilon=epsilon)
        try:
            at_epsilon = msgspec.structs.replace(study, geometry=geometry)
            holdings = holdings_at(geometry)
        except FedhullError:
            continue  # more bins than can be numbered
        taking_part = [holdings[name] for name in survivors]
        hulls, classes = {}, {}
        for place, held in enumerate(taking_part):
            for j, (name, bins) in enumerate(zip(held.classes, held.hulls, strict=True)):
                label = place * study.labels.classes + j
                hulls[label], classes[label] = sorted(bins), name
        learned = learn(at_epsilon, Aggregate({}, hulls, list(survivors), 0))
        rows.append(
            Tradeoff(
                epsilon=epsilon,
                accuracy=score(learned.model, learned.groups, [classes[x] for x in learned.labels]),
                points_sent=sum(held.points_sent for held in taking_part),
                points_total=sum(held.points_held for held in taking_part),
            )
        )
    return rows
