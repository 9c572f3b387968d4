"""The ballot: before a model is published, sites judge a few candidates on cells they held out.

The coordinator has no cells to choose by. It proposes candidates, the same to all; each site tries
them on its own held-out cells, and the sum of what they count, which is all that can be opened,
decides. A site with too few held-out cells sends zeros, which nobody can tell.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Annotated, Any, NamedTuple

import msgspec
import numpy as np

from fedhull.codes.field import Field, from_elements
from fedhull.disc.points import as_ball_points
from fedhull.errors import BadMessage, FedhullError, InvalidInput
from fedhull.learn.content import Landmarks
from fedhull.learn.model import model_to_json, published_model
from fedhull.learn.singling import on_islands, settled
from fedhull.learn.tally import UNITS_PER_CELL, Tally, tally_size
from fedhull.protocol.keys import digest
from fedhull.protocol.summation import Layout, Vector
from fedhull.study.classes.matching import Match
from fedhull.study.classes.publication import sealed_entries
from fedhull.study.coordinator import Proposal
from fedhull.study.study import Study

MOST_CANDIDATES = 16
# A ballot that asks for more numbers than these is not answered.
_MOST_NUMBERS = 1_000_000
_FIELD = Field(2**31 - 1)
# A site judges with so many cells at most, and fewer if there are many candidates and classes: they
# are plenty, and must fit into memory.
_MOST_CELLS, _MOST_PROBABILITIES = 1 << 17, 1 << 25
# Of a classifier that does not say how sure it is, this is believed to be wrong.
_WRONG, _LEAST = 0.05, 1e-12


class Candidate(NamedTuple):
    """A model that may be published, its classes being numbers, and what it is, in words."""

    words: str
    model: Any


class _Proposed(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    models: Annotated[list[bytes], msgspec.Meta(min_length=1, max_length=MOST_CANDIDATES)]
    landmarks: list[list[float]]
    entries: dict[int, bytes]


@dataclass(frozen=True, repr=False)
class Ballot:
    """What is proposed, as a site reads it: candidates over the same classes, where these lie, and
    for each place, sealed, which of them are its own, if its owner does not know that yet."""

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
        """How a tally travels."""
        return ballot_layout(len(self.models), len(self.classes))

    def vector(self, counted: np.ndarray) -> Vector:
        """A tally's numbers, of which noise may have made some negative."""
        return self.layout.vector([(counted % _FIELD.q).tolist()])


def ballot_layout(n_candidates: int, n_classes: int) -> Layout:
    """How a tally of so many candidates and classes travels."""
    return Layout(((_FIELD, tally_size(n_candidates, n_classes)),))


def most_candidates(n_classes: int) -> int:
    """How many candidates can be proposed where there are so many classes; none, if too many."""
    fitting = range(MOST_CANDIDATES, 0, -1)
    return next((n for n in fitting if tally_size(n, n_classes) <= _MOST_NUMBERS), 0)


def propose(
    study: Study,
    candidates: Sequence[Candidate],
    landmarks: Landmarks,
    match: Match | None,
    secrets: Mapping[int, Sequence[int]],
) -> Proposal:
    """The candidates, and with a `match` for every place which of its labels are which class."""
    models = [msgspec.json.encode(model_to_json(candidate.model)) for candidate in candidates]
    entries = {} if match is None else sealed_entries(study, match, secrets, digest(*models))
    content = msgspec.msgpack.encode(_Proposed(models, landmarks.to_lists(), entries))
    return Proposal(content, ballot_layout(len(models), len(candidates[0].model.classes_)))


def read_ballot(study: Study, proposed: bytes) -> Ballot:
    """What every site reads alike; BadMessage if it is no ballot."""
    return _read_ballot(study.geometry.curvature, proposed)


# A site reads it twice, and in a rehearsal all sites read the same.
@lru_cache(maxsize=2)
def _read_ballot(curvature: float, proposed: bytes) -> Ballot:
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
    return Ballot(models, landmarks, content.entries, digest(*content.models))


def judge(
    study: Study, ballot: Ballot, tested: np.ndarray, numbers: np.ndarray, cells: np.ndarray
) -> Tally:
    """What a site counts: on its held-out points `tested` (m, 2), whose classes have these numbers
    (m,), out of all its `cells` (n, 2). Nothing, if these are too few. Cells that a candidate
    singles out are left out, and classes with few held-out cells are not told apart."""
    least, curvature = study.disclosure.min_cells, study.geometry.curvature
    known = np.flatnonzero(np.isin(numbers, ballot.classes))
    if study.privacy is not None:
        return _judged_in_noise(ballot, tested[known], numbers[known], curvature)
    nothing = Tally.none(len(ballot.models), len(ballot.classes))
    if len(known) < least:
        return nothing
    most = min(
        _MOST_CELLS,
        _MOST_PROBABILITIES // (len(ballot.models) * len(ballot.classes)),
        _FIELD.q // (UNITS_PER_CELL * len(study.clients)),
    )
    if len(known) > most:
        known = np.random.default_rng(study.learning.seed).choice(known, most, replace=False)
    each = np.array([_said(model, tested[known]) for model in ballot.models])
    predicts = [partial(_predicted, model) for model in ballot.models]
    lonely = on_islands(predicts, each.argmax(axis=2), tested[known], cells, least, curvature)
    column = {number: i for i, number in enumerate(ballot.classes)}
    true = np.array([column[number] for number in numbers[known].tolist()], dtype=np.int64)
    of_class = np.bincount(true[~lonely], minlength=len(column))
    said = of_class[true] >= least
    # classes with few cells are told together, if they are enough together
    together = (~said & ~lonely).sum() >= least
    judged = ~lonely & (said | together)
    if judged.sum() < least:
        return nothing
    each, true, said = each[:, judged], true[judged], said[judged]
    far = ballot.landmarks.farness(tested[known][judged], curvature)
    each, predicted = settled(each, true, least)
    return Tally.of(each, predicted, true, said, far)


def _judged_in_noise(
    ballot: Ballot, tested: np.ndarray, numbers: np.ndarray, curvature: float
) -> Tally:
    """The tally of all these cells. Noise will hide each of them, so that none is left out: a rule
    by which some are would be changed by a single cell."""
    if not len(tested):
        return Tally.none(len(ballot.models), len(ballot.classes))
    each = np.array([_said(model, tested) for model in ballot.models])
    column = {number: i for i, number in enumerate(ballot.classes)}
    true = np.array([column[number] for number in numbers.tolist()], dtype=np.int64)
    far = ballot.landmarks.farness(tested, curvature)
    return Tally.of(each, each.argmax(axis=2), true, np.ones(len(true), dtype=bool), far)


def opened_tally(
    study: Study,
    opened: Sequence[Sequence[int]] | None,
    n_candidates: int,
    n_classes: int,
    sites: int,
) -> Tally | None:
    """The tally of all sites that were asked; None if one of them has not answered or objects, for
    then the sum is none."""
    if opened is None:
        return None
    if study.privacy is not None:
        counted = from_elements(np.array(opened[0], dtype=np.uint64), _FIELD)
        return Tally.unpacked(counted.tolist(), n_candidates, n_classes).without_noise()
    tally = Tally.unpacked(opened[0], n_candidates, n_classes)
    try:
        tally.check(sites)
    except InvalidInput:
        return None
    return tally


def _said(model: Any, points: np.ndarray) -> np.ndarray:
    """The logarithms of the probabilities of classes, (n, J)."""
    if hasattr(model, "predict_proba"):
        return np.log(np.maximum(model.predict_proba(points), _LEAST))
    member = model.predict(points)[:, None] == model.classes_
    n_others = max(len(model.classes_) - 1, 1)
    return np.log(np.where(member, 1.0 - _WRONG, _WRONG / n_others))


def _predicted(model: Any, points: np.ndarray) -> np.ndarray:
    """The columns of the most probable classes, (n,)."""
    return _said(model, points).argmax(axis=1)
