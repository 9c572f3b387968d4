"""What noise would cost in accuracy, as far as one site can tell from its own cells."""

from typing import TYPE_CHECKING, Any

import numpy as np

from fedhull.learn.horocycles import SCALES
from fedhull.learn.moments import Moments
from fedhull.study.moments.holdings import MomentHoldings, extent_of
from fedhull.study.noise import key_for, noise_of
from fedhull.study.study import Study

if TYPE_CHECKING:
    from fedhull.learn.moment_classifier import MomentClassifier

_DRAWS = 5
# With fewer held-out cells nothing can be said.
_FEWEST = 20


def price_of_noise(study: Study, own: MomentHoldings) -> dict[str, Any] | None:
    """Percent of the site's held-out cells that are classified correctly without noise and with it,
    on average over a few draws, if every site holds what this one holds and classes are matched
    rightly. None if there are too few cells to tell."""
    from fedhull.learn.moment_classifier import MomentClassifier

    noise, n_sites = noise_of(study), len(study.clients)
    n_classes = len(own.classes)
    if noise is None or n_classes < 2 or len(own.test_y) < _FEWEST:
        return None
    extent = extent_of(study, (), n_classes)
    mine = own.moments(study, [[i] for i in range(n_classes)], extent)
    total = Moments(mine.gram * n_sites, mine.sums * n_sites, mine.counts * n_sites)
    settings: dict[str, Any] = {
        "dimension": 2,
        "scales": SCALES,
        "curvature": study.geometry.curvature,
        "seed": study.learning.seed,
    }
    deviation = noise.total_deviations(n_sites)[0]
    names = np.array(own.classes)
    right = []
    for draw in range(_DRAWS):
        keys = (key_for(bytes(32), f"draw {draw} of site {i}") for i in range(n_sites))
        added = sum(noise.totals(n_classes, key) for key in keys)
        noisy = total + Moments.unpacked(np.asarray(added), extent)
        model = MomentClassifier.from_noisy_moments(noisy, names, deviation=deviation, **settings)
        right.append(_share_right(model, own))
    plain = MomentClassifier.from_noisy_moments(total, names, deviation=0.0, **settings)
    without = _share_right(plain, own)
    return {
        "without_noise": without,
        "with_noise": float(np.mean(right)),
        "points_lost": without - float(np.mean(right)),
        "tested": len(own.test_y),
    }


def price_words(price: dict[str, Any] | None) -> str:
    """The price as a sentence."""
    if price is None:
        return "What the noise costs in accuracy cannot be told from so few held-out cells."
    return (
        f"What the noise would cost, if every site holds what you hold: of your "
        f"{price['tested']:,} held-out cells {price['without_noise']:.1f} % are classified "
        f"correctly without noise and {price['with_noise']:.1f} % with it, "
        f"{price['points_lost']:.1f} points fewer."
    )


def _share_right(model: "MomentClassifier", own: MomentHoldings) -> float:
    return 100.0 * float((model.predict(own.test_x) == own.test_y).mean())
