"""A site in a study of hulls: it sends its hulls, and makes the published model its own."""

from typing import Any

from fedhull.protocol.keys import Identity, Randomness
from fedhull.study.classes.site import ClassSite
from fedhull.study.hulls.holdings import HullHoldings
from fedhull.study.hulls.sum import HullContribution
from fedhull.study.study import Study


class HullSite(ClassSite):
    """One sum, to which the site contributes the hulls of its classes."""

    holdings: HullHoldings

    def __init__(
        self,
        study: Study,
        name: str,
        identity: Identity,
        holdings: HullHoldings,
        randomness: Randomness | None = None,
    ):
        self._contribution = HullContribution(
            study, holdings.hulls, holdings.sketches, holdings.classes
        )
        super().__init__(study, name, identity, holdings, randomness=randomness)

    def contribution(self) -> HullContribution:
        """The site's hulls."""
        return self._contribution

    def result(self) -> dict[str, Any]:
        """Plain numbers and words."""
        held = self.holdings
        return super().result() | {
            "points_sent": held.points_sent,
            "points_held": held.points_held,
            "points_guarded": held.points_guarded,
        }
