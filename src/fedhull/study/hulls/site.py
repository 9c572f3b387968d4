"""A site in a study of hulls: it sends its hulls, and makes the published model its own."""

import json
from typing import Any

from fedhull.errors import BadMessage, FedhullError
from fedhull.learn.model import model_from_json, named_model, published_names
from fedhull.protocol.keys import Identity, Randomness
from fedhull.study.hulls.coordinator import MODEL, model_file
from fedhull.study.hulls.holdings import HullHoldings
from fedhull.study.hulls.sum import HullContribution
from fedhull.study.site import Site
from fedhull.study.study import Study


class HullSite(Site):
    """After the last message, `model` is the published classifier in the site's own words, `names`
    says which class of the server's is which of the site's, and `correct` of `tested` held-out
    points were classified as the site had labelled them.
    """

    study: Study

    def __init__(
        self,
        study: Study,
        name: str,
        identity: Identity,
        holdings: HullHoldings,
        randomness: Randomness | None = None,
    ):
        self.holdings = holdings
        self.model: Any = None
        self.names: dict[int, Any] = {}
        self.correct = 0
        self.tested = len(holdings.test_y)
        self._contribution = HullContribution(study, holdings.hulls)
        super().__init__(study, name, identity, randomness=randomness)

    def contribution(self) -> HullContribution:
        """The site's hulls."""
        return self._contribution

    @property
    def label_of_class(self) -> list[int]:
        """Under which label each of the site's classes was sent, in the site's order."""
        return self.session.label_of_class

    def take(self, published: bytes) -> tuple[int, int]:
        """Name the model's classes, and try it on the held-out points."""
        try:
            self.names = published_names(published, self.label_of_class, self.holdings.classes)
            model = named_model(published, self.names)
            self.correct = self._count_correct(model_from_json(json.loads(published)))
        except (FedhullError, KeyError, TypeError, ValueError):
            raise BadMessage("what the server published is not a model this site can use") from None
        self.model = model
        return self.correct, self.tested

    def files(self) -> dict[str, bytes]:
        """The model, in the site's words."""
        return {MODEL: model_file(self.model, self.study)}

    def result(self) -> dict[str, Any]:
        """Plain numbers and words."""
        held = self.holdings
        return {
            "study": self.study.name,
            "study_hash": self.study.hash.hex(),
            "site": self.name,
            "classes": {str(number): name for number, name in sorted(self.names.items())},
            "correct": self.correct,
            "tested": self.tested,
            "accuracy": 100.0 * self.correct / self.tested if self.tested else None,
            "points_sent": held.points_sent,
            "points_held": held.points_held,
            "points_guarded": held.points_guarded,
        }

    def _count_correct(self, model: Any) -> int:
        if not self.tested:
            return 0
        number = {name: number for number, name in self.names.items()}
        truth = [number[name] for name in self.holdings.test_y.tolist()]
        return int((model.predict(self.holdings.test_x) == truth).sum())
