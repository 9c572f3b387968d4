"""Round learn: the last round of a study of classes, from which a classifier is learned.

What sites send in it is the study's summary: hulls, moments, or one from another package, which is
a subclass of `Summary` and one entry point (docs/extending.md).
"""

from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from time import perf_counter
from typing import Any, ClassVar, NamedTuple

import msgspec
import numpy as np

from fedhull.errors import BadMessage, FedhullError
from fedhull.learn.centres import Centres
from fedhull.learn.content import Landmarks, landmarks_of_centres
from fedhull.learn.model import model_to_json, published_model
from fedhull.protocol.summation import Layout, Vector
from fedhull.rounds.ballot import NO_BALLOT, Ballot, Candidate, NoBallot
from fedhull.rounds.centres import CentreNews, alignments_of, class_numbers, isometry_of, n_classes
from fedhull.rounds.counts import Counts
from fedhull.rounds.holdings import ClassHoldings, Prepared, moved
from fedhull.rounds.match import NAME as MATCH
from fedhull.rounds.match import MatchTotal, read_entries, sealed_entries
from fedhull.rounds.matching import Match
from fedhull.rounds.outcome import ClassOutcome, ClassSiteOutcome, Vote
from fedhull.rounds.planning import Planning
from fedhull.rounds.preparing import Preparing
from fedhull.rounds.pseudonym import Entry, Pseudonym
from fedhull.rounds.reading import Finding, Reading, centres_in, in_own_words, own_names
from fedhull.rounds.round import (
    Conclusion,
    Final,
    Known,
    News,
    Opened,
    Own,
    Proposal,
    Record,
    Taken,
    Votes,
)
from fedhull.study.study import Study


class ModelNews(News, frozen=True):
    """The model, which numbers its classes, and for each place, sealed, which class is which. All
    sites are given the same bytes; a site can read the entries of its own place only."""

    model: bytes
    entries: dict[int, bytes]


@dataclass(frozen=True, repr=False, kw_only=True)
class Learned:
    """The coordinator's result from the last sum: a model whose classes are numbers, in words, the
    match of labels, if any, the secrets shared with their owners, and, under `more`, whatever the
    summary needs further on."""

    model: Any
    words: str
    match: Match | None = None
    secrets: Mapping[int, Sequence[int]] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)
    more: Any = None


@dataclass(frozen=True)
class Summary(Preparing, Planning, Final):
    """The round in which sites send a summary of their classes: it says how that is laid out,
    encoded and decoded, what is learned and disclosed; all else has defaults."""

    study: Study
    ballot: Ballot | NoBallot = NO_BALLOT

    summary: ClassVar[str]
    # whether classes are matched before this round, also where sites are not aligned; and whether
    # the model's classes have the numbers that they were given then
    needs_match: ClassVar[bool] = True
    keeps_numbers: ClassVar[bool] = True
    # whether sites are asked how well a model does that they have not judged
    asks: ClassVar[bool] = True
    name = purpose = "learn"
    News: ClassVar[Any] = ModelNews
    can_learn_again = True
    # what the summary prepares from a site's cells, for its process
    Prepared: ClassVar[type] = Prepared

    # what a summary says

    @abstractmethod
    def learn(self, known: Known, opened: Sequence[Opened]) -> Learned:
        """The model that is published unless the sites find another one clearly better."""

    def n_classes(self, known: Known) -> int:
        """The number of classes over all sites: as matched, or as agreed."""
        return n_classes(self.study, known)

    def cells(self, own: Own) -> tuple[np.ndarray, np.ndarray]:
        """The site's cells (n, 2) of classes that leave, without those held out, where its isometry
        moves them, and the number of each cell's class (n,)."""
        return own.holdings.numbered(class_numbers(self.study, own), isometry_of(own))

    def alternatives(
        self, known: Known, opened: Sequence[Opened], learned: Learned
    ) -> list[Candidate]:
        """Other models over the same classes, for the ballot."""
        return []

    def landmarks(self, known: Known, opened: Sequence[Opened], learned: Learned) -> Landmarks:
        """Places of the model's classes: the centres that sites were aligned to or, where there are
        none, the middle, with a wide spread."""
        curvature, which = self.study.geometry.curvature, learned.model.classes_
        news = known.last_of(CentreNews)
        if news is None:
            wide = np.full(len(which), 10.0 / np.sqrt(curvature))
            return Landmarks(np.zeros((len(which), 2)), wide)
        return landmarks_of_centres(
            news.centres(n_classes(self.study, known)).only(which), curvature
        )

    def describe(self, total: Any) -> dict[str, Any]:
        """A result's description of the sum, in plain numbers and words."""
        return {}

    def describe_site(self, sent: ClassHoldings, held: ClassHoldings) -> dict[str, Any]:
        """A site's description of what it sent, in plain numbers and words."""
        return {"cells": held.points_held, "classes_withheld": list(map(str, held.withheld))}

    def is_exact(self, outcome: ClassOutcome, sites: Mapping[str, Any]) -> bool:
        """True if the opened sum is that of the sites' own, to the last bit: only a rehearsal can
        tell."""
        known = Known(outcome.known.raw[:-1], outcome.known.news[:-1])
        last = outcome.opened[-1]
        layout = self.layout(known, last.totals, last.participants)
        total = layout.zeros()
        for name in outcome.survivors:
            own = sites[name].own
            vector = self.encode(known, own, last.totals, last.participants)
            total = layout.add(total, vector)
        return layout.pack(total) == last.packed

    def fewest_cells(self, total: Any, holdings: Iterable[ClassHoldings]) -> int:
        """The fewest cells behind anything that left, if the sites in the sum hold this."""
        return min(cells for held in holdings if (cells := held.smallest_group))

    def warnings(self, holdings: ClassHoldings) -> list[str]:
        """Warnings to show before consent, besides the disclosures."""
        return []

    # the site's side

    def pseudonym(self, own: Own) -> Pseudonym | None:
        """The site's pseudonym; None where names are agreed and nothing is said unnamed."""
        matched = own.last(MATCH)
        return None if matched is None else matched.drawn

    def sent(self, own: Own) -> ClassHoldings:
        """The holdings behind what the site sent, where its isometry moves its cells."""
        return own.holdings

    def sent_classes(self, own: Own) -> list[Any]:
        """The classes of which something was sent under labels, in the order of labels."""
        return self.sent(own).classes

    def numbers_in(self, own: Own, proposed: bytes) -> dict[Any, int]:
        """{a class of the site's: its number among those of the candidates}."""
        known = zip(own.holdings.classes, class_numbers(self.study, own), strict=True)
        return {name: mine[0] for name, mine in known if len(mine) == 1}

    def own_centres(self, own: Own, numbers: np.ndarray, entries: list[Entry]) -> Centres | None:
        """The centres of the model's classes, which have these numbers, that were published last,
        if any were."""
        alignments = alignments_of(own)
        if not alignments:
            return None
        return centres_in(alignments[-1].centres).only(numbers.tolist())

    def read_entries(
        self, sealed: Mapping[int, bytes], pseudonym: Pseudonym, bound_to: bytes
    ) -> list[Entry]:
        """The entry of each class of the site with this pseudonym."""
        return read_entries(self.study, sealed, pseudonym, bound_to)

    def ballot_layout(self, known: Known, proposed: bytes) -> Layout:
        """As many numbers as the candidates and their classes take."""
        return self.ballot.layout_of(proposed)

    def judge(self, known: Known, own: Own, proposed: bytes) -> Vector:
        """The candidates' counts on the site's held-out points."""
        held, isometry = own.holdings, isometry_of(own)
        number = self.numbers_in(own, proposed)
        numbers = np.array([number.get(name, -1) for name in held.test_y.tolist()], dtype=np.int64)
        tested, cells = (moved(points, isometry) for points in (held.test_x, held.x))
        vector, own.cache["tally"] = self.ballot.judge(own, proposed, tested, numbers, cells)
        return vector

    def take(self, known: Known, own: Own, news: ModelNews) -> Taken:
        """The model in the site's own words, tried on its held-out points."""
        return self._use(own, news, complete=True)

    def take_late(self, known: Known, own: Own, published: bytes) -> Taken:
        """The same, of a model that may lack some of the site's classes."""
        return self._use(own, self.read(known, published), complete=False)

    def tells(self, finding: Finding) -> tuple[int, int]:
        """The site's answer if it is asked how well the model does."""
        return finding.correct, finding.tested

    def reading(self, own: Own, news: ModelNews, complete: bool) -> Reading:
        """The model and the site's names; BadMessage if there is no model or it does not say what
        became of each of the site's classes. Only a model that need not be `complete` may lack some
        of them."""
        try:
            model = published_model(news.model)
        except FedhullError:
            raise BadMessage("what the server published is not a model") from None
        known, classes = set(model.classes_.tolist()), self.sent_classes(own)
        agreed = self.study.classes.names
        if agreed and not known <= set(range(len(agreed))):
            raise BadMessage("the server's model has classes that the study has no names for")
        entries, pseudonym = [], self.pseudonym(own)
        if pseudonym is not None:
            entries = self.read_entries(news.entries, pseudonym, news.model)[: len(classes)]
        if complete:
            self.check_entries(entries, known)
        if agreed:
            return Reading(model, {number: agreed[number] for number in sorted(known)}, entries)
        names = own_names(entries, classes)
        return Reading(model, {n: name for n, name in names.items() if n in known}, entries)

    def check_entries(self, entries: list[Entry], known: set[int]) -> None:
        """Raise BadMessage unless each of the site's classes is one of the model's."""
        if not all(entry.number in known for entry in entries):
            raise BadMessage("the server does not say what became of each of this site's classes")

    def _use(self, own: Own, news: ModelNews, complete: bool) -> Taken:
        held, (model, names, entries) = own.holdings, self.reading(own, news, complete)
        correct, tested = 0, len(held.test_y)
        if tested:
            number = {name: number for number, name in names.items()}
            sent = zip(self.sent_classes(own), entries, strict=False)
            number |= {name: entry.number for name, entry in sent}
            true = np.array([number.get(name, -1) for name in held.test_y.tolist()])
            correct = int((true == model.predict(moved(held.test_x, isometry_of(own)))).sum())
        numbers, model.classes_ = model.classes_, in_own_words(model, names)
        finding = Finding(model, names, entries, numbers, correct, tested)
        return Taken(finding, self.tells(finding))

    # the coordinator's side

    def match_of(self, opened: Sequence[Opened]) -> dict[str, Any]:
        """The match of labels before this round, and the secrets shared with their owners, as
        `Learned` takes them; empty if labels were not matched."""
        matched = next((o.total for o in opened if isinstance(o.total, MatchTotal)), None)
        return {} if matched is None else {"match": matched.match, "secrets": matched.said.secrets}

    def entries_for_judges(self, learned: Learned, bound_to: bytes) -> dict[int, bytes]:
        """Entries that sites need about their classes before they can judge; empty if they have
        them already."""
        return {}

    def propose(self, known: Known, opened: Sequence[Opened]) -> Proposal | None:
        """The learned model and others for the sites to judge, if there is a ballot."""
        if not self.ballot.is_held:
            return None
        return self.ballot.propose(self, known, opened, self._learn(known, opened))

    def conclude(self, known: Known, opened: Sequence[Opened]) -> Conclusion:
        """The model that was learned, which no site has judged."""
        learned = self._learn(known, opened)
        vote = Vote(missed=self.ballot.why_not)
        return self._conclusion(learned, learned.model, vote, learned.seconds)

    def choose(self, proposal: Proposal, votes: Votes | None) -> Conclusion:
        """The model that the sites' held-out cells speak for; without their judgement, the one that
        was learned."""
        begin, draft = perf_counter(), proposal.draft
        model, vote = self.ballot.choose(draft, votes)
        spent = dict(draft.learned.seconds)
        spent["learning"] += draft.seconds + perf_counter() - begin
        return self._conclusion(draft.learned, model, vote, spent)

    def _conclusion(
        self, learned: Learned, model: Any, vote: Vote, seconds: dict[str, float]
    ) -> Conclusion:
        decision, ask = Decision(learned, model, vote), vote.judged is None and self.asks
        return Conclusion(self.publication(model, learned), decision, ask, seconds)

    def publication(self, model: Any, learned: Learned) -> ModelNews:
        """The model, and entries for every place, if there are places."""
        content = msgspec.json.encode(model_to_json(model))
        entries = {}
        if learned.match is not None:
            entries = sealed_entries(self.study, learned.match, learned.secrets, content)
        return ModelNews(content, entries)

    def outcome(self, coordinator: Any, record: Record, counts: Counts) -> ClassOutcome:
        """The model, how it was chosen, and what it was learned from."""
        learned, model, vote = coordinator.findings[-1]
        return ClassOutcome(
            study=self.study,
            round=self,
            known=coordinator.known,
            opened=coordinator.opened,
            learned=learned,
            model=model,
            vote=vote,
            learning_seconds=coordinator.seconds,
            counts=vote.counts or counts,
            record=record,
            rounds=coordinator.rounds,
        )

    def site_outcome(self, site: Any) -> ClassSiteOutcome:
        """The model in the site's own words, and how well it does there."""
        own, found = site.own, site.finding
        return ClassSiteOutcome(
            study=self.study,
            round=self,
            name=site.name,
            holdings=own.holdings,
            sent=self.sent(own),
            sent_classes=self.sent_classes(own),
            pseudonym=self.pseudonym(own),
            finding=found,
            # a site that vanished in the last round has made nothing of its end
            centres=found and self.own_centres(own, found.numbers, found.entries),
            isometry=isometry_of(own),
            alignments=alignments_of(own),
            tally=own.cache.get("tally"),
            veto=site.veto,
            survivors=site.session.survivors,
            passed=own.passed,
            rounds=site.rounds,
        )

    def _learn(self, known: Known, opened: Sequence[Opened]) -> Learned:
        begin = perf_counter()
        learned = self.learn(known, opened)
        if not learned.seconds:
            learned = replace(learned, seconds={"learning": perf_counter() - begin})
        return learned


class Decision(NamedTuple):
    """The coordinator's end of the last round: what it learned, the model that was published, and
    what sites have said of it."""

    learned: Learned
    model: Any
    vote: Vote
