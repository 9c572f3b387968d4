"""A site in a study of hulls: it sends its hulls, and makes the published model its own."""

from typing import Any

import numpy as np

from fedhull.protocol.keys import Identity, Randomness
from fedhull.study.hulls.coordinator import MODEL, model_file
from fedhull.study.hulls.holdings import HullHoldings
from fedhull.study.hulls.pseudonym import Pseudonym
from fedhull.study.hulls.publication import in_own_words, read_publication
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
        # the classes of the model as the server numbers them
        self.numbers = np.empty(0, dtype=int)
        self._kept: Pseudonym | None = None
        self.tested = len(holdings.test_y)
        self._contribution = HullContribution(
            study, holdings.hulls, holdings.sketches, holdings.classes
        )
        super().__init__(study, name, identity, randomness=randomness)

    def contribution(self) -> HullContribution:
        """The site's hulls."""
        return self._contribution

    @property
    def pseudonym(self) -> Pseudonym | None:
        """What the site goes by in the sum, once it has uploaded."""
        return self._kept or self.session.drawn

    @property
    def label_of_class(self) -> list[int]:
        """Under which label each of the site's classes was sent, in the site's order."""
        return [] if self.pseudonym is None else self.pseudonym.labels

    @property
    def receipt(self) -> bytes | None:
        """The site's pseudonym."""
        return None if self.pseudonym is None else self.pseudonym.to_bytes()

    def take(self, published: bytes) -> tuple[int, int]:
        """Name the model's classes, and try it on the held-out points."""
        assert self.pseudonym is not None
        held = self.holdings
        model, names = read_publication(self.study, published, self.pseudonym, held.classes)
        self.numbers = model.classes_
        if self.tested:
            number = {name: number for number, name in names.items()}
            truth = [number.get(name) for name in held.test_y.tolist()]
            self.correct = int((model.predict(held.test_x) == truth).sum())
        model.classes_ = in_own_words(model, names)
        self.model, self.names = model, names
        return self.correct, self.tested

    def take_late(self, published: bytes, receipt: bytes) -> None:
        """What a site makes of a publication that it has missed, given its receipt."""
        self._kept = Pseudonym.from_bytes(receipt)
        self.take(published)
        self.sums_done = self.n_sums

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
