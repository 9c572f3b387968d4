"""What is done about sites that measure differently, before their cells are placed."""

from typing import TYPE_CHECKING, Literal, get_args

import numpy as np

from fedhull.errors import InvalidInput

if TYPE_CHECKING:
    from fedhull.embed.projection import Axes

Correction = Literal["none", "centre", "scale"]
NO_CORRECTION: Correction = "none"
# Of fewer cells nobody can tell how their site measures.
FEWEST_TO_CORRECT = 50


def corrected(features: np.ndarray, axes: "Axes", correction: Correction) -> np.ndarray:
    """Features (n, c) of the cells of one site, moved along each axis so that their mean is that of
    all sites' cells ("centre"), and stretched so that their variance is as well ("scale").

    That takes out what is the same for all cells of a site: how it measures, but also which types
    of cells it has more of.
    """
    if correction == NO_CORRECTION:
        return features
    if correction not in get_args(Correction):
        raise InvalidInput(
            f"correction must be one of {', '.join(get_args(Correction))}, got {correction!r}"
        )
    if len(features) < FEWEST_TO_CORRECT:
        raise InvalidInput(
            f"this encoder corrects for how a site measures, for which it takes at least "
            f"{FEWEST_TO_CORRECT} cells of the site at once, got {len(features)}; place them "
            f"together with others of the same site"
        )
    centred = features - features.mean(axis=0)
    if correction == "scale":
        own = centred.std(axis=0)
        centred *= np.sqrt(axes.variance) / np.where(own > 0, own, 1.0)
    return centred + axes.mean
