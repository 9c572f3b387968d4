"""The coordinator of a study of classes: it matches the sites' classes, lets the sites align
themselves, and learns."""

from abc import abstractmethod
from time import perf_counter
from typing import Any

import msgspec
import numpy as np

from fedhull.errors import InvalidInput
from fedhull.learn.centres import Centres
from fedhull.protocol.keys import digest
from fedhull.protocol.summation import Summation
from fedhull.registry import name_of
from fedhull.study.classes.centre_sum import CentreNews, CentreSummation, CentreTotal
from fedhull.study.classes.match_sum import MatchNews, MatchSummation, MatchTotal
from fedhull.study.classes.matching import Match, match
from fedhull.study.classes.publication import sealed_entries
from fedhull.study.classes.standing import CENTRES, LAST, MATCH, stages_of
from fedhull.study.coordinator import Coordinator, Publication
from fedhull.study.study import Study

# What a coordinator is told that a sum is for.
_PURPOSES = {MATCH: "match", CENTRES: "align", LAST: "learn"}


class Matched(msgspec.Struct, frozen=True):
    """What the coordinator keeps of the sum by which classes were matched."""

    labels: list[int]
    groups: list[int]
    counts: list[int]
    certainty: list[float] | None
    secrets: dict[int, tuple[int, ...]]
    survivors: list[str]
    size: int = 0

    @classmethod
    def of(cls, found: Match, total: MatchTotal) -> "Matched":
        """The match of what was said in that sum."""
        return cls(
            found.labels,
            found.groups.tolist(),
            found.counts.tolist(),
            None if found.certainty is None else found.certainty.tolist(),
            total.slots.secrets,
            total.survivors,
            total.size,
        )

    @property
    def match(self) -> Match:
        """The match itself."""
        sure = None if self.certainty is None else np.array(self.certainty)
        return Match(self.labels, np.array(self.groups), np.array(self.counts), sure)


class ClassCoordinator(Coordinator):
    """A summary says what the last sum is, and what is learned from it. `matched` is what came of
    the matching, if classes were matched before the last sum; `centres` are those of all classes
    that were published, one after the other."""

    def __init__(self, study: Study, matched: Matched | None = None):
        self.study: Study = study
        self.matched = matched
        self.centres: list[Centres] = []
        self.seconds: dict[str, float] = {}
        self._stages = stages_of(study)
        self._done = 0
        self._basis = b""

    @abstractmethod
    def last_sum(self, number: int, n_classes: int, basis: bytes) -> Summation:
        """What is summed last: the sum of this number, over so many classes, if that is known, and
        bound to what was published before."""

    @abstractmethod
    def kept_last(self, opened: Any) -> bytes:
        """The last sum, and all that is needed to learn from it again."""

    @abstractmethod
    def learn(self, opened: Any) -> bytes:
        """What is published in the end."""

    def next_sum(self) -> Summation | None:
        """The sums of the study's stages, in order."""
        if self._done == len(self._stages):
            return None
        stage, number = self._stages[self._done], self._done + 1
        if stage == MATCH:
            return MatchSummation(self.study)
        if stage == LAST:
            return self.last_sum(number, self._n_classes, self._basis)
        return CentreSummation(self.study, number, self._n_classes, self._basis)

    def purpose(self) -> str | None:
        """What the next of several sums is for, and which it is."""
        stages, done = self._stages, self._done
        return f"{_PURPOSES[stages[done]]} ({done + 1} of {len(stages)})" if stages[1:] else None

    def kept(self, opened: Any) -> bytes | None:
        """The last sum; nothing can be learned from the others alone."""
        early = isinstance(opened, MatchTotal | CentreTotal)
        return None if early else self.kept_last(opened)

    def take(self, opened: Any, seconds: float) -> Publication:
        """Which class is which, the centres of all classes, or the model."""
        begin = perf_counter()
        if isinstance(opened, MatchTotal):
            made = Publication(self._match(opened))
            self.seconds["grouping"] = perf_counter() - begin
        elif isinstance(opened, CentreTotal):
            self.centres.append(opened.centres)
            made = Publication(CentreNews.of(opened.centres).to_bytes())
        else:
            made = Publication(self.learn(opened), ask=True)
        self._basis = digest(made.content)
        self._done += 1
        return made

    @property
    def _n_classes(self) -> int:
        if self.matched is not None:
            return max(self.matched.groups) + 1
        return len(self.study.agreed)

    def _match(self, opened: MatchTotal) -> bytes:
        study, told = self.study, opened.slots.sketches
        # an order that does not depend on labels, which are drawn from the system's randomness
        labels = sorted(told, key=lambda label: (told[label], label))
        found = match(study, labels, told, placed=study.alignments > 0)
        _check_apart(study, found)
        self.matched = Matched.of(found, opened)
        news = MatchNews(max(found.numbers) + 1, {})
        entries = sealed_entries(study, found, opened.slots.secrets, news.bound_to)
        return MatchNews(news.n_classes, entries).to_bytes()


def _check_apart(study: Study, found: Match) -> None:
    """Sites object if two of their classes are taken for one, so such a match is not published."""
    taken = [(study.place_of(label), group) for label, group in found.class_of_label.items()]
    if len(set(taken)) < len(taken):
        raise InvalidInput(
            f"grouping {name_of(study.learning.grouping)!r} takes two classes of one site for one, "
            f"which sites do not accept where classes are matched first; use 'matching'"
        )
