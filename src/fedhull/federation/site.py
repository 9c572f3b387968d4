"""A site in a study: it answers the server's messages and makes the published model its own."""

import json
from typing import Any

from fedhull.errors import BadMessage, FedhullError
from fedhull.federation.holdings import Holdings
from fedhull.learn.model import model_from_json, named_model, published_names
from fedhull.protocol.client import ClientSession, ClientState
from fedhull.protocol.hull_sum import HullContribution
from fedhull.protocol.keys import Identity, Randomness
from fedhull.protocol.study import Study


class Site:
    """A client session together with what the site holds.

    After the last message, `model` is the published classifier in the site's own words, `names`
    says which class of the server's is which of the site's, and `correct` of `tested` held-out
    points were classified as the site had labelled them.
    """

    def __init__(
        self,
        study: Study,
        name: str,
        identity: Identity,
        holdings: Holdings,
        randomness: Randomness | None = None,
    ):
        self.study = study
        self.name = name
        self.holdings = holdings
        contribution = HullContribution(study, holdings.hulls)
        self.session = ClientSession(study, name, identity, contribution, randomness)
        self.model: Any = None
        self.names: dict[int, Any] = {}
        self.correct = 0
        self.tested = len(holdings.test_y)

    def receive(self, raw: bytes) -> bytes | None:
        """Answer a message of the server's; the published model is tried on the held-out points."""
        reply = self.session.receive(raw)
        if self.session.state is ClientState.DONE and self.model is None:
            self._take_model()
            if self.session.may_tally:
                return self.session.tally(self.correct, self.tested)
        return reply

    @property
    def done(self) -> bool:
        """Whether the model has arrived."""
        return self.model is not None

    def _take_model(self) -> None:
        published = self.session.result
        assert published is not None
        try:
            labels = self.session.label_of_class
            self.names = published_names(published, labels, self.holdings.classes)
            model = named_model(published, self.names)
            self.correct = self._count_correct(model_from_json(json.loads(published)))
        except (FedhullError, KeyError, TypeError, ValueError):
            raise BadMessage("what the server published is not a model this site can use") from None
        self.model = model

    def _count_correct(self, model: Any) -> int:
        if not self.tested:
            return 0
        number = {name: number for number, name in self.names.items()}
        truth = [number[name] for name in self.holdings.test_y.tolist()]
        return int((model.predict(self.holdings.test_x) == truth).sum())
