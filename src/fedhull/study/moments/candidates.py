"""Which classifiers the coordinator of a study of moments proposes, besides the usual one."""

from typing import Any

from fedhull.learn.moments import Extent

_PENALTIES = (0.001, 0.3, 3.0)
# So many times fewer features.
_FEWER = (2, 4)


def others_in_noise() -> dict[str, dict[str, Any]]:
    """Weaker and stronger penalties, as shares of the usual one, which goes by the noise. Few,
    because each costs some of what the sites' votes may say."""
    return {
        "moments, a third of the penalty": {"relative": 1.0 / 3.0},
        "moments, three times the penalty": {"relative": 3.0},
    }


def others(extent: Extent) -> dict[str, dict[str, Any]]:
    """Weaker and stronger penalties, and fewer features: in words, and as settings of
    `MomentClassifier.from_moments`."""
    found: dict[str, dict[str, Any]] = {
        f"moments, alpha = {alpha:g}": {"alpha": alpha} for alpha in _PENALTIES
    }
    for times in _FEWER:
        most = extent.features // times
        if most > 1:
            found[f"moments, {most} features"] = {"most": most}
    return found
