"""The coordinator of a study of classes: it matches the sites' classes, lets the sites align
themselves, learns, and has the sites judge what it has learned."""

import math
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from time import perf_counter
from typing import Any

import msgspec
import numpy as np

from fedhull.errors import InvalidInput
from fedhull.learn.centres import Centres
from fedhull.learn.content import Landmarks
from fedhull.learn.tally import NO_DOUBTS, calibrated, decide, verdict
from fedhull.protocol.keys import digest
from fedhull.protocol.summation import Summation
from fedhull.registry import name_of
from fedhull.study.classes.ballot import Candidate, most_candidates, opened_tally, propose
from fedhull.study.classes.centre_sum import CentreNews, CentreSummation, CentreTotal
from fedhull.study.classes.match_sum import MatchNews, MatchSummation, MatchTotal
from fedhull.study.classes.matching import Match, clear_labels, match
from fedhull.study.classes.outcome import (
    LEARNED_AGAIN,
    LOST_IN_NOISE,
    NOT_ASKED,
    TOO_FEW,
    TOO_MANY,
    Vote,
    unanswered,
)
from fedhull.study.classes.publication import publish, sealed_entries
from fedhull.study.classes.standing import CENTRES, LAST, MATCH, stages_of
from fedhull.study.coordinator import Coordinator, Proposal, Publication, Votes
from fedhull.study.noise import CLEAR, noise_of
from fedhull.study.study import Study

# How labels were matched, if they were, and the secrets that are shared with their owners.
Labels = tuple[Match | None, Mapping[int, Sequence[int]]]
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
    that were published, one after the other; `model` is what is published at the end, and `vote`
    how it was chosen."""

    def __init__(self, study: Study, matched: Matched | None = None):
        self.study: Study = study
        self.matched = matched
        self.centres: list[Centres] = []
        self.seconds: dict[str, float] = {}
        self.model: Any = None
        self.vote = Vote()
        self._candidates: list[Candidate] = []
        self._landmarks: Landmarks | None = None
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
    def learn(self, opened: Any) -> Candidate:
        """The model that is published unless the sites find another one clearly better."""

    @abstractmethod
    def alternatives(self, opened: Any) -> list[Candidate]:
        """Others, over the same classes."""

    @abstractmethod
    def landmarks(self, opened: Any) -> Landmarks:
        """Where the classes of the model lie."""

    @property
    @abstractmethod
    def labels(self) -> Labels:
        """What sites are told of their labels at the end."""

    @property
    def ballot_labels(self) -> Labels:
        """What they must be told before they can judge: nothing, if they know it already."""
        return None, {}

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

    def take(self, opened: Any, seconds: float) -> Publication | Proposal:
        """Which class is which, the centres of all classes, or what was learned: a model, or
        candidates for it."""
        begin = perf_counter()
        if isinstance(opened, MatchTotal):
            made = Publication(self._match(opened))
            self.seconds["grouping"] = perf_counter() - begin
        elif isinstance(opened, CentreTotal):
            self.centres.append(opened.centres)
            made = Publication(CentreNews.of(opened.centres).to_bytes())
        else:
            self._done += 1
            return self._conclude(opened)
        self._basis = digest(made.content)
        self._done += 1
        return made

    def choose(self, votes: Votes) -> Publication:
        """The candidate that the sites' held-out cells speak for; without their judgement, the
        first one."""
        begin, candidates, marks = perf_counter(), self._candidates, self._landmarks
        study, noise = self.study, noise_of(self.study)
        n_classes = len(self.model.classes_)
        n_judges = len(votes.judges)
        tally = opened_tally(study, votes.judged, len(candidates), n_classes, n_judges)
        if tally is None or marks is None:
            return self.unjudged(unanswered(votes.silent))
        if tally.n_cells < study.disclosure.min_cells:
            return self.unjudged(TOO_FEW)
        words = [candidate.words for candidate in candidates]
        tolerance, doubts = (study.disclosure.min_cells - 1) * n_judges, NO_DOUBTS
        if noise is not None:
            doubts = noise.doubts(len(candidates), n_classes, n_judges)
            tolerance = math.ceil(2.0 * doubts.cells)
            if tally.n_cells < CLEAR * doubts.cells:
                return self.unjudged(LOST_IN_NOISE)
        chosen, at = decide(tally, doubts)
        curvature = study.geometry.curvature
        found = verdict(
            tally, chosen, at, words, marks, curvature, tolerance, noisy=noise is not None
        )
        self.model = calibrated(candidates[chosen].model, found)
        self.vote = Vote(judged=found, judges=votes.judges)
        self.seconds["learning"] += perf_counter() - begin
        return self._published()

    def learn_again(self, opened: Any, votes: Votes | None) -> None:
        """Come to a model once more, from a sum that was kept and the votes that were cast then, if
        they are on the same candidates."""
        if isinstance(self.take(opened, 0.0), Proposal):
            if votes is None:
                self.unjudged(LEARNED_AGAIN)
            else:
                self.choose(votes)

    def unjudged(self, why: str) -> Publication:
        """The first candidate, since for this reason no site has judged any."""
        self.vote = Vote(missed=why)
        return self._published()

    def _conclude(self, opened: Any) -> Publication | Proposal:
        """What was learned, as candidates for the sites to judge or, without a ballot, as it is."""
        study, default = self.study, self.learn(opened)
        self.model = default.model
        most = most_candidates(len(default.model.classes_))
        if not study.learning.ballot or not most:
            return self.unjudged(TOO_MANY if study.learning.ballot else NOT_ASKED)
        begin = perf_counter()
        self._candidates = [default, *self.alternatives(opened)[: most - 1]]
        self._landmarks = self.landmarks(opened)
        self.seconds["learning"] += perf_counter() - begin
        return propose(study, self._candidates, self._landmarks, *self.ballot_labels)

    def _published(self) -> Publication:
        """The model, and for each site which class is which. Sites are asked how well it does if
        they have not said so before."""
        content = publish(self.study, self.model, *self.labels)
        ask = self.vote.judged is None and self.study.privacy is None
        return Publication(content, ask)

    @property
    def _n_classes(self) -> int:
        if self.matched is not None:
            return max(self.matched.groups) + 1
        return len(self.study.agreed)

    def _match(self, opened: MatchTotal) -> bytes:
        study, told = self.study, opened.slots.sketches
        labels = clear_labels(study, told)
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
