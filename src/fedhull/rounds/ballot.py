"""The ballot: before a model is published, sites judge a few candidates on cells they held out.

The coordinator has no cells to choose by. It proposes candidates, the same to all; each site tries
them on its own held-out cells, and the sum of what they count, which is all that can be opened,
decides. A site with too few held-out cells sends zeros, which nobody can tell.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from time import perf_counter
from typing import Annotated, Any, NamedTuple

import msgspec
import numpy as np

from fedhull.codes.field import Field
from fedhull.disc.points import as_ball_points
from fedhull.errors import BadMessage, FedhullError, InvalidInput
from fedhull.learn.content import Landmarks
from fedhull.learn.model import model_to_json, published_model
from fedhull.learn.singling import on_islands, settled
from fedhull.learn.tally import (
    NO_DOUBTS,
    UNITS_PER_CELL,
    Doubts,
    Tally,
    calibrated,
    decide,
    tally_size,
    verdict,
)
from fedhull.protocol.keys import digest
from fedhull.protocol.summation import Layout, Vector
from fedhull.rounds.counts import COUNTS
from fedhull.rounds.disclosure import Disclosure, Plan, total_over
from fedhull.rounds.outcome import LEARNED_AGAIN, NOT_ASKED, TOO_FEW, TOO_MANY, Vote, unanswered
from fedhull.rounds.round import Known, Opened, Own, Proposal, Votes
from fedhull.study.study import Study

MOST_CANDIDATES = 16
# A ballot that asks for more numbers than these is not answered.
_MOST_NUMBERS = 1_000_000
FIELD = Field(2**31 - 1)
# A site judges with this many cells at most, and fewer if there are many candidates and classes:
# they are plenty, and must fit into memory.
_MOST_CELLS, _MOST_PROBABILITIES = 1 << 17, 1 << 25
# A classifier that does not say how sure it is is believed to be wrong at this rate.
_WRONG, _LEAST = 0.05, 1e-12


class Candidate(NamedTuple):
    """A model that may be published, its classes being numbers, and what it is, in words."""

    words: str
    model: Any


class Draft(NamedTuple):
    """The coordinator's view of its proposal: the model learned, all candidates, the places of the
    classes, and the seconds that drafting took."""

    learned: Any
    candidates: list[Candidate]
    landmarks: Landmarks
    seconds: float


class _Proposed(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    models: Annotated[list[bytes], msgspec.Meta(min_length=1, max_length=MOST_CANDIDATES)]
    landmarks: list[list[float]]
    entries: dict[int, bytes]


@dataclass(frozen=True, repr=False)
class Proposed:
    """A proposal as a site reads it: candidates over the same classes, where these lie, and for
    each place, sealed, which of them are its own, if its owner does not know that yet."""

    models: list[Any]
    landmarks: Landmarks
    entries: dict[int, bytes]
    bound_to: bytes

    @property
    def classes(self) -> list[int]:
        """The numbers of the classes."""
        return self.models[0].classes_.tolist()

    @property
    def layout(self) -> Layout:
        """The layout of a tally."""
        return ballot_layout(len(self.models), len(self.classes))


@dataclass(frozen=True)
class NoBallot:
    """A study whose sites do not judge a model before it is published, but count how well it does
    afterwards."""

    is_held = False
    why_not = NOT_ASKED

    def layout_of(self, proposed: bytes) -> Layout:
        """Nothing is judged."""
        return Layout(())

    def read(self, *_: Any) -> Any:
        """Refuse."""
        raise BadMessage("the server asks for a judgement that the study does not provide for")

    judge = propose = choose = read

    def plan(self, candidates: int, classes: int, tested: int | None) -> tuple[Layout, Plan]:
        """The count that sites answer with."""
        return COUNTS, Plan({"candidates": 0}, [])

    def abstains(self, tested: int | None) -> list[str]:
        """Everybody answers."""
        return []

    def discloses(self, study: Study, held: Any) -> list[Disclosure]:
        """One count."""
        return [
            Disclosure(
                round="learn",
                what="after the publication, how many the model gets right, and of how many",
                of_whom=_tested(held),
                how_many=2,
                protection=total_over(study.threshold),
            )
        ]


NO_BALLOT = NoBallot()


@dataclass(frozen=True)
class Ballot:
    """The ballot of a study."""

    study: Study
    is_held = True
    why_not = TOO_MANY

    def propose(
        self, round: Any, known: Known, opened: Sequence[Opened], learned: Any
    ) -> Proposal | None:
        """The learned model and its alternatives; None if there are too many classes."""
        begin, n_classes = perf_counter(), len(learned.model.classes_)
        most = most_candidates(n_classes)
        if not most:
            return None
        others = round.alternatives(known, opened, learned)
        candidates = [Candidate(learned.words, learned.model), *others[: most - 1]]
        landmarks = round.landmarks(known, opened, learned)
        models = [msgspec.json.encode(model_to_json(each.model)) for each in candidates]
        entries = round.entries_for_judges(learned, digest(*models))
        content = msgspec.msgpack.encode(_Proposed(models, landmarks.to_lists(), entries))
        draft = Draft(learned, candidates, landmarks, perf_counter() - begin)
        return Proposal(content, ballot_layout(len(models), n_classes), draft)

    def read(self, proposed: bytes) -> Proposed:
        """The proposal that every site reads alike; BadMessage if it is none."""
        return _read(self.study.geometry.curvature, proposed)

    def layout_of(self, proposed: bytes) -> Layout:
        """As many numbers as the candidates and their classes take; none if nothing is proposed."""
        try:
            return self.read(proposed).layout
        except BadMessage:
            return Layout(())

    def judge(
        self, own: Own, proposed: bytes, tested: np.ndarray, numbers: np.ndarray, cells: np.ndarray
    ) -> tuple[Vector, Tally]:
        """The site's vector of counts on its held-out points `tested` (m, 2), of classes with these
        numbers (m,), out of all its `cells` (n, 2), and the tally itself. Zero if these are too
        few. Cells that a candidate singles out are left out; classes with few held-out cells are
        not told apart."""
        read = self.read(proposed)
        known = np.flatnonzero(np.isin(numbers, read.classes))
        tally = self.tally(read, tested[known], numbers[known], cells)
        return self.vector(read, tally.packed()), tally

    def vector(self, read: Proposed, counted: np.ndarray) -> Vector:
        """A tally's numbers, of which noise may have made some negative."""
        return read.layout.vector([(counted % FIELD.q).tolist()])

    def tally(
        self, read: Proposed, tested: np.ndarray, numbers: np.ndarray, cells: np.ndarray
    ) -> Tally:
        """The tally of held-out points whose classes are the candidates'."""
        least, curvature = self.study.disclosure.min_cells, self.study.geometry.curvature
        nothing = Tally.none(len(read.models), len(read.classes))
        if len(tested) < least:
            return nothing
        most = min(
            _MOST_CELLS,
            _MOST_PROBABILITIES // (len(read.models) * len(read.classes)),
            FIELD.q // (UNITS_PER_CELL * len(self.study.clients)),
        )
        if len(tested) > most:
            rng = np.random.default_rng(self.study.learning.seed)
            some = rng.choice(len(tested), most, replace=False)
            tested, numbers = tested[some], numbers[some]
        each = np.array([log_probabilities(model, tested) for model in read.models])
        predicts = [partial(_predicted, model) for model in read.models]
        lonely = on_islands(predicts, each.argmax(axis=2), tested, cells, least, curvature)
        true = read_columns(read, numbers)
        of_class = np.bincount(true[~lonely], minlength=len(read.classes))
        said = of_class[true] >= least
        # classes with few cells are told together, if they are enough together
        together = (~said & ~lonely).sum() >= least
        judged = ~lonely & (said | together)
        if judged.sum() < least:
            return nothing
        each, true, said = each[:, judged], true[judged], said[judged]
        far = read.landmarks.farness(tested[judged], curvature)
        each, predicted = settled(each, true, least)
        return Tally.of(each, predicted, true, said, far)

    def opened(self, votes: Votes, n_candidates: int, n_classes: int) -> Tally | None:
        """The tally of all judges; None if one of them has not answered or objects, for then the
        sum is none."""
        if votes.judged is None:
            return None
        tally = Tally.unpacked(votes.judged[0], n_candidates, n_classes)
        try:
            tally.check(len(votes.judges))
        except InvalidInput:
            return None
        return tally

    def doubts(self, n_candidates: int, n_classes: int, judges: int) -> tuple[Doubts, int]:
        """The noise in the judges' counts, and the number of held-out cells they may be off by."""
        return NO_DOUBTS, (self.study.disclosure.min_cells - 1) * judges

    def unclear(self, tally: Tally, doubts: Doubts) -> str:
        """The reason why a tally says too little; empty if it does not."""
        return TOO_FEW if tally.n_cells < self.study.disclosure.min_cells else ""

    noisy = False

    def choose(self, draft: Draft, votes: Votes | None) -> tuple[Any, Vote]:
        """The candidate that the sites' held-out cells speak for, calibrated by them; without their
        judgement, the first one."""
        first, candidates = draft.learned.model, draft.candidates
        if votes is None:
            return first, Vote(missed=LEARNED_AGAIN)
        n_classes, n_judges = len(first.classes_), len(votes.judges)
        tally = self.opened(votes, len(candidates), n_classes)
        if tally is None:
            return first, Vote(missed=unanswered(votes.silent))
        doubts, tolerance = self.doubts(len(candidates), n_classes, n_judges)
        if unclear := self.unclear(tally, doubts):
            return first, Vote(missed=unclear)
        chosen, temperature = decide(tally, doubts)
        words = [candidate.words for candidate in candidates]
        judged = verdict(
            tally, chosen, temperature, words, draft.landmarks, self.study.geometry.curvature,
            tolerance, noisy=self.noisy,
        )  # fmt: skip
        return calibrated(candidates[chosen].model, judged), Vote(judged, votes.judges)

    def plan(self, candidates: int, classes: int, tested: int | None) -> tuple[Layout, Plan]:
        """The layout of what a site with `tested` held-out points answers, and what there is to say
        of it."""
        shown = min(candidates, most_candidates(classes))
        if not shown:
            return COUNTS, Plan({"candidates": 0}, [])
        layout = ballot_layout(shown, classes)
        numbers = {"candidates": shown, "numbers_in_ballot": layout.parts[0][1]}
        words = [
            f"Ballot: {shown} candidates, {layout.packed_size:,} bytes.",
            *self.abstains(tested),
        ]
        return layout, Plan(numbers, words)

    def abstains(self, tested: int | None) -> list[str]:
        """The sentence to a site with too few held-out points."""
        least = self.study.disclosure.min_cells
        if tested is None or tested >= least:
            return []
        return [
            f"With {tested} held-out points, fewer than {least}, your site would abstain: what it "
            f"sends then counts nothing, and nobody can tell."
        ]

    def discloses(self, study: Study, held: Any) -> list[Disclosure]:
        """The tally."""
        return [
            Disclosure(
                round="learn",
                what=(
                    f"before the publication, for each of up to {MOST_CANDIDATES} candidates: how "
                    f"many of each class it takes for which, how sure it is, and how far points "
                    f"are from all classes"
                ),
                of_whom=_tested(held),
                protection=f"{total_over(study.threshold)}{self.protection}",
            )
        ]

    protection = ""


def _tested(held: Any) -> str:
    return "the held-out points" if held is None else f"your {len(held.test_y):,} held-out points"


def ballot_layout(n_candidates: int, n_classes: int) -> Layout:
    """The layout of a tally of candidates and classes."""
    return Layout(((FIELD, tally_size(n_candidates, n_classes)),))


def most_candidates(n_classes: int) -> int:
    """The most candidates that can be proposed with this many classes; none, if too many."""
    fitting = range(MOST_CANDIDATES, 0, -1)
    return next((n for n in fitting if tally_size(n, n_classes) <= _MOST_NUMBERS), 0)


# A site reads it twice, and in a rehearsal all sites read the same.
@lru_cache(maxsize=2)
def _read(curvature: float, proposed: bytes) -> Proposed:
    try:
        content = msgspec.msgpack.decode(proposed, type=_Proposed)
        models = [published_model(raw) for raw in content.models]
        landmarks = Landmarks.from_lists(content.landmarks)
        as_ball_points(landmarks.centres, curvature)
    except (msgspec.MsgspecError, UnicodeDecodeError, ValueError, IndexError, FedhullError):
        raise BadMessage("what the server proposes are not models to choose from") from None
    classes = models[0].classes_.tolist()
    fits = (
        all(model.classes_.tolist() == classes and model.n_features_in_ == 2 for model in models)
        and landmarks.centres.shape == (len(classes), 2)
        and bool((landmarks.spreads > 0.0).all())
        and len(models) <= most_candidates(len(classes))
    )
    if not fits:
        raise BadMessage("the models that the server proposes do not go together")
    return Proposed(models, landmarks, content.entries, digest(*content.models))


def read_columns(read: Proposed, numbers: np.ndarray) -> np.ndarray:
    """The candidates' columns of classes with these numbers, (n,)."""
    column = {number: i for i, number in enumerate(read.classes)}
    return np.array([column[number] for number in numbers.tolist()], dtype=np.int64)


def log_probabilities(model: Any, points: np.ndarray) -> np.ndarray:
    """The logarithms of the probabilities of classes, (n, J)."""
    if hasattr(model, "predict_proba"):
        return np.log(np.maximum(model.predict_proba(points), _LEAST))
    member = model.predict(points)[:, None] == model.classes_
    n_others = max(len(model.classes_) - 1, 1)
    return np.log(np.where(member, 1.0 - _WRONG, _WRONG / n_others))


def _predicted(model: Any, points: np.ndarray) -> np.ndarray:
    """The columns of the most probable classes, (n,)."""
    return log_probabilities(model, points).argmax(axis=1)
