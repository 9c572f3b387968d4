"""A site in a study of classes: it makes the published model its own, in its own words."""

from typing import Any

import numpy as np

from fedhull.protocol.keys import Identity, Randomness
from fedhull.study.classes.holdings import ClassHoldings
from fedhull.study.classes.matching import is_doubtful
from fedhull.study.classes.outcome import MODEL, model_file
from fedhull.study.classes.pseudonym import Entry, Pseudonym
from fedhull.study.classes.publication import in_own_words, read_publication
from fedhull.study.site import Site
from fedhull.study.study import Study


class ClassSite(Site):
    """After the last message, `model` is the published classifier in the site's own words, `names`
    says which class of the server's is which of the site's, `entries` what became of each of the
    site's classes, and `correct` of `tested` held-out points were classified as the site had
    labelled them.
    """

    study: Study

    def __init__(
        self,
        study: Study,
        name: str,
        identity: Identity,
        holdings: Any,
        n_sums: int = 1,
        randomness: Randomness | None = None,
        sums_done: int = 0,
    ):
        self.holdings: ClassHoldings = holdings
        self.model: Any = None
        self.names: dict[int, Any] = {}
        self.entries: list[Entry] = []
        self.correct = 0
        self.tested = len(holdings.test_y)
        # the classes of the model as the server numbers them
        self.numbers = np.empty(0, dtype=int)
        # what the site went by in a sum that is over
        self._kept: Pseudonym | None = None
        super().__init__(study, name, identity, n_sums, randomness, sums_done)

    @property
    def pseudonym(self) -> Pseudonym | None:
        """What the site goes by in the sum that says which class is which, once it has uploaded."""
        return self._kept or self.session.drawn

    @property
    def label_of_class(self) -> list[int]:
        """Under which label each of the site's classes was sent, in the site's order."""
        return [] if self.pseudonym is None else self.pseudonym.labels

    @property
    def receipt(self) -> bytes | None:
        """The site's pseudonym."""
        return None if self.pseudonym is None else self.pseudonym.to_bytes()

    def take(self, published: bytes) -> tuple[int, int] | None:
        """Name the model's classes, and try it on the held-out points."""
        return self._use(published)

    def _use(self, published: bytes, complete: bool = True) -> tuple[int, int]:
        """The same; a model that is `complete` knows each of the site's classes."""
        held = self.holdings
        read = read_publication(self.study, published, self.pseudonym, held.classes, complete)
        model = read.model
        if self.tested:
            right = self._true_numbers(read.names, read.entries) == model.predict(held.test_x)
            self.correct = int(right.sum())
        self.numbers = model.classes_
        model.classes_ = in_own_words(model, read.names)
        self.model, self.names, self.entries = model, read.names, read.entries
        return self.correct, self.tested

    def take_late(self, published: bytes, receipt: bytes) -> None:
        """What a site makes of a publication that it has missed, given its receipt."""
        self._kept = Pseudonym.from_bytes(receipt)
        self._use(published)
        self.sums_done = self.n_sums

    def files(self) -> dict[str, bytes]:
        """The model, in the site's words."""
        return {MODEL: model_file(self.model, self.study)}

    def result(self) -> dict[str, Any]:
        """Plain numbers and words."""
        return {
            "study": self.study.name,
            "study_hash": self.study.hash.hex(),
            "site": self.name,
            "summary": self.study.learning.summary,
            "classes": {str(number): name for number, name in sorted(self.names.items())},
            "matches": [
                {
                    "name": str(name),
                    "class": entry.number,
                    "sites": entry.sites,
                    "certainty": None if entry.percent is None else entry.percent / 100.0,
                    "doubtful": is_doubtful(entry.percent),
                }
                for name, entry in zip(self.holdings.classes, self.entries, strict=False)
            ],
            "correct": self.correct,
            "tested": self.tested,
            "accuracy": 100.0 * self.correct / self.tested if self.tested else None,
        }

    def _true_numbers(self, names: dict[int, Any], entries: list[Entry]) -> np.ndarray:
        """The server's number of each held-out point's class; −1 where it has none."""
        held = self.holdings
        number = {name: number for number, name in names.items()}
        number |= {name: entry.number for name, entry in zip(held.classes, entries, strict=False)}
        return np.array([number.get(name, -1) for name in held.test_y.tolist()])
