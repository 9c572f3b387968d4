"""What is said of differential privacy: in consent, plan and on pages, in the same words."""

import math

from fedhull.study.noise import Noise
from fedhull.study.privacy import CELL, Privacy

NOT_COVERED = (
    "Not covered by this: who takes part and when, the sizes of messages, which are the same "
    "whatever a site holds, an encoder that was made of the same cells, and further sessions over "
    "the same cells, of each of which the costs add up."
)


def promise_words(privacy: Privacy) -> str:
    """What is promised, in one sentence."""
    what = "any single cell" if privacy.unit == CELL else f"all cells of any one {privacy.unit!r}"
    odds = math.exp(privacy.epsilon)
    factor = f"{odds:,.1f}" if odds < 1e6 else f"{odds:.1e}"
    most = (
        "" if privacy.unit == CELL else f"; at most {privacy.unit_cells:,} cells of each are used"
    )
    return (
        f"Noise hides {what} (differential privacy, ε = {privacy.epsilon:g}, δ = "
        f"{privacy.delta:g}): whatever anybody concludes from all that leaves is at most "
        f"{factor} times as likely with these data as without {_it(privacy)}, but for a chance of "
        f"{privacy.delta:g}{most}."
    )


def sharing_words(noise: Noise) -> str:
    """On whom the promise rests."""
    t, c = noise.threshold, noise.tolerated
    words = (
        f"This holds if {t} of the sites in the sum are honest, whoever drops out: each adds its "
        f"share of the noise."
    )
    if c == 0:
        return words
    sites = "one site" if c == 1 else f"{c} sites"
    return (
        f"{words} Against a coordinator that {sites} told their noise, with no more than {t} in "
        f"the sum, ε is {noise.spent(t - c):.2g}."
    )


def _it(privacy: Privacy) -> str:
    return "it" if privacy.unit == CELL else "them"
